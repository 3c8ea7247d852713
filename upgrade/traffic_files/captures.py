"""Reads packet captures of plaintext traffic between clients and brokers."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from reference_model.profiles.known_apis import known_apis
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests
from upgrade.request_kinds import BROKERS_LEFT_OUT, is_broker
from upgrade.traffic_files.captured_connection import CapturedConnection, RequestKey
from upgrade.traffic_files.tcp_packets import Endpoint, Packets, Segment, read_segments

MAX_CONNECTIONS = 20_000
"""How many connections are read at once; the one that was silent for longest ends if there are more."""
MAX_UNANSWERED = 10_000
LIMITS = (
    "a capture does not say which user a client is authenticated as",
    "a capture has no requests of connections that are encrypted",
)


class _LeftOut(StrEnum):
    """What was not read, in words that its number follows."""

    ENCRYPTED = "connections encrypted with TLS, which were not read"
    UNKNOWN = "connections with nothing that is recognized as Kafka's protocol"
    JOINED = "connections that had begun before the capture, whose first requests are unknown"
    DISCARDED = "requests left out because no response in the capture proves that they are requests"
    CUT = "requests left out because they are cut before the end of the client id (tcpdump -s 512 captures enough)"


def read_captures(paths: Sequence[Path], observed: ObservedRequests) -> list[str]:
    """Read captures into observed requests.

    Args:
        paths: captures (pcap or pcapng), those of one interface in the order in which they were written.
        observed: gets the requests, and the tables of versions that brokers answered.

    Returns:
        Sentences about what captures cannot show, and what was not read.

    Raises:
        UnusableSource: a file cannot be read, or is no capture.
    """
    reader = _CaptureReader(observed)
    counts: Counter[Packets] = Counter()
    has_segments = False
    for path in paths:
        for segment in read_segments(path, counts):
            reader.receive(segment)
            has_segments = True
    reader.finish()
    packets = [f"{what}: {counts[what]}" for what in Packets if counts[what]]
    none = [] if has_segments else ["the captures have no TCP segments"]
    return [*LIMITS, *reader.skipped(), *packets, *none]


class _CaptureReader:
    """Sorts segments into connections, and their requests into observed requests."""

    def __init__(self, observed: ObservedRequests) -> None:
        self._observed = observed
        self._open: OrderedDict[frozenset[Endpoint], CapturedConnection] = OrderedDict()
        self._left_out: Counter[_LeftOut] = Counter()
        self._has_brokers = False
        self._servers: set[Endpoint] = set()
        self._unanswered: Counter[tuple[Endpoint, ClientIdentity, RequestKey]] = Counter()

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
        elif len(self._open) > MAX_CONNECTIONS:
            self._end(next(iter(self._open)))

    def finish(self) -> None:
        """End all connections, and count the requests that brokers left unanswered."""
        for ends in list(self._open):
            self._end(ends)
        for (server, client, kind), times in self._unanswered.items():
            if server in self._servers:
                self._observed.add(client, kind.api_key, kind.api_version, times)
                self._observed.note(
                    client,
                    f"{server} closed a connection of it without any response, or the capture ended",
                )
            else:
                self._left_out[_LeftOut.DISCARDED] += times

    def skipped(self) -> list[str]:
        """Return sentences about what was left out."""
        brokers = [BROKERS_LEFT_OUT] if self._has_brokers else []
        left_out = self._left_out
        return brokers + [f"{what}: {left_out[what]}" for what in _LeftOut if left_out[what]]

    def _end(self, ends: frozenset[Endpoint]) -> None:
        connection = self._open.pop(ends)
        connection.finish()
        left_out = self._left_out
        left_out[_LeftOut.ENCRYPTED] += connection.is_tls
        if connection.is_tls or not connection.has_data:
            return
        left_out[_LeftOut.CUT] += connection.cut
        left_out[_LeftOut.DISCARDED] += connection.discarded
        client, server = connection.client, connection.server
        if client is None or server is None or not (connection.requests or connection.unproved):
            left_out[_LeftOut.UNKNOWN] += not connection.cut
            return
        if any(is_broker(kind.client_id, [kind.api_key]) for kind in connection.requests):
            self._has_brokers = True
        elif connection.requests:
            self._add(connection, client, server)
        elif not connection.is_complete:
            left_out[_LeftOut.DISCARDED] += connection.unproved.total()
        else:
            for kind, times in connection.unproved.items():
                if kind.api_key in known_apis() and len(self._unanswered) < MAX_UNANSWERED:
                    self._unanswered[server, _identity(connection, client, kind), kind] += times
                else:
                    left_out[_LeftOut.DISCARDED] += times

    def _add(self, connection: CapturedConnection, client: Endpoint, server: Endpoint) -> None:
        self._servers.add(server)
        self._left_out[_LeftOut.JOINED] += not connection.is_from_beginning
        if not connection.is_proved:
            self._left_out[_LeftOut.DISCARDED] += connection.unproved.total()
        for kind, times in connection.requests.items():
            identity = _identity(connection, client, kind)
            self._observed.add(identity, kind.api_key, kind.api_version, times, connection=(client, server))
            if not connection.is_complete:
                self._observed.of(identity).missed_beginning = True
        if connection.table:
            tables = self._observed.tables
            tables[str(server)] = max(tables.get(str(server), {}), connection.table, key=len)


def _identity(connection: CapturedConnection, client: Endpoint, kind: RequestKey) -> ClientIdentity:
    software = connection.software or (None, None)
    return ClientIdentity(kind.client_id, client.host, None, *software)
