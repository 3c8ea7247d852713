"""Reads packet captures of plaintext traffic between clients and brokers."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.watch.between_brokers import LEFT_OUT, is_broker
from conformance.watch.captured_connection import CapturedConnection, RequestKey
from conformance.watch.sightings import ClientIdentity, Sighting, Sightings
from conformance.watch.tcp_packets import Endpoint, PacketCounts, Segment, read_segments
from reference_model.profiles.known_apis import known_apis

MOST_CONNECTIONS = 20_000
"""How many connections are read at once; the one that was silent for longest ends if there are more."""
MOST_UNANSWERED = 10_000
LIMITS = (
    "a capture does not say which user a client is authenticated as",
    "a capture has no requests of connections that are encrypted",
)


@dataclass(slots=True)
class _Totals:
    """What became of the connections and their requests.

    Attributes:
        encrypted: connections with TLS.
        unknown: connections with data in which nothing was recognized as Kafka's protocol.
        joined: connections that had begun before the capture.
        discarded: requests that no response proved.
        cut: requests of which too little was captured to know the client.
        between_brokers: connections between brokers.
        servers: the brokers that answered requests.
        unanswered: requests without any response, by broker, client and kind.
    """

    encrypted: int = 0
    unknown: int = 0
    joined: int = 0
    discarded: int = 0
    cut: int = 0
    between_brokers: int = 0
    servers: set[Endpoint] = field(default_factory=set)
    unanswered: Counter[tuple[Endpoint, Sighting]] = field(default_factory=Counter)


def read_captures(paths: Sequence[Path], sightings: Sightings) -> list[str]:
    """Read captures into sightings.

    Args:
        paths: captures (pcap or pcapng), those of one interface in the order in which they were written.
        sightings: gets the requests, and the tables of versions that brokers answered.

    Returns:
        Sentences about what captures cannot show, and what was not read.

    Raises:
        UnusableSource: a file cannot be read, or is no capture.
    """
    reader = _CaptureReader(sightings)
    counts = PacketCounts()
    for path in paths:
        for segment in read_segments(path, counts):
            reader.receive(segment)
    reader.finish()
    return [*LIMITS, *reader.skipped(), *_skipped_packets(counts)]


class _CaptureReader:
    """Sorts segments into connections, and their requests into sightings."""

    def __init__(self, sightings: Sightings) -> None:
        self._sightings = sightings
        self._open: OrderedDict[frozenset[Endpoint], CapturedConnection] = OrderedDict()
        self._totals = _Totals()

    def receive(self, segment: Segment) -> None:
        """Read one segment."""
        ends = frozenset((segment.source, segment.destination))
        is_new = segment.opens and segment.acknowledged is None
        if is_new and ends in self._open and self._open[ends].has_data:
            self._end(ends)
        if ends not in self._open:
            if not (segment.opens or segment.size):
                # The last acknowledgements of a connection that has ended.
                return
            self._open[ends] = CapturedConnection(segment)
        self._open.move_to_end(ends)
        connection = self._open[ends]
        connection.receive(segment)
        if connection.has_ended:
            self._end(ends)
        elif len(self._open) > MOST_CONNECTIONS:
            self._end(next(iter(self._open)))

    def finish(self) -> None:
        """End all connections, and count the requests that brokers left unanswered."""
        for ends in list(self._open):
            self._end(ends)
        for (server, sighting), times in self._totals.unanswered.items():
            if server in self._totals.servers:
                self._sightings.add(sighting, times)
                self._sightings.note(
                    sighting.client,
                    f"{server} closed a connection of it without any response, or the capture ended",
                )
            else:
                self._totals.discarded += times

    def skipped(self) -> list[str]:
        """Return sentences about what was left out."""
        totals = self._totals
        counted = (
            ("connections encrypted with TLS, which were not read", totals.encrypted),
            ("connections with nothing that is recognized as Kafka's protocol", totals.unknown),
            (
                "connections that had begun before the capture, whose first requests are unknown",
                totals.joined,
            ),
            (
                "requests left out because no response in the capture proves that they are requests",
                totals.discarded,
            ),
            (
                "requests left out because they are cut before the end of the client id (tcpdump -s 512 captures enough)",
                totals.cut,
            ),
        )
        said = [LEFT_OUT] if totals.between_brokers else []
        return said + [f"{what}: {number}" for what, number in counted if number]

    def _end(self, ends: frozenset[Endpoint]) -> None:
        connection = self._open.pop(ends)
        connection.finish()
        totals = self._totals
        totals.encrypted += connection.is_tls
        if connection.is_tls or not connection.has_data:
            return
        totals.cut += connection.cut
        totals.discarded += connection.discarded
        client, server = connection.client, connection.server
        if client is None or server is None or not (connection.requests or connection.unproved):
            totals.unknown += not connection.cut
            return
        if any(is_broker(kind.client_id, [kind.api_key]) for kind in connection.requests):
            totals.between_brokers += 1
        elif connection.requests:
            self._add(connection, client, server)
        elif not connection.is_complete:
            totals.discarded += connection.unproved.total()
        else:
            for kind, times in connection.unproved.items():
                if kind.api_key in known_apis() and len(totals.unanswered) < MOST_UNANSWERED:
                    totals.unanswered[server, _sighting(connection, client, kind)] += times
                else:
                    totals.discarded += times

    def _add(self, connection: CapturedConnection, client: Endpoint, server: Endpoint) -> None:
        totals = self._totals
        totals.servers.add(server)
        totals.joined += not connection.is_from_beginning
        if not connection.is_proved:
            totals.discarded += connection.unproved.total()
        for kind, times in connection.requests.items():
            sighting = _sighting(connection, client, kind)
            self._sightings.add(sighting, times, connection=(client, server))
            if not connection.is_complete:
                self._sightings.miss_beginning(sighting.client)
        if connection.table:
            tables = self._sightings.tables
            tables[str(server)] = max(tables.get(str(server), {}), connection.table, key=len)


def _sighting(connection: CapturedConnection, client: Endpoint, kind: RequestKey) -> Sighting:
    software = connection.software or (None, None)
    identity = ClientIdentity(kind.client_id, client.host, None, *software)
    return Sighting(identity, kind.api_key, kind.api_version)


def _skipped_packets(counts: PacketCounts) -> list[str]:
    counted = (
        ("packets that are no TCP segments, or of which too little was captured", counts.others),
        ("packets captured in part, which does no harm if only payloads are missing", counts.cut),
        ("captures that end in the middle of a packet", counts.unfinished),
    )
    found = [f"{what}: {number}" for what, number in counted if number]
    return found if counts.segments else [*found, "the captures have no TCP segments"]
