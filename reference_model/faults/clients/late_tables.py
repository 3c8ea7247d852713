"""Faults of clients that do not wait for a slow broker.

They use its table for something else when it comes at last.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import ConnectionLost
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import Unreachable
from reference_model.faults.clients.registry import fault
from wire.headers import read_correlation_id

OTHER_CONNECTION = "KIP-35.client-asks-per-connection"
OTHER_REQUEST = "KIP-35.client-survives-old-broker"
SHORT_PATIENCE_MS = 1500
"""Less than a slow broker takes."""
LOOKS_EVERY_MS = 50

# KIP-35.client-asks-per-connection


class _NotWaiting(ModelClient):
    """Waits for the table of its first connection for a moment only, and leaves that connection open.

    Responses that come there later are looked for, and the client is wrong in what it does with them.
    """

    def patience_ms(self, link: Link) -> int:
        usual = super().patience_ms(link)
        return min(usual, SHORT_PATIENCE_MS) if self.is_impatient(link) else usual

    def is_impatient(self, link: Link) -> bool:
        """Return whether a response is not waited for: the first one on the first connection."""
        return link.number == 0 and "answered" not in self.notes

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        if link.number == 0:
            self.notes["answered"] = True
        return frame

    def close(self, link: Link) -> None:
        if self.is_impatient(link) and not link.reader.unread:
            self.notes["left"] = link
            self.links = {key: each for key, each in self.links.items() if each is not link}
        else:
            super().close(link)

    def late_frame(self) -> bytes | None:
        """Return what came meanwhile on the connection that was left; None if nothing did."""
        left: Link | None = self.notes.get("left")
        if left is None:
            return None
        with suppress(Unreachable):
            left.reader.receive_data(left.stream.receive(0))
        return left.reader.next_payload()


@fault(OTHER_CONNECTION)
class LateResponseIsTakenByTheNextConnection(_NotWaiting):
    """Looks for a response by its correlation id alone, whatever connection it comes on."""

    def next_frame(self, link: Link) -> bytes:
        if self.is_impatient(link) or "left" not in self.notes:
            return super().next_frame(link)
        until_ms = self.network.now_ms + self.patience_ms(link)
        while self.network.now_ms < until_ms:
            for frame in (self.late_frame(), self._own_frame(link)):
                if frame is not None and read_correlation_id(frame) == link.last_correlation_id:
                    return frame
        raise ConnectionLost("the broker did not respond in time")

    def _own_frame(self, link: Link) -> bytes | None:
        link.reader.receive_data(link.stream.receive(LOOKS_EVERY_MS))
        return link.reader.next_payload()


class _KeepingLateTables(_NotWaiting):
    """Keeps the table that came late for the broker's address."""

    def late_table(self) -> Mapping[int, Range] | None:
        """Return the table that came late; None if none came."""
        frame = self.late_frame()
        if frame is not None:
            left: Link = self.notes["left"]
            version = self.newest_version(left)
            body = self.body_of(left, version, frame)
            self.notes["late"] = self.ranges_in(left, self.decoded_response(left, version, body))
        late: Mapping[int, Range] | None = self.notes.get("late")
        return late


@fault(OTHER_CONNECTION)
class LateTableIsKeptForTheNextConnection(_KeepingLateTables):
    """Uses a table that came late in place of that for which it asks on a new connection."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        table = super().negotiated_table(link)
        return self.late_table() or table


@fault(OTHER_CONNECTION)
class LateTableReplacesThoseOfOpenConnections(_KeepingLateTables):
    """Uses a table that comes late on all connections that are open by then."""

    def table_for(self, link: Link) -> Mapping[int, Range]:
        is_open = link.table is not None
        table = super().table_for(link)
        return self.late_table() or table if is_open else table


# KIP-35.client-survives-old-broker


@fault(OTHER_REQUEST)
class LateResponseIsTakenForThatToTheNextRequest(ModelClient):
    """Asks in v0 on the same connection if no table comes for a moment, and takes the late response for that."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        until_ms = self.until_ms
        self.until_ms = min(until_ms, self.network.now_ms + SHORT_PATIENCE_MS)
        try:
            return super().negotiated_table(link)
        except ConnectionLost:
            if self.network.now_ms < self.until_ms:
                raise
        finally:
            self.until_ms = until_ms
        return self._table_from(link, 0)


@fault(OTHER_REQUEST)
class PatienceIsForAllConnectionsTogether(ModelClient):
    """Waits for slow tables no longer than for one, however many connections there are."""

    def patience_ms(self, link: Link) -> int:
        usual = super().patience_ms(link)
        return usual if link.number == 0 else min(usual, SHORT_PATIENCE_MS)


@fault(OTHER_REQUEST)
class SecondLateTableIsTakenForAnOldOne(ModelClient):
    """Takes a table that comes after seconds for one of an earlier request, if it had waited for another one before."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        began_ms = self.network.now_ms
        table = super().negotiated_table(link)
        if self.network.now_ms - began_ms < SHORT_PATIENCE_MS:
            return table
        self.notes["late"] = self.notes.get("late", 0) + 1
        if self.notes["late"] > 1:
            raise ConnectionLost("the response came too late")
        return table
