"""Packet captures of an example's bytes, as TCP that Wireshark decodes as Kafka.

The bytes of each connection are those of the run, in the order of its steps. Everything around them is made up, so
that equal steps produce equal files: addresses (from the documentation ranges), ports, sequence numbers and times.
For TLS the capture holds the decrypted bytes. A stream ends with FIN on the side that was seen ending it, even if the
target reset the connection: whether it closes or resets depends only on its speed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from dpkt.ip import IP, IP_PROTO_TCP
from dpkt.pcap import Writer
from dpkt.tcp import TCP, TH_ACK, TH_FIN, TH_PUSH, TH_SYN

from wire.exchange import Step

BROKER_PORT = 9092
"""Wireshark decodes this port as Kafka without configuration."""
FIRST_BROKER, CLIENT = IPv4Address("192.0.2.1"), IPv4Address("198.51.100.1")
FIRST_CLIENT_PORT = 49152
CLIENT_PORTS = 2**16 - FIRST_CLIENT_PORT
SEGMENT_BYTES = 2**15
MAX_PACKET_BYTES = 2**16 - 1
LINKTYPE_RAW = 101
"""Packets begin with their IP header, so no link layer has to be made up."""

MAX_CAPTURE_BYTES = 2**22
"""Packets beyond it are left out: a hostile target sends megabytes in each response, and readers refuse larger
files."""
PACKET_MS = 1
SILENCE_MS = 1_000


@dataclass(slots=True)
class _Side:
    """One side of a TCP connection, and the sequence number of its next byte."""

    address: IPv4Address
    port: int
    next_byte: int = 0
    has_ended: bool = False


class _PacketWriter:
    """Writes packets, each later than the one before.

    Attributes:
        now_ms: the time of the next packet.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self._file = io.BytesIO()
        self._pcap = Writer(self._file, snaplen=MAX_PACKET_BYTES, linktype=LINKTYPE_RAW)

    @property
    def content(self) -> bytes:
        """The file so far."""
        return self._file.getvalue()

    def write(self, sender: _Side, receiver: _Side, flags: int, data: bytes = b"") -> None:
        """Write one segment, unless the file is full; the next sequence number shows what is missing."""
        segment = TCP(
            sport=sender.port,
            dport=receiver.port,
            seq=sender.next_byte,
            ack=receiver.next_byte if flags & TH_ACK else 0,
            flags=flags,
            data=data,
        )
        source, destination = sender.address.packed, receiver.address.packed
        packet = IP(src=source, dst=destination, p=IP_PROTO_TCP, data=segment)
        if self._file.tell() < MAX_CAPTURE_BYTES:
            self._pcap.writepkt(packet, self.now_ms / 1000)
        self.now_ms += PACKET_MS
        sender.next_byte += len(data) + bool(flags & (TH_SYN | TH_FIN))


class _TcpConnection:
    """One connection while its packets are written."""

    def __init__(self, packets: _PacketWriter, number: int, broker: IPv4Address) -> None:
        self._packets = packets
        self._client = _Side(CLIENT, FIRST_CLIENT_PORT + number % CLIENT_PORTS)
        self._broker = _Side(broker, BROKER_PORT)
        self._unread_bytes = 0
        packets.write(self._client, self._broker, TH_SYN)
        packets.write(self._broker, self._client, TH_SYN | TH_ACK)
        packets.write(self._client, self._broker, TH_ACK)

    def do(self, step: Step) -> None:
        """Write what was sent and received in a step, and who ended the stream."""
        self._packets.now_ms += round(step.pause_s * 1000)
        for piece in step.pieces:
            self._send(self._client, self._broker, piece)
        if step.end_of_stream:
            self._end(self._client, self._broker)
        self._send(self._broker, self._client, step.received[self._unread_bytes :])
        self._unread_bytes = len(step.unread)
        if step.ended:
            self._end(self._broker, self._client)
        elif not all(exchange.usable for exchange in step.exchanges):
            self._packets.now_ms += SILENCE_MS
        if step.closes:
            self._end(self._client, self._broker)

    def _send(self, sender: _Side, receiver: _Side, data: bytes) -> None:
        for start in range(0, len(data), SEGMENT_BYTES):
            segment = data[start : start + SEGMENT_BYTES]
            self._packets.write(sender, receiver, TH_PUSH | TH_ACK, segment)
            self._packets.write(receiver, sender, TH_ACK)

    def _end(self, sender: _Side, receiver: _Side) -> None:
        if not sender.has_ended:
            sender.has_ended = True
            self._packets.write(sender, receiver, TH_FIN | TH_ACK)
            self._packets.write(receiver, sender, TH_ACK)


def render_capture(steps: Sequence[Step], *, listener: str) -> bytes:
    """Return a packet capture (pcap) of what was sent and received, up to `MAX_CAPTURE_BYTES`.

    A second without a packet means that the target was silent.

    Args:
        steps: what was done on the connections, in order.
        listener: the listener of steps that name none, at `FIRST_BROKER`; each other listener has the next address.
    """
    names = dict.fromkeys([listener, *(step.listener or listener for step in steps)])
    brokers = {name: FIRST_BROKER + number for number, name in enumerate(names)}
    packets = _PacketWriter()
    connections: dict[int, _TcpConnection] = {}
    for step in steps:
        if step.connection not in connections:
            broker = brokers[step.listener or listener]
            connections[step.connection] = _TcpConnection(packets, step.connection, broker)
        connections[step.connection].do(step)
    return packets.content
