"""A failure's packet capture contains the bytes of the run and follows TCP.

A program that knows only the capture can read it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from itertools import pairwise

import pytest
from dpkt.ip import IP
from dpkt.pcap import Reader
from dpkt.tcp import TH_ACK, TH_FIN, TH_PUSH, TH_SYN
from hypothesis import example, given
from hypothesis import strategies as st

from fixtures.client.connection import Connection
from reports.run.packet_capture import (
    BROKER_PORT,
    FIRST_BROKER,
    FIRST_CLIENT_PORT,
    MAX_CAPTURE_BYTES,
    SILENCE_MS,
    render_capture,
)
from reports.run_folders.run_limits import MAX_FILE_BYTES
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Step
from wire.frames import encode_frame
from wire.sentinel import sentinel_for

FLAGS = {TH_SYN: "SYN", TH_FIN: "FIN", TH_PUSH: "PUSH", TH_ACK: "ACK"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedSegment:
    """One segment of a capture.

    Attributes:
        at_s: when it was sent, in seconds.
        connection: number of the connection, from the client's port.
        broker: the broker's address.
        from_client: whether the client sent it.
        flags: names of its TCP flags, in the order of `FLAGS`.
        seq: sequence number of its first byte.
        ack: sequence number of the byte that its sender expects next.
        data: its payload.
    """

    at_s: float
    connection: int
    broker: bytes
    from_client: bool
    flags: tuple[str, ...]
    seq: int
    ack: int
    data: bytes

    @property
    def length(self) -> int:
        """How many sequence numbers it takes: one per byte, and one for each end of the stream (SYN and FIN)."""
        return len(self.data) + ("SYN" in self.flags) + ("FIN" in self.flags)


def segments_of(capture: bytes) -> list[CapturedSegment]:
    """Return all segments of a capture, in the order of the file."""
    return [_segment(at_s, IP(packet)) for at_s, packet in Reader(io.BytesIO(capture))]


def _segment(at_s: float, packet: IP) -> CapturedSegment:
    tcp = packet.data
    from_client = tcp.dport == BROKER_PORT
    return CapturedSegment(
        at_s=at_s,
        connection=(tcp.sport if from_client else tcp.dport) - FIRST_CLIENT_PORT,
        broker=packet.dst if from_client else packet.src,
        from_client=from_client,
        flags=tuple(name for flag, name in FLAGS.items() if tcp.flags & flag),
        seq=tcp.seq,
        ack=tcp.ack,
        data=tcp.data,
    )


def stream_of(segments: list[CapturedSegment], connection: int, *, from_client: bool) -> bytes:
    """Reassemble what one side of a connection sent, by the sequence numbers of its segments.

    Raises:
        AssertionError: bytes are missing or duplicated.
    """
    own = [s for s in segments if (s.connection, s.from_client) == (connection, from_client)]
    stream, next_byte = b"", 0
    for segment in sorted(own, key=lambda segment: (segment.seq, segment.length)):
        if segment.seq != next_byte:
            raise AssertionError(f"byte {next_byte} was awaited, {segment.seq} came")
        stream += segment.data
        next_byte += segment.length
    return stream


REQUEST = build_request(version=0)
ANSWERED = Exchange(request=REQUEST, outcome=Outcome.ANSWER, payload=b"answer", usable=True)
STEP = Step(connection=0, pieces=(REQUEST.data,), exchanges=(ANSWERED,))
CLOSE = Step(connection=0)
CLIENT, BROKER = "client", "broker"
MORE_THAN_A_PACKET_BYTES = 200_000

END = b""
SENTINEL_ANSWER = encode_frame(sentinel_for(REQUEST.correlation_id).data[8:12] + b"table")
ARRIVING = st.lists(
    st.one_of(
        st.binary(max_size=9).map(encode_frame),
        st.binary(min_size=1, max_size=9),
        st.sampled_from([None, END, SENTINEL_ANSWER, SENTINEL_ANSWER[:6], SENTINEL_ANSWER[6:]]),
    ),
    max_size=8,
)
ACTIONS: Mapping[str, Callable[[Connection], object]] = {
    "exchange": lambda connection: connection.exchange(REQUEST),
    "converse": lambda connection: connection.converse([REQUEST, REQUEST], cuts=[3, 40]),
    "send": lambda connection: connection.send(REQUEST),
    "look": lambda connection: connection.early_bytes(),
    "end": lambda connection: connection.end_stream([REQUEST]),
    "end alone": lambda connection: connection.end_stream(),
}


@dataclass(slots=True)
class ScriptedTransport:
    """A byte stream that returns drawn pieces (None is silence), and keeps everything that went over it."""

    arriving: list[bytes | None]
    sent: bytes = b""
    given: bytes = b""

    def settimeout(self, value: float, /) -> None:
        """Do nothing, because no call waits."""

    def sendall(self, data: bytes, /) -> None:
        """Keep the data."""
        self.sent += data

    def recv(self, size: int, /) -> bytes:
        """Return the next piece; after the end of the stream, always return the end."""
        data = self.arriving[0] if self.arriving else None
        if data != END:
            del self.arriving[:1]
        if data is None:
            raise TimeoutError
        self.given += data
        return data

    def setsockopt(self, level: int, option: int, value: bytes, /) -> None:
        """Do nothing."""

    def shutdown(self, how: int, /) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _connected(transport: ScriptedTransport, journal: list[Step], *, number: int = 0, tls: bool = False) -> Connection:
    opening = Step(connection=number, listener="plaintext", tls=tls)
    return Connection(transport, silence_bound_s=0, opening=opening, journal=journal)


@given(
    streams=st.lists(ARRIVING, min_size=1, max_size=3),
    tls=st.booleans(),
    actions=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(list(ACTIONS))), max_size=8),
)
@example(
    streams=[[b"\0\0\0\5", bytes(4), SENTINEL_ANSWER]],
    tls=False,
    actions=[(0, "exchange")],
)
def test_capture_holds_what_went_over_each_connection(
    streams: list[list[bytes | None]], tls: bool, actions: list[tuple[int, str]]
) -> None:
    """For any actions and any arriving bytes, the streams of the capture equal the bytes sent and read.

    Also if the first frame ends inside the sentinel's response.
    """
    journal: list[Step] = []
    transports = [ScriptedTransport(list(arriving)) for arriving in streams]
    connections = [
        _connected(transport, journal, number=number, tls=tls) for number, transport in enumerate(transports)
    ]

    def check(number: int) -> None:
        segments = segments_of(render_capture(journal, listener="plaintext"))
        assert stream_of(segments, number, from_client=True) == transports[number].sent
        assert stream_of(segments, number, from_client=False) == transports[number].given

    ended: set[int] = set()
    for number, name in actions:
        if number < len(streams) and number not in ended:
            ACTIONS[name](connections[number])
            ended |= {number} if name.startswith("end") else set()
            # A look is not a step by itself; bytes that arrived by then belong to the next step.
            if name != "look":
                check(number)
    for number, connection in enumerate(connections):
        connection.close()
        check(number)
    captures = {render_capture(journal, listener="plaintext") for _ in range(2)}
    assert len(captures) == 1


def _packets(*steps: Step) -> list[tuple[str, str]]:
    """Return sender and flags of each packet."""
    return [
        (CLIENT if segment.from_client else BROKER, "+".join(segment.flags))
        for segment in segments_of(render_capture(steps, listener="plaintext"))
    ]


OPENED = [(CLIENT, "SYN"), (BROKER, "SYN+ACK"), (CLIENT, "ACK")]
ASKED = [(CLIENT, "PUSH+ACK"), (BROKER, "ACK")]
ANSWER = [(BROKER, "PUSH+ACK"), (CLIENT, "ACK")]
CLIENT_ENDS = [(CLIENT, "FIN+ACK"), (BROKER, "ACK")]
BROKER_ENDS = [(BROKER, "FIN+ACK"), (CLIENT, "ACK")]


def test_packets_are_those_of_tcp() -> None:
    """A connection is opened, every byte is acknowledged, and each side ends its stream at the observed time."""
    assert _packets(STEP, STEP, CLOSE) == OPENED + (ASKED + ANSWER) * 2 + CLIENT_ENDS
    assert _packets(CLOSE) == OPENED + CLIENT_ENDS
    half_closed = replace(STEP, end_of_stream=True, ended=True)
    assert _packets(half_closed, CLOSE) == OPENED + ASKED + CLIENT_ENDS + ANSWER + BROKER_ENDS
    in_pieces = replace(STEP, pieces=(REQUEST.data[:3], REQUEST.data[3:]))
    assert _packets(in_pieces) == OPENED + ASKED * 2 + ANSWER


def test_a_pause_passes_time() -> None:
    """Packets after a pause are later by its length."""
    at_once, later = (
        segments_of(render_capture(steps, listener="plaintext"))[-1].at_s
        for steps in ((STEP, STEP), (STEP, Step(connection=0, pause_s=3), STEP))
    )
    assert later == pytest.approx(at_once + 3)


def test_end_of_the_target_is_kept() -> None:
    """A connection that the target ended is also ended by the target in the capture."""
    journal: list[Step] = []
    with _connected(ScriptedTransport([END]), journal) as connection:
        assert connection.exchange(REQUEST).outcome is Outcome.CLOSED
    assert _packets(*journal) == OPENED + ASKED + BROKER_ENDS + CLIENT_ENDS


def test_every_byte_is_acknowledged_before_the_next_packet() -> None:
    """Every packet acknowledges exactly the bytes that the other side has sent so far."""
    step = replace(STEP, pieces=(bytes(MORE_THAN_A_PACKET_BYTES),), unread=b"stray")
    sent = {True: 0, False: 0}
    segments = segments_of(render_capture([step, CLOSE], listener="plaintext"))
    for segment in segments:
        assert segment.seq == sent[segment.from_client]
        assert segment.ack == sent[not segment.from_client]
        sent[segment.from_client] += segment.length
    assert sent == {
        True: MORE_THAN_A_PACKET_BYTES + 2,
        False: len(ANSWERED.received + b"stray") + 1,
    }


def test_silence_is_a_gap() -> None:
    """Silence of the target is a gap of a second."""
    silent = Exchange(request=REQUEST, outcome=Outcome.SILENT)
    steps = (STEP, replace(STEP, exchanges=(silent,)), CLOSE)
    capture = render_capture(steps, listener="plaintext")
    times_ms = [round(segment.at_s * 1000) for segment in segments_of(capture)]
    pauses_ms = [later - earlier - 1 for earlier, later in pairwise(times_ms)]
    assert [pause for pause in pauses_ms if pause] == [SILENCE_MS]


def test_closed_is_no_silence() -> None:
    """If the target ends the connection, the capture has no gap of silence."""
    closed = Exchange(request=REQUEST, outcome=Outcome.CLOSED)
    capture = render_capture([replace(STEP, exchanges=(closed,), ended=True), CLOSE], listener="plaintext")
    assert segments_of(capture)[-1].at_s < SILENCE_MS / 1000


def test_listeners_have_addresses_of_their_own() -> None:
    """The judged listener has the first address, whichever listener is used first."""
    steps = [
        Step(connection=0, listener="controller"),
        Step(connection=1, listener="plaintext"),
        Step(connection=2, listener="ssl"),
    ]
    segments = segments_of(render_capture(steps, listener="plaintext"))
    brokers = {segment.connection: IPv4Address(segment.broker) for segment in segments}
    assert brokers == {0: FIRST_BROKER + 1, 1: FIRST_BROKER, 2: FIRST_BROKER + 2}


def test_capture_of_a_hostile_target_is_cut() -> None:
    """Four megabytes and more in each of many responses make no file that readers refuse; sequence numbers go on."""
    response = bytes(2**22)
    exchange = Exchange(request=REQUEST, outcome=Outcome.ANSWER, payload=response, usable=True)
    steps = [Step(connection=0, exchanges=(exchange,)) for _ in range(6)]
    capture = render_capture(steps, listener="plaintext")
    assert MAX_CAPTURE_BYTES <= len(capture) < MAX_CAPTURE_BYTES + 2**16
    assert MAX_CAPTURE_BYTES < MAX_FILE_BYTES
    assert len(stream_of(segments_of(capture), 0, from_client=False)) > MAX_CAPTURE_BYTES // 2
