"""Tests of one connection to the reference broker.

They check requests in pieces, pipelining, states and the end of the connection.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.broker.model.fault_injection import ReceivedBytes, RequestContext, StreamEnd
from reference_model.broker.model.stages import Pause, Stage, Tampering
from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.broker.rules.connection_states import (
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from strategies.api_versions import api_versions_requests, build_request, unknown_versions
from strategies.broken_requests import frames_with_wrong_size, malformed_requests, mutated_requests
from strategies.field_values import Software
from tests.reference_model.broker.release_lines import IDENTITY, LINES, profile_at
from tests.reference_model.broker.test_responses import SMALL
from wire.exchange import Request
from wire.frames import SOCKET_REQUEST_MAX_BYTES

OPEN, DEAD, CLOSED = ConnectionState.OPEN, ConnectionState.DEAD, ConnectionState.CLOSED
SERVED_V0 = build_request(version=0).data
REFUSED_VERSION = build_request(version=99).data
REFUSED_NAME = build_request(version=3, software=Software("a_b", "1")).data
UNREADABLE = build_request(version=3, body=b"").data
SWALLOWED_ON_0_11 = build_request(version=0, client_id="a:b").data
SHORT_FRAME = bytes(4)


def connect(release: str = "4.4.0") -> BrokerConnection:
    """Open the one connection of a new broker of a release."""
    return ReferenceBroker(profile=profile_at(release), identity=IDENTITY).connect()


def connect_to_small_broker(tampering: Tampering | None = None) -> BrokerConnection:
    """Open the one connection of a new broker whose answers are short, with a defect if one is given."""
    return ReferenceBroker(profile=SMALL, identity=IDENTITY, tampering=tampering).connect()


def test_data_is_given_out_once() -> None:
    """Data that was taken to be sent is not returned again."""
    connection = connect_to_small_broker()
    assert connection.data_to_send() == b""
    connection.receive_data(SERVED_V0)
    assert connection.data_to_send() != b""
    assert connection.data_to_send() == b""


def test_pipelined_requests_are_answered_in_order() -> None:
    """Successes, and refusals that do not close, come in the order of their requests, in one piece."""
    connection = connect_to_small_broker()
    connection.receive_data(SERVED_V0 + REFUSED_VERSION + REFUSED_NAME + SERVED_V0)
    served = "00000016 00000007 0000 00000002 0000 0000 000d 0012 0000 0005"
    expected = f"{served} 00000010 00000007 0023 00000001 0012 0000 0005 0000000c 00000007 002a 01 00000000 00 {served}"
    assert connection.data_to_send() == bytes.fromhex(expected)
    assert connection.state is OPEN


def test_nothing_after_a_close_is_answered() -> None:
    """Of a good, an unreadable and a good request in one write, the first is answered; then it closes."""
    connection = connect_to_small_broker()
    connection.receive_data(SERVED_V0)
    first = connection.data_to_send()
    connection.receive_data(SERVED_V0 + UNREADABLE + SERVED_V0)
    assert connection.data_to_send() == first
    assert connection.state is CLOSED
    connection.receive_data(SERVED_V0)
    assert connection.data_to_send() == b""


REQUESTS = st.one_of(
    api_versions_requests(versions=st.integers(0, 5) | unknown_versions()),
    malformed_requests(),
    mutated_requests(),
    frames_with_wrong_size(),
)


@given(
    requests=st.lists(REQUESTS, min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 300), max_size=6),
    release=st.sampled_from(LINES),
)
@settings(max_examples=60)
def test_pieces_do_not_matter(requests: list[Request], cuts: list[int], release: str) -> None:
    """A stream fed at once, byte by byte or in any pieces leads to the same bytes and state."""
    stream = b"".join(request.data for request in requests)
    ends = sorted({0, *(cut for cut in cuts if cut < len(stream)), len(stream)})
    pieces = [stream[start:end] for start, end in itertools.pairwise(ends)]
    outcomes = set()
    for fed in ([stream], pieces, [bytes([byte]) for byte in stream]):
        connection = connect(release)
        sent = b""
        for piece in fed:
            connection.receive_data(piece)
            sent += connection.data_to_send()
        outcomes.add((sent, connection.state))
    assert len(outcomes) == 1


@given(requests=st.lists(REQUESTS, max_size=4), release=st.sampled_from(LINES))
@settings(max_examples=60)
def test_requests_are_served_one_by_one(requests: list[Request], release: str) -> None:
    """Pipelined requests get the same answers as requests that each wait for the previous answer."""
    pipelined, waiting = connect(release), connect(release)
    pipelined.receive_data(b"".join(request.data for request in requests))
    sent = b""
    for request in requests:
        waiting.receive_data(request.data)
        sent += waiting.data_to_send()
    assert pipelined.data_to_send() == sent
    assert pipelined.state is waiting.state


def test_short_frames_are_skipped_up_to_0_11() -> None:
    """An empty frame is skipped on 0.10 and 0.11, and closes the connection from 1.0 on."""
    connection = connect("0.11.0.3")
    connection.receive_data(SHORT_FRAME + REFUSED_VERSION)
    assert connection.state is OPEN
    assert connection.data_to_send() == bytes.fromhex("0000000a 00000007 0023 00000000")
    connection = connect("1.1.1")
    connection.receive_data(SHORT_FRAME + REFUSED_VERSION)
    assert connection.state is CLOSED
    assert connection.data_to_send() == b""


def test_swallowed_request_leaves_a_dead_connection() -> None:
    """After a client id that 0.11 cannot handle, nothing is answered or closed until the client leaves."""
    connection = connect("0.11.0.3")
    connection.receive_data(SERVED_V0)
    assert connection.data_to_send() != b""
    for data in (SWALLOWED_ON_0_11 + SERVED_V0, SERVED_V0, UNREADABLE, bytes.fromhex("ffffffff")):
        connection.receive_data(data)
        assert connection.state is DEAD
        assert connection.data_to_send() == b""
    connection.receive_eof()
    assert connection.state is CLOSED


@pytest.mark.parametrize(
    ("prefix", "state"),
    [
        pytest.param((-1).to_bytes(4, signed=True), CLOSED, id="minus-1"),
        pytest.param((-(2**31)).to_bytes(4, signed=True), CLOSED, id="minimum"),
        pytest.param((SOCKET_REQUEST_MAX_BYTES + 1).to_bytes(4), CLOSED, id="above-the-limit"),
        pytest.param(b"GET ", CLOSED, id="http"),
        pytest.param(bytes.fromhex("16030100"), CLOSED, id="tls"),
        pytest.param(SOCKET_REQUEST_MAX_BYTES.to_bytes(4), OPEN, id="at-the-limit"),
        pytest.param(b"\xff\xff\xff", OPEN, id="three-bytes"),
    ],
)
def test_size_prefix_alone_decides(prefix: bytes, state: ConnectionState) -> None:
    """A negative size, and one above socket.request.max.bytes, close at once; earlier requests are answered."""
    connection = connect_to_small_broker()
    connection.receive_data(REFUSED_VERSION + prefix)
    assert connection.state is state
    answer = "00000010 00000007 0023 00000001 0012 0000 0005"
    assert connection.data_to_send() == bytes.fromhex(answer)


TO_STATE = {OPEN: b"", DEAD: SWALLOWED_ON_0_11, CLOSED: b"\xff\xff\xff\xff"}
BYTES_OF_EVENT = {
    ConnectionEvent.SERVED: SERVED_V0,
    ConnectionEvent.SWALLOWED: SWALLOWED_ON_0_11,
    # 0.11 refuses no readable ApiVersions request, so a request of another API replaces it.
    ConnectionEvent.REFUSED: bytes.fromhex("0000000a 03e7 0000 00000007 0000"),
}


@pytest.mark.parametrize("event", [*BYTES_OF_EVENT, ConnectionEvent.END_OF_STREAM])
@pytest.mark.parametrize("state", TO_STATE)
def test_event_moves_a_connection_or_cannot_reach_it(state: ConnectionState, event: ConnectionEvent) -> None:
    """Each pair of state and event is in the table, or its bytes do not change the state."""
    release = "0.11.0.3"
    connection = connect(release)
    connection.receive_data(TO_STATE[state])
    assert connection.state is state
    if event is ConnectionEvent.END_OF_STREAM:
        connection.receive_eof()
    else:
        connection.receive_data(BYTES_OF_EVENT[event])
    assert connection.state is TRANSITIONS.get((state, event), state)


@pytest.mark.parametrize("state", TO_STATE)
def test_end_of_stream_closes_every_connection(state: ConnectionState) -> None:
    """The end of the client's stream closes, even in the middle of a frame, and may be repeated."""
    connection = connect("0.11.0.3")
    connection.receive_data(TO_STATE[state] + SERVED_V0[:9])
    connection.receive_eof()
    assert connection.state is CLOSED
    assert connection.data_to_send() == b""
    connection.receive_eof()
    assert connection.state is CLOSED


def test_answers_outlive_the_end_of_stream() -> None:
    """Answers to requests that were complete before the end of the stream are still sent."""
    connection = connect_to_small_broker()
    connection.receive_data(SERVED_V0 + SERVED_V0)
    connection.receive_eof()
    assert len(connection.data_to_send()) == 2 * 26


@pytest.mark.parametrize("state", TO_STATE)
def test_dropped_connection_is_closed(state: ConnectionState) -> None:
    """The broker can close a connection in any state, and may do so twice."""
    connection = connect("0.11.0.3")
    connection.receive_data(TO_STATE[state])
    for _ in range(2):
        connection.drop()
        assert connection.state is CLOSED


def test_broker_keeps_just_the_connections_that_are_open() -> None:
    """A connection is listed until it is closed, whoever closes it and for whatever reason."""
    broker = ReferenceBroker(profile=profile_at("0.11.0.3"), identity=IDENTITY)
    left, dropped, refused, dead, kept = (broker.connect() for _ in range(5))
    assert broker.connections == [left, dropped, refused, dead, kept]
    left.receive_eof()
    dropped.drop()
    refused.receive_data(b"\xff\xff\xff\xff")
    dead.receive_data(SWALLOWED_ON_0_11)
    assert broker.connections == [dead, kept]


def test_requests_of_other_apis_get_the_smallest_answer() -> None:
    """Listed APIs are answered with an empty response, except for the broker itself, and the connection stays open."""
    connection = connect()
    connection.receive_data(bytes.fromhex("0000000a 0003 0001 00000007 ffff"))
    assert connection.state is OPEN
    assert connection.data_to_send() == bytes.fromhex(
        "0000001c 00000007 00000001 00000001 0000 00000000 ffff 00000001 00000000"
    )
    flexible = bytes.fromhex("0000000b 003c 0000 00000008 ffff 00")
    connection.receive_data(flexible)
    assert connection.data_to_send()[4:9] == bytes.fromhex("00000008 00")


def test_versions_of_other_apis_that_are_not_served_are_closed() -> None:
    """A version outside the listed range, or without a recorded smallest answer, closes."""
    connection = connect()
    connection.receive_data(bytes.fromhex("0000000a 0003 0063 00000007 ffff"))
    assert connection.state is CLOSED
    old = connect("0.10.0.1")
    old.receive_data(bytes.fromhex("0000000a 0004 0000 00000007 ffff"))
    assert old.state is CLOSED
    assert old.data_to_send() == b""


def test_throttled_client_is_answered_and_then_waits() -> None:
    """From v1 on a throttled client sees the throttle time; its next requests wait for `resume`."""
    connection = connect_to_small_broker()
    throttled = build_request(version=1, client_id="throttled-1").data
    connection.receive_data(throttled + REFUSED_VERSION)
    response = connection.data_to_send()
    assert response.endswith(bytes.fromhex("00000096"))
    assert connection.pause == Pause(milliseconds=150)
    connection.receive_data(SERVED_V0)
    connection.receive_eof()
    assert connection.data_to_send() == b""
    assert connection.state is OPEN
    connection.resume()
    assert connection.pause is None
    assert len(connection.data_to_send()) == 20 + 26
    assert connection.state is CLOSED


def test_throttled_client_sees_no_throttle_time_in_v0() -> None:
    """A v0 answer has no throttle time, but the pause is the same."""
    connection = connect_to_small_broker()
    connection.receive_data(build_request(version=0, client_id="throttled").data)
    assert len(connection.data_to_send()) == 26
    assert connection.pause is not None
    connection.receive_data(build_request(version=0, client_id="throttled").data)
    connection.resume()
    assert connection.pause is not None
    connection.receive_eof()
    connection.resume()
    assert connection.state is CLOSED


@pytest.mark.parametrize(
    ("sizes", "segments"),
    [
        pytest.param([22], [1], id="one"),
        pytest.param([10, 12], [2], id="two"),
        pytest.param([1] * 22, [22], id="byte-by-byte"),
        pytest.param([22, 22], [1, 1], id="two-requests"),
        pytest.param([44], [1, 1], id="two-requests-at-once"),
        pytest.param([30, 14], [1, 2], id="second-one-cut"),
        pytest.param([22, 1, 21], [1, 2], id="second-one-cut-later"),
        pytest.param([10, 34], [2, 1], id="second-one-whole-behind-a-piece"),
        pytest.param([10, 20, 14], [2, 2], id="both-cut"),
    ],
)
def test_pieces_of_each_frame_are_counted(sizes: list[int], segments: list[int]) -> None:
    """The context of a frame has the number of pieces in which it arrived, whatever came before it."""
    counted = []
    connection = connect_to_small_broker(
        Tampering(stage=Stage.REACTION, act=lambda context: counted.append(context.segments))
    )
    frame = bytes.fromhex("00000012 0012 0000 00000007 0008 6162636465666768")
    stream = 2 * frame
    offset = 0
    for size in sizes:
        connection.receive_data(stream[offset : offset + size])
        offset += size
    assert counted == segments


@pytest.mark.parametrize(
    ("change", "state"),
    [
        pytest.param({}, CLOSED, id="nothing"),
        pytest.param({"keeps_open": True}, OPEN, id="stays-open"),
        pytest.param({"skipped_bytes": 4}, OPEN, id="reads-on"),
    ],
)
def test_defect_can_change_what_a_refused_size_does(change: dict[str, int], state: ConnectionState) -> None:
    """A defect of the size stage may answer, keep the connection open, or read on after the size."""

    def act(ending: StreamEnd) -> None:
        ending.answer = b"!"
        for name, value in change.items():
            setattr(ending, name, value)

    connection = connect_to_small_broker(Tampering(stage=Stage.SIZE, act=act))
    connection.receive_data(b"\xff\xff\xff\xff" + REFUSED_VERSION)
    assert connection.state is state
    refusal = bytes.fromhex("00000010 00000007 0023 00000001 0012 0000 0005")
    assert connection.data_to_send() == (b"!" + refusal if "skipped_bytes" in change else b"!")


def test_defect_can_outlive_the_end_of_stream() -> None:
    """A defect of the end stage may answer an incomplete frame, and keep the connection open."""

    def act(ending: StreamEnd) -> None:
        ending.answer = ending.unread
        ending.keeps_open = True

    connection = connect_to_small_broker(Tampering(stage=Stage.END, act=act))
    connection.receive_data(SERVED_V0[:9])
    connection.receive_eof()
    assert connection.state is OPEN
    assert connection.data_to_send() == SERVED_V0[:9]


def test_reset_ends_the_connection_and_shows_what_is_left() -> None:
    """A reset closes at once; a defect sees the bytes that are unread and how many of ours are, and the neighbours."""
    seen = []
    tampering = Tampering(
        stage=Stage.RESET,
        act=lambda ending: seen.append((ending.unread, ending.connection.backlog, ending.connection.neighbours)),
    )
    broker = ReferenceBroker(profile=SMALL, identity=IDENTITY, tampering=tampering)
    neighbour, connection = broker.connect(), broker.connect()
    connection.receive_data(SERVED_V0 + SERVED_V0[:9])
    waiting = len(connection.data_to_send())
    connection.receive_data(b"")
    connection.unwritten = waiting
    connection.receive_reset()
    assert seen == [(SERVED_V0[:9], waiting, [neighbour])]
    assert (connection.state, broker.connections) == (CLOSED, [neighbour])


def test_defect_can_replace_what_is_read() -> None:
    """A defect sees the bytes of a read before they are split, with what was left of the last read."""
    seen = []

    def act(received: ReceivedBytes) -> None:
        seen.append((received.unread, received.data))
        received.data = received.data[:-1]

    connection = connect_to_small_broker(Tampering(stage=Stage.BYTES, act=act))
    connection.receive_data(SERVED_V0[:10])
    connection.receive_data(SERVED_V0[10:])
    assert seen == [(b"", SERVED_V0[:10]), (SERVED_V0[:9], SERVED_V0[10:])]
    assert connection.unread == SERVED_V0[:9] + SERVED_V0[10:-1]


def test_frames_of_a_connection_and_of_a_read_are_counted() -> None:
    """The number of frames of a connection grows; that of a read begins again with each read."""
    counted = []

    def act(context: RequestContext) -> None:
        counted.append((context.connection.frames, context.connection.frames_of_read))

    connection = connect_to_small_broker(Tampering(stage=Stage.REACTION, act=act))
    connection.receive_data(SERVED_V0 + SERVED_V0)
    connection.receive_data(SERVED_V0)
    assert counted == [(0, 0), (1, 1), (2, 0)]


def test_defect_can_close_before_it_answers() -> None:
    """A connection that a defect drops at any stage stays closed."""
    connection = connect_to_small_broker(Tampering(stage=Stage.ANSWER, act=lambda context: context.connection.drop()))
    connection.receive_data(SERVED_V0)
    assert connection.state is CLOSED
    assert connection.data_to_send() != b""


def test_form_of_an_answer_can_be_asked_for() -> None:
    """A defect may encode the answer with other bytes in one of its fields."""

    def act(context: RequestContext) -> None:
        context.answer = context.encode_answer(raw={"error_code": b"\x7f\xff"})

    connection = connect_to_small_broker(Tampering(stage=Stage.ANSWER, act=act))
    connection.receive_data(SERVED_V0)
    assert connection.data_to_send()[8:10] == b"\x7f\xff"
