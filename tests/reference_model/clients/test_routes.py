"""A recording of real brokers is converted to the script that the oracle reads.

The script says to whose brokers each connection led.
"""

from __future__ import annotations

from reference_model.clients.scripts.recording import Route, as_scripted
from reference_model.clients.scripts.script import ConnectionScript, NodeScript, Script
from tests.reference_model.clients.recordings import opened, recorded

HOME = Route(when="at home", from_ms=0, cluster_id="home", node_ids=(1, 2))
OTHER = Route(when="elsewhere", from_ms=9, cluster_id="other", node_ids=(2, 1))


def test_each_connection_names_its_cluster() -> None:
    """The connections of a port come in the order in which they were opened; one without any is healthy."""
    connections = [opened(0, node=1), opened(1, node=0), opened(2, node=1)]
    recording = recorded(connections=connections, script=Script(nodes=(NodeScript(),) * 3))
    found = as_scripted(recording, [HOME, OTHER, OTHER], ("an-option",)).script
    home = ConnectionScript(cluster_id="home", node_ids=(1, 2))
    other = ConnectionScript(cluster_id="other", node_ids=(2, 1))
    assert [node.connections for node in found.nodes] == [
        (other,),
        (home, other),
        (ConnectionScript(),),
    ]
    assert found.options == ("an-option",)
