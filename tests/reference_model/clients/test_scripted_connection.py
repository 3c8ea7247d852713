"""Tests of one connection to a scripted broker: bytes, end and recording."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from reference_model.clients.scripts import scripted_connection
from reference_model.clients.scripts.script import (
    CLUSTER_ID,
    EMPTY,
    ITSELF,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
    one_node,
)
from reference_model.clients.scripts.scripted_cluster import ScriptedCluster
from reference_model.clients.scripts.scripted_connection import MAX_REQUEST_BYTES, Write
from reference_model.clients.scripts.served_apis import NEWEST_SERVED
from tests.reference_model.clients.scripted_network import (
    CLOSES,
    NAMED,
    ScriptedNetwork,
    about_versions,
    error_in,
    ids,
    metadata,
    metadata_in,
    produce,
    versions_in,
)
from wire.api_versions import ApiVersionsRequest
from wire.error_codes import ErrorCode
from wire.frames import encode_frame


def test_answers_come_one_after_the_other_and_the_last_one_repeats() -> None:
    """The first request gets the first answer, and all after the second get the second."""
    network = ScriptedNetwork(one_node(Answer(error_code=35, table=ITSELF, layout=0), Answer(table=EMPTY)))
    answers = [network.send(about_versions(version)) for version in (3, 0, 0)]
    codes = [versions_in(write, 0)[0] for (write,) in answers]
    assert codes == [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.NONE, ErrorCode.NONE]


@pytest.mark.parametrize(("version", "error"), [(13, 129), (12, 0)])
def test_metadata_may_have_an_error_that_newer_versions_know(version: int, error: int) -> None:
    network = ScriptedNetwork(all_connections(ConnectionScript(metadata_error=129)))
    (write,) = network.send(metadata(version))
    message = metadata_in(write, version)
    assert message.error_code == error
    assert bool(message.brokers) is bool(message.cluster_id) is not error


def test_node_that_is_not_listed_is_in_no_metadata() -> None:
    script = Script(nodes=(NodeScript(is_listed=False), NodeScript()))
    (write,) = ScriptedNetwork(script).send(metadata(9))
    assert [each.node_id for each in metadata_in(write, 9).brokers] == [2]


def test_unencrypted_bytes_before_tls_close() -> None:
    network = ScriptedNetwork(Script())
    assert network.connection.receive_before_tls(b"abc", 3) == CLOSES
    (seen,) = network.recording().connections
    assert (seen.is_before_tls, seen.unreadable, seen.closed_by) == (True, b"abc", "broker")
    silent = ScriptedNetwork(all_connections(ConnectionScript(on_open="silence")))
    assert silent.connection.receive_before_tls(b"abc", 3) == []


def test_request_is_answered_once_its_last_byte_is_there() -> None:
    """Bytes may come one by one."""
    network = ScriptedNetwork(Script())
    data = about_versions(0)
    assert [network.send(data[at : at + 1]) for at in range(len(data) - 1)] == [[]] * (len(data) - 1)
    (write,) = network.send(data[-1:])
    assert ids([write]) == [7]


def test_responses_have_the_order_of_the_requests() -> None:
    """Pipelined requests are answered in their order, and a delay of one holds back those after it."""
    network = ScriptedNetwork(one_node(Answer(delay_ms=50, pieces=2)))
    first, second, third = network.send(about_versions(0, id_=1), metadata(0, id_=2), now_ms=10)
    assert [first.delay_ms, second.delay_ms, third.delay_ms] == [50, 50, 0]
    assert (first.data + second.data)[4:8] == bytes.fromhex("00000001")
    assert ids([third]) == [2]
    versions, topics = network.seen(109)
    assert (versions.response, topics.response) == (first.data, b"")
    versions, topics = network.seen(110)
    assert (versions.response, topics.response) == (first.data + second.data, third.data)


def test_pieces_are_as_many_as_the_frame_allows() -> None:
    """A frame is never cut into more pieces than it has bytes."""
    network = ScriptedNetwork(one_node(Answer(body=b"", pieces=100, then="reset")))
    writes = network.send(about_versions(0))
    assert [len(write.data) for write in writes] == [1] * 8
    assert [write.then for write in writes] == ["stay"] * 7 + ["reset"]


@pytest.mark.parametrize("action", ["close", "reset"])
def test_answer_can_be_the_end_of_the_connection(action: Any) -> None:
    """The connection ends after the delay; later requests on it are not answered, and not read after the end."""
    network = ScriptedNetwork(one_node(Answer(action=action, delay_ms=30)))
    assert network.send(about_versions(3), now_ms=10) == [Write(delay_ms=30, then=action)]
    assert network.send(metadata(9), now_ms=39) == []
    assert network.send(metadata(9), now_ms=40) == []
    (connection,) = network.recording().connections
    assert (connection.closed_ms, connection.closed_by, connection.requests) == (40, "broker", 2)
    assert connection.was_reset is (action == "reset")
    assert [request.is_served for request in network.seen()] == [True, False]
    (connection,) = network.recording(39).connections
    assert (connection.closed_ms, connection.closed_by, connection.was_reset) == (None, "", False)


def test_client_may_close_before_the_broker_does() -> None:
    """What was not written by then is not recorded as written."""
    network = ScriptedNetwork(one_node(Answer(pieces=2, delay_ms=50, then="close")))
    first, _ = network.send(about_versions(3))
    assert network.cluster.has_open_connections is False
    network.connection.client_closed(60, was_reset=True)
    network.connection.client_closed(70)
    (connection,) = network.recording().connections
    assert (connection.closed_ms, connection.closed_by) == (60, "client")
    assert connection.was_reset
    (before,) = network.recording(59).connections
    assert (before.closed_ms, before.closed_by, before.was_reset) == (None, "", False)
    (request,) = network.seen()
    assert request.response == first.data


def test_state_changes_with_what_decides_about_the_next_response() -> None:
    network = ScriptedNetwork(one_node(Answer(table=ITSELF), Answer()))
    states = [network.connection.state]
    for _ in range(3):
        network.send(about_versions(3))
        states.append(network.connection.state)
    assert [number for number, _, _ in states] == [0, 1, 1, 1]
    assert states[0] != states[1] != states[2] == states[3]


def test_silence_stays() -> None:
    """No response can follow one that is missing; requests are recorded all the same."""
    network = ScriptedNetwork(one_node(Answer(action="silence"), Answer()))
    for frame in (about_versions(3), about_versions(3), metadata(0), produce(), b"\xff" * 4):
        assert network.send(frame) == []
    recording = network.recording()
    assert [request.response for request in recording.requests] == [b""] * 4
    assert [request.body for request in recording.requests][:2] == [NAMED, NAMED]
    assert recording.connections[0].closed_ms is None
    assert recording.unserved == ()
    assert network.cluster.has_open_connections


def test_silent_connection_answers_nothing() -> None:
    network = ScriptedNetwork(all_connections(ConnectionScript(on_open="silence")))
    assert network.connection.opening == []
    assert network.send(about_versions(3)) == []
    (request,) = network.seen()
    assert (request.body, request.problem, request.is_served) == (NAMED, "", False)


def test_connection_can_be_closed_as_soon_as_it_is_open() -> None:
    network = ScriptedNetwork(all_connections(ConnectionScript(on_open="close")))
    assert network.connection.opening == CLOSES
    assert network.send(about_versions(3)) == []
    recording = network.recording()
    assert recording.requests == ()
    assert recording.connections[0].closed_by == "broker"


@pytest.mark.parametrize("version", [7, 100, 32767, -1, -32768])
def test_versions_that_no_broker_supports_are_refused(version: int) -> None:
    """Whatever the script says, they get UNSUPPORTED_VERSION and v0's layout, and no answer of the script is used."""
    network = ScriptedNetwork(all_connections(ConnectionScript(newest_version=9, answers=(Answer(error_code=42),))))
    (write,) = network.send(about_versions(version))
    assert versions_in(write, 0) == (ErrorCode.UNSUPPORTED_VERSION, [(18, 0, NEWEST_SERVED)])
    (request,) = network.seen()
    assert (request.is_served, request.body) == (False, None)
    assert request.answer is not None
    assert request.answer.error_code == 35


def test_versions_above_the_newest_one_are_refused() -> None:
    """The refusal lists the range of ApiVersions, and so does the table."""
    network = ScriptedNetwork(all_connections(ConnectionScript(newest_version=2)))
    (refusal,) = network.send(about_versions(3))
    assert versions_in(refusal, 0) == (ErrorCode.UNSUPPORTED_VERSION, [(18, 0, 2)])
    (write,) = network.send(about_versions(2))
    code, entries = versions_in(write, 2)
    assert code is ErrorCode.NONE
    assert [entry for entry in entries if entry[0] == 18] == [(18, 0, 2)]


def test_script_can_say_how_a_version_is_refused() -> None:
    """The refusal is an answer like any other."""
    refusal = Answer(action="close")
    network = ScriptedNetwork(all_connections(ConnectionScript(newest_version=2, refusal=refusal)))
    assert network.send(about_versions(3)) == CLOSES


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (Table(changed=((18, 0, 2),)), [(18, 0, 2)]),
        (Table(after=((18, 7, 9),), removed=(18,)), [(18, 7, 9)]),
        (Table(changed=((18, 0, 1),), after=((18, 4, 5),)), [(18, 0, 1), (18, 4, 5)]),
    ],
)
def test_api_versions_is_refused_outside_the_table_of_the_connection(
    table: Table, named: list[tuple[int, int, int]]
) -> None:
    """A real broker with that table would refuse it, and name its range."""
    network = ScriptedNetwork(one_node(Answer(table=table)))
    network.send(about_versions(3))
    (write,) = network.send(about_versions(3))
    assert versions_in(write, 0) == (ErrorCode.UNSUPPORTED_VERSION, named)
    network.reconnect()
    assert versions_in(network.send(about_versions(3))[0], 3)[0] is ErrorCode.NONE


@pytest.mark.parametrize("table", [EMPTY, Table(changed=((18, 0, 9),))])
def test_api_versions_is_served_if_the_table_allows_it_or_does_not_list_it(table: Table) -> None:
    """A broker always serves ApiVersions."""
    network = ScriptedNetwork(one_node(Answer(table=table)))
    network.send(about_versions(3))
    assert versions_in(network.send(about_versions(3))[0], 3)[0] is ErrorCode.NONE


@pytest.mark.parametrize(
    ("payload", "client_id", "problem"),
    [
        ("0012 0003 00000007 0002 6d65 00 05736f6d65 0231 00", "me", False),
        ("0012 0003 00000007 ffff 00 05736f6d65 0231 00", None, False),
        ("0012 0003 00000007 0002 6d65 00 05736f6d65", "me", True),
        ("0012 0003 00000007 0002 6d65 00 05736f6d65 0231 00 00", "me", True),
        ("0012 0003 00000007 0009 6d65", None, True),
        ("0012 0003 00000007", None, True),
        ("0012 0000 00000007 0002 6d65 00", "me", True),
    ],
)
def test_api_versions_request_is_answered_whether_it_can_be_read_or_not(
    payload: str, client_id: str | None, problem: bool
) -> None:
    """The recording says what is wrong; the response is that of the script."""
    network = ScriptedNetwork(Script())
    data = encode_frame(bytes.fromhex(payload))
    (write,) = network.send(data)
    (request,) = network.seen()
    assert (request.data, request.response) == (data, write.data)
    assert (request.client_id, bool(request.problem)) == (client_id, problem)
    assert (request.body is None) is problem


@pytest.mark.parametrize(
    ("data", "unreadable"),
    [
        ("16030102 00010001", "16030102 00010001"),
        ("ffffffff 0012", "ffffffff 0012"),
        (f"{MAX_REQUEST_BYTES + 1:08x}", f"{MAX_REQUEST_BYTES + 1:08x}"),
        ("00000000", "00000000"),
        ("00000003 001200 ffff", "00000003 001200"),
        ("7fffffff" + "00" * 100, "7fffffff" + "00" * 60),
    ],
    ids=["TLS", "negative", "too large", "empty", "short", "long"],
)
def test_bytes_that_are_no_request_close(data: str, unreadable: str) -> None:
    network = ScriptedNetwork(Script())
    assert network.send(bytes.fromhex(data)) == CLOSES
    assert network.send(about_versions(3)) == []
    (connection,) = network.recording().connections
    assert connection.unreadable == bytes.fromhex(unreadable)
    assert (connection.closed_by, connection.requests) == ("broker", 0)


@pytest.mark.parametrize("closes_after", [1, 2])
def test_connection_is_closed_after_some_responses(closes_after: int) -> None:
    """ApiVersions does not count."""
    network = ScriptedNetwork(all_connections(ConnectionScript(closes_after=closes_after)))
    writes = network.send(*[about_versions(0)] * 3, *[metadata(0)] * 3)
    assert [write.then for write in writes] == [*["stay"] * (2 + closes_after), "close"]


@pytest.mark.parametrize(
    ("cluster_id", "node", "error"),
    [
        (None, -1, 0),
        (CLUSTER_ID, 1, 0),
        (CLUSTER_ID, 2, 129),
        ("other", 1, 129),
        (None, 1, 42),
        (CLUSTER_ID, -1, 42),
    ],
)
def test_ids_are_checked_by_whoever_gives_a_table(cluster_id: str | None, node: int, error: int) -> None:
    """Ids of another broker get REBOOTSTRAP_REQUIRED, one of them alone INVALID_REQUEST; an error of the script
    stays."""
    body = ApiVersionsRequest(
        client_software_name="some",
        client_software_version="1",
        cluster_id=cluster_id,
        node_id=node,
    )
    for answer, code in (
        (Answer(), error),
        (Answer(throttle_time_ms=1), error),
        (Answer(error_code=7), 7),
        (Answer(table=Table(claimed_count=70)), 0),
    ):
        network = ScriptedNetwork(one_node(answer))
        assert error_in(network.send(about_versions(5, body=body))[0]) == code


def test_unasked_response_opens_the_connection() -> None:
    unasked = Answer(table=ITSELF, correlation_shift=3, pieces=2)
    network = ScriptedNetwork(all_connections(ConnectionScript(unasked=unasked)))
    opening = network.connection.opening
    frame = b"".join(write.data for write in opening)
    assert len(opening) == 2
    assert ids([Write(data=frame)]) == [3]
    assert versions_in(Write(data=frame), 0) == (0, [(18, 0, 5)])
    assert ids(network.send(about_versions(3))) == [7]
    closed = all_connections(ConnectionScript(unasked=unasked, on_open="close"))
    assert ScriptedNetwork(closed).connection.opening == CLOSES


def test_held_back_response_comes_after_the_next_one() -> None:
    network = ScriptedNetwork(one_node(Answer(held_back=True), Answer()))
    assert network.send(about_versions(3, id_=1), now_ms=5) == []
    assert [each.response for each in network.seen()] == [b""]
    assert ids(network.send(metadata(3, id_=2), now_ms=9)) == [2, 1]
    held, other_one = network.seen()
    assert (held.answered_ms, other_one.answered_ms) == (9, None)
    assert held.response[4:8] == bytes([0, 0, 0, 1])
    assert ids(network.send(about_versions(3, id_=3), now_ms=10)) == [3]


def test_response_that_is_held_back_twice_is_released_once() -> None:
    """The second one is held back in its turn."""
    network = ScriptedNetwork(one_node(Answer(held_back=True)))
    assert network.send(about_versions(3, id_=1)) == []
    assert ids(network.send(about_versions(3, id_=2))) == [1]
    assert ids(network.send(metadata(3, id_=3))) == [3, 2]


def test_response_behind_a_slow_one_has_its_own_time() -> None:
    network = ScriptedNetwork(one_node(Answer(delay_ms=50), Answer()))
    network.send(about_versions(3), about_versions(3), metadata(3), now_ms=5)
    assert [each.answered_ms for each in network.seen()] == [None, 55, 55]
    assert [each.responded_ms for each in network.seen()] == [55, 55, 55]
    pieces = ScriptedNetwork(one_node(Answer(delay_ms=50, pieces=2)))
    pieces.send(about_versions(3))
    assert [each.answered_ms for each in pieces.seen(duration_ms=60)] == [None]


def test_requests_of_a_flood_are_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sent without a pause kept a play busy for a minute after enough was seen."""
    monkeypatch.setattr(scripted_connection, "MAX_READ", 3)
    network = ScriptedNetwork(Script())
    assert len(network.send(*[about_versions(0)] * 2)) == 2
    assert len(network.send(*[about_versions(0)] * 9)) == 1
    assert network.send(about_versions(0)) == []
    assert len(network.seen(0)) == 3


def test_unfinished_request_is_forgotten_with_its_connection() -> None:
    """Connections that are recorded kept the bytes of half a request each to the end of the play."""
    cluster = ScriptedCluster(Script(), [("127.0.0.1", 9092)])
    connection = cluster.connect(0, now_ms=0)
    half = encode_frame(bytes(MAX_REQUEST_BYTES))[:-1]
    tracemalloc.start()
    connection.receive_data(half, now_ms=1)
    held, _ = tracemalloc.get_traced_memory()
    connection.client_closed(now_ms=2)
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held > MAX_REQUEST_BYTES > 10 * left


def test_answer_may_begin_with_a_version() -> None:
    """Requests below the version of an answer get the healthy one."""
    network = ScriptedNetwork(one_node(Answer(error_code=42, from_version=3)))
    older, newer = network.send(about_versions(2), about_versions(3))
    assert (versions_in(older, 2)[0], versions_in(newer, 3)[0]) == (0, 42)
