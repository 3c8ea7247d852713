"""What nodes do with ApiVersions requests while they start, run and end.

A thread for each listener asks in turns in v0, which every client falls back to, and in the newest version that lists
features. Each request has a connection of its own. A sighting is kept if it differs from the one before, so a node that
does the same for a minute costs one.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fixtures.client.addresses import Address
from fixtures.client.own_connection import NoResponse, ResponseCutOff, ask, read_table
from fixtures.errors import ConnectionFailed, ExchangeTimedOut
from strategies.api_versions import build_request
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.errors import DecodeError
from wire.headers import read_error_code

ASKED_EVERY_S = 0.005
"""Controllers of Kafka 4.4.0 answer with an error for some 10 ms while they are shut down."""
SILENCE_S = 5.0
"""How long a response is waited for; a node that does not serve requests yet keeps them until it does."""


class Reply(enum.StrEnum):
    """What a listener did with a request."""

    ANSWERED = "answered"
    CLOSED = "refused or closed"
    SILENT = "silent"
    CUT_OFF = "closed inside a response"
    NO_RESPONSE = "bytes that are no response"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What a listener of a node did with one ApiVersions request.

    Attributes:
        at_s: when, in seconds after the watch began.
        node_id: the node.
        listener: the listener's name.
        api_version: the version of the request.
        reply: what it did.
        payload: the response without its size, or the bytes that are none; empty if nothing complete came.
    """

    at_s: float
    node_id: int
    listener: str
    api_version: int
    reply: Reply
    payload: bytes = b""

    @property
    def error_code(self) -> int | None:
        """The error code of the response; None if it has none, or if there is no response."""
        return read_error_code(self.payload) if self.reply is Reply.ANSWERED else None

    @property
    def table(self) -> ApiVersionsResponse | None:
        """The response of a success; None for anything else, also for one that does not decode."""
        if self.error_code != 0:
            return None
        try:
            return read_table(self.payload, self.api_version)
        except DecodeError:
            return None

    @property
    def stable_part(self) -> object:
        """What stays the same as long as nothing changes for a client: the epoch of the features moves all the time."""
        table = self.table
        if table is None:
            return self.reply, self.error_code
        levels = {each.name: (each.min_version_level, each.max_version_level) for each in table.finalized_features}
        keys = tuple((each.api_key, each.min_version, each.max_version) for each in table.api_keys)
        return self.reply, keys, sorted(levels.items()), table.finalized_features_epoch >= 0

    def differs_from(self, other: Sighting) -> bool:
        """Return whether a client would notice a difference; the same bytes need no decoding."""
        return (self.reply, self.payload) != (other.reply, other.payload) and self.stable_part != other.stable_part


class Watch:
    """Asks listeners until it is stopped.

    Attributes:
        sightings: what was seen, in the order of time for each listener and version.
        newest_version: the newest version that is asked for.
    """

    def __init__(self, newest_version: int) -> None:
        """Prepare to ask in v0 and, if it lists features, in this version."""
        self.sightings: list[Sighting] = []
        self.newest_version = newest_version
        self._versions = (0, newest_version) if newest_version >= FIRST_FLEXIBLE_VERSION else (0,)
        self._began: float | None = None
        self._over = threading.Event()
        self._last: dict[tuple[int, str, int], Sighting] = {}

    @property
    def now_s(self) -> float:
        """The time in seconds after the watch began; 0 before that."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def last(self, node_id: int, listener: str, api_version: int = 0) -> Sighting | None:
        """Return what a listener did last; None if it was not asked yet."""
        return self._last.get((node_id, listener, api_version))

    @contextmanager
    def of(self, listeners: Sequence[tuple[int, str, Address]]) -> Iterator[None]:
        """Watch listeners, each with its node's id and its name, during the block."""
        self._began = time.monotonic()
        threads = [threading.Thread(target=self._watch, args=each, daemon=True) for each in listeners]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _watch(self, node_id: int, listener: str, address: Address) -> None:
        while not self._over.wait(ASKED_EVERY_S):
            for version in self._versions:
                reply, payload = reply_of(address, version)
                seen = Sighting(
                    at_s=self.now_s,
                    node_id=node_id,
                    listener=listener,
                    api_version=version,
                    reply=reply,
                    payload=payload,
                )
                before = self._last.get((node_id, listener, version))
                if before is None or before.differs_from(seen):
                    self.sightings.append(seen)
                self._last[node_id, listener, version] = seen


def reply_of(address: Address, api_version: int, *, silence_s: float = SILENCE_S) -> tuple[Reply, bytes]:
    """Return what a listener does with one ApiVersions request, and the response or the bytes that are none."""
    try:
        return Reply.ANSWERED, ask(address, build_request(version=api_version), bound_s=silence_s)
    except ExchangeTimedOut:
        return Reply.SILENT, b""
    except NoResponse as error:
        return Reply.NO_RESPONSE, error.received
    except ResponseCutOff:
        return Reply.CUT_OFF, b""
    except ConnectionFailed:
        return Reply.CLOSED, b""
