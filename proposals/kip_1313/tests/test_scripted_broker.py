"""Tests of scripted brokers that serve ApiVersions with header v3.

A broker serves it if its script says so. A process of the model client sends it.
"""

from __future__ import annotations

from uuid import UUID

from proposals.kip_1313.client_rules import instance_ids_in
from proposals.kip_1313.scripts import claiming_cluster
from reference_model.clients.scripts.script import ConnectionScript, all_connections
from tests.fixtures.test_in_memory_client import play_over_sockets
from tests.reference_model.clients.scripted_network import ScriptedNetwork, versions_in
from wire.api_versions import ApiVersionsRequest
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.headers import InstanceIdHeader


def test_version_with_an_id_in_its_header_is_served_if_the_script_says_so() -> None:
    header = InstanceIdHeader(
        request_api_key=18,
        request_api_version=6,
        correlation_id=1,
        client_id="c",
        client_instance_id=UUID(int=7),
    )
    body = encode(ApiVersionsRequest(client_software_name="a"), version=5)
    network = ScriptedNetwork(all_connections(ConnectionScript(newest_version=6)))
    (write,) = network.send(encode_frame(encode(header, version=3) + body))
    error, ranges = versions_in(write, 5)
    assert error is ErrorCode.NONE
    assert (18, 0, 6) in ranges
    (request,) = network.seen()
    assert request.is_served
    assert request.body is not None
    assert request.body.client_software_name == "a"


def test_process_prints_the_id_of_its_headers_before_anything_else() -> None:
    played = play_over_sockets(claiming_cluster(enough=5))
    assert set(played.result.instance_ids) == {str(each) for each in instance_ids_in(played.recording)}
    assert '"event": "created"' in played.result.output.splitlines()[0]
