"""The model client as a process gives its application the id of its headers."""

from __future__ import annotations

from proposals.kip_1313.client_rules import instance_ids_in
from proposals.kip_1313.scripts import claiming_cluster
from tests.fixtures.test_in_memory_client import play_over_sockets


def test_process_prints_the_id_of_its_headers_before_anything_else() -> None:
    """It is the same in each line."""
    played = play_over_sockets(claiming_cluster(enough=5))
    assert set(played.result.instance_ids) == {
        str(each) for each in instance_ids_in(played.recording)
    }
    assert '"event": "created"' in played.result.output.splitlines()[0]
