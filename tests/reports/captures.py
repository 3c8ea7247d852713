"""Reads a packet capture back, like a program that knows TCP but nothing about the capture's writer."""

from __future__ import annotations

import io
from dataclasses import dataclass

from dpkt.ip import IP
from dpkt.pcap import Reader
from dpkt.tcp import TH_ACK, TH_FIN, TH_PUSH, TH_SYN

from reports.run.packet_capture import BROKER_PORT, FIRST_CLIENT_PORT

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
