"""Tests of a scripted cluster: scripts of connections, end of a play, recording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.clients.scripts import scripted_cluster
from reference_model.clients.scripts.recording import (
    MAX_CONNECTIONS,
    MAX_REQUESTS,
    Recording,
    SeenConnection,
    SeenRequest,
)
from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    one_node,
)
from reference_model.clients.scripts.scripted_cluster import (
    LOOP_IS_MEASURED_MS,
    MAX_IN_ALL,
    MAX_ON_ONE_CONNECTION,
    RECOVERY_IS_SEEN_MS,
    ScriptedCluster,
)
from tests.reference_model.clients.scripted_network import (
    ADDRESSES,
    NAMED,
    ScriptedNetwork,
    about_versions,
    metadata,
    metadata_in,
    versions_in,
)
from wire.api_versions import ApiVersionsRequest
from wire.error_codes import ErrorCode
from wire.primitives import TaggedField


def test_nothing_heals_without_a_connection_or_a_time_for_it() -> None:
    """The recording says so."""
    assert ScriptedCluster(Script(heals_after_ms=1), ADDRESSES).recording(duration_ms=9).healed_ms is None
    assert ScriptedNetwork(Script()).recording().healed_ms is None


def test_each_connection_to_a_node_has_its_script() -> None:
    scripts = [ConnectionScript(cluster_id=name) for name in "ab"]
    network = ScriptedNetwork(
        Script(nodes=(NodeScript(connections=tuple(scripts)), NodeScript(connections=(scripts[1],))))
    )
    found = []
    for node in (1, 0, 0):
        found.append(metadata_in(network.send(metadata(2))[0], 2).cluster_id)
        network.reconnect(node=node)
    found.append(metadata_in(network.send(metadata(2))[0], 2).cluster_id)
    assert found == ["a", "b", "b", "b"]


def test_new_connections_are_healthy_after_the_healing() -> None:
    """The time begins with the first connection, so that a client that starts slowly sees the script too."""
    script = one_node(Answer(action="silence"), heals_after_ms=100)
    cluster = ScriptedCluster(script, ADDRESSES[:1])
    old, later, healthy = (cluster.connect(0, at_ms) for at_ms in (3000, 3099, 3100))
    assert later.receive_data(about_versions(3), 3099) == []
    (write,) = healthy.receive_data(about_versions(3), 3100)
    assert versions_in(write, 3)[0] is ErrorCode.NONE
    assert old.receive_data(about_versions(3), 3200) == []
    recording = cluster.recording(duration_ms=3300)
    assert [each.is_healthy for each in recording.connections] == [False, False, True]
    assert recording.healed_ms == 3100


def test_only_the_first_requests_and_connections_are_recorded() -> None:
    """All of them are counted; a request is recorded only with its connection."""
    network = ScriptedNetwork(Script())
    for _ in range(MAX_CONNECTIONS - 1):
        network.reconnect()
    network.send(about_versions(0))
    network.reconnect()
    network.send(metadata(0))
    recording = network.recording()
    assert (len(recording.connections), recording.all_connections) == (250, MAX_CONNECTIONS + 1)
    assert (len(recording.requests), recording.all_requests) == (1, 2)
    assert list(recording.requests_on(recording.connections[-1])) == list(recording.requests)
    network = ScriptedNetwork(Script())
    for _ in range(MAX_REQUESTS + 5):
        network.send(metadata(0))
    recording = network.recording()
    assert (len(recording.requests), recording.all_requests) == (400, MAX_REQUESTS + 5)
    assert recording.connections[0].requests == MAX_REQUESTS + 5


def test_bytes_of_a_recording_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large requests are counted, and not kept, once there are enough bytes."""
    monkeypatch.setattr(scripted_cluster, "MAX_BYTES", 2 * len(metadata(0)) - 1)
    network = ScriptedNetwork(Script())
    for _ in range(4):
        network.send(metadata(0))
    recording = network.recording()
    assert (len(recording.requests), recording.all_requests) == (2, 4)


def test_loop_on_one_connection_ends_the_play() -> None:
    """The play goes on for a second, so that the rate is known."""
    network = ScriptedNetwork(Script())
    for _ in range(MAX_ON_ONE_CONNECTION):
        network.send(about_versions(0), now_ms=1)
    assert network.cluster.enough(10_000) == ""
    network.send(about_versions(0), now_ms=1)
    network.send(about_versions(0), now_ms=900)
    assert network.cluster.enough(1 + LOOP_IS_MEASURED_MS) == ""
    why = network.cluster.enough(2 + LOOP_IS_MEASURED_MS)
    assert why == "the client asks for ApiVersions in a loop"
    recording = network.cluster.recording(duration_ms=1002, cut_short=why)
    assert (recording.cut_short, recording.api_versions_requests) == (why, 22)
    assert recording.versions_of_api_versions == (0,) * 22


def test_loop_over_many_connections_ends_the_play() -> None:
    network = ScriptedNetwork(Script())
    for _ in range(MAX_IN_ALL + 1):
        assert network.cluster.enough(0) == ""
        network.reconnect()
        network.send(about_versions(0))
    assert network.cluster.enough(1 + LOOP_IS_MEASURED_MS)


def test_many_open_connections_end_the_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_cluster, "MAX_OPEN", 2)
    cluster = ScriptedCluster(Script(), [("127.0.0.1", 9092)])
    for _ in range(3):
        cluster.connect(0, now_ms=1).client_closed(now_ms=1)
    for _ in range(2):
        cluster.connect(0, now_ms=1)
    assert cluster.enough(1) == ""
    last = cluster.connect(0, now_ms=1)
    assert cluster.enough(1) == "the client keeps more than 2 connections open"
    last.client_closed(now_ms=2)
    assert cluster.enough(2)


def test_recovery_ends_the_play() -> None:
    """The first Metadata on a healthy connection counts, the client then has some time to report it."""
    network = ScriptedNetwork(one_node(Answer(action="close"), heals_after_ms=0))
    network.send(about_versions(0))
    assert network.cluster.enough(10_000) == ""
    network.send(metadata(0), now_ms=0)
    network.send(metadata(0), now_ms=200)
    assert network.cluster.enough(RECOVERY_IS_SEEN_MS) == ""
    assert network.cluster.enough(1 + RECOVERY_IS_SEEN_MS) == "the client has recovered"


def test_use_begins_with_the_first_metadata() -> None:
    """A table shows no use yet, and later answers do not move its time."""
    network = ScriptedNetwork(Script())
    network.send(about_versions(0))
    assert network.cluster.used_ms is None
    network.send(metadata(1), now_ms=5)
    network.send(metadata(1), now_ms=9)
    assert network.cluster.used_ms == 5


def test_metadata_that_is_not_served_is_no_recovery() -> None:
    """The version is outside the table."""
    network = ScriptedNetwork(one_node(Answer(), heals_after_ms=0))
    frame = metadata(0)
    network.send(frame[:6] + b"\x00\x63" + frame[8:])
    assert network.cluster.enough(10_000) == ""


def test_text_of_a_recording_is_the_expression_that_makes_it() -> None:
    network = ScriptedNetwork(one_node(Answer(table=Table(null=True), pieces=2), heals_after_ms=5))
    tagged = replace(NAMED, unknown_tagged_fields=(TaggedField(9, b"x"),))
    network.send(about_versions(3), about_versions(7), about_versions(3, body=tagged), metadata(0))
    network.reconnect(5)
    network.send(about_versions(3), b"\xff" * 4)
    recording = network.recording()
    names = (
        *(Answer, ConnectionScript, NodeScript, Script, Table),
        *(Recording, SeenConnection, SeenRequest, ApiVersionsRequest, TaggedField),
    )
    assert eval(repr(recording), {each.__name__: each for each in names}) == recording
