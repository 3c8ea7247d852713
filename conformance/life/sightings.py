"""What nodes do with ApiVersions requests while they start, run and end.

A thread for each listener asks in turns in v0, which every client falls back to, and, once its table is known, in its
newest version, if that lists features. Each request has a connection of its own. While a node ends, several connections
ask in addition, each again as soon as it is answered: what a node does wrong then may last for some milliseconds.

A sighting is kept if it differs from the one before, so a node that does the same for a minute costs one. Those
connections see at the same time what differs, so of them only what is new is kept, with how often it was seen.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from fixtures.client.addresses import Address
from fixtures.client.own_connection import OwnConnection, Reply, ask, read_table, reply_from
from fixtures.client.transport import open_tcp
from fixtures.errors import ConnectionFailed
from strategies.api_versions import build_request
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsResponse
from wire.errors import DecodeError
from wire.headers import read_error_code

ASKED_EVERY_S = 0.005
"""Controllers of Kafka 4.4.0 answer with an error for some 10 ms while they are shut down."""
CROWD = 4
"""How many connections ask a listener in each version while its node ends. With 8 to a listener, controllers of Kafka
4.4.0 were seen to answer with errors in 7 of 8 shutdowns, with two every 5 ms in fewer than half."""
SILENCE_S = 5.0
"""How long a response is waited for; a node that does not serve requests yet keeps them until it does."""


_Key = tuple[int, str, int]
"""The id of a node, the name of a listener, and the version of a request."""


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
        times: how often it did that before it did something else.
        until_s: when it did it last.
    """

    at_s: float
    node_id: int
    listener: str
    api_version: int
    reply: Reply
    payload: bytes = b""
    times: int = 1
    until_s: float = 0.0

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
    """Asks listeners until it is stopped."""

    def __init__(self) -> None:
        """Prepare to ask."""
        self._kept: list[Sighting] = []
        self._began: float | None = None
        self._over = threading.Event()
        self._noting = threading.Lock()
        self._last: dict[_Key, Sighting] = {}
        self._places: defaultdict[_Key, list[int]] = defaultdict(list)
        """Where the kept sightings of a listener and version are among all of them."""
        self._current: dict[_Key, int] = {}
        """Where that one is which says what the listener does now, as far as its own thread has seen."""
        self._newest: dict[tuple[int, str], int] = {}

    @property
    def sightings(self) -> list[Sighting]:
        """What was seen, in the order in which it was seen first."""
        with self._noting:
            return sorted(self._kept, key=lambda each: each.at_s)

    @property
    def now_s(self) -> float:
        """The time in seconds after the watch began; 0 before that."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def last(self, node_id: int, listener: str, api_version: int = 0) -> Sighting | None:
        """Return what a listener did last; None if it was not asked yet."""
        return self._last.get((node_id, listener, api_version))

    def last_of_newest(self, node_id: int, listener: str) -> Sighting | None:
        """Return what a listener did last with its newest version; None if it was not asked yet."""
        return self.last(node_id, listener, self._newest.get((node_id, listener), 0))

    @contextmanager
    def of(self, listeners: Sequence[tuple[int, str, Address]]) -> Iterator[None]:
        """Watch listeners, each with its node's id and its name, during the block."""
        self._began = time.monotonic()
        with _threads((partial(self._ask_in_turns, *each) for each in listeners), self._over):
            yield

    @contextmanager
    def crowd(self, node_id: int, addresses: Mapping[str, Address]) -> Iterator[None]:
        """Ask the listeners of a node by several connections as well during the block."""
        over = threading.Event()
        asks = [
            partial(self._ask_again, node_id, name, address, version, over)
            for name, address in addresses.items()
            for version in self._versions(node_id, name)
        ]
        with _threads(asks * CROWD, over):
            yield

    def _versions(self, node_id: int, listener: str) -> Sequence[int]:
        newest = self._newest.get((node_id, listener), 0)
        return (0, newest) if newest >= FIRST_FLEXIBLE_VERSION else (0,)

    def _ask_in_turns(self, node_id: int, listener: str, address: Address) -> None:
        while not self._over.wait(ASKED_EVERY_S):
            for version in self._versions(node_id, listener):
                self._note(node_id, listener, version, *reply_of(address, version))

    def _ask_again(self, node_id: int, listener: str, address: Address, version: int, over: threading.Event) -> None:
        while not over.wait(ASKED_EVERY_S):
            for reply, payload in replies_of(address, version, over):
                self._note_one_of_many(node_id, listener, version, reply, payload)

    def _note(self, node_id: int, listener: str, api_version: int, reply: Reply, payload: bytes) -> None:
        with self._noting:
            key = node_id, listener, api_version
            seen = self._sighting(key, reply, payload)
            before, self._last[key] = self._last.get(key), seen
            if before is not None and not before.differs_from(seen):
                self._saw_again(self._current[key])
                return
            places = self._places[key]
            if not places or self._kept[places[-1]].differs_from(seen):
                self._keep(key, seen)
            else:
                self._saw_again(places[-1])
            self._current[key] = places[-1]
            for entry in () if seen.table is None else seen.table.api_keys:
                if entry.api_key == API_VERSIONS_KEY:
                    self._newest[node_id, listener] = min(entry.max_version, NEWEST_VERSION)

    def _note_one_of_many(self, node_id: int, listener: str, api_version: int, reply: Reply, payload: bytes) -> None:
        with self._noting:
            key = node_id, listener, api_version
            seen = self._sighting(key, reply, payload)
            for place in self._places[key]:
                if not self._kept[place].differs_from(seen):
                    self._saw_again(place)
                    return
            self._keep(key, seen)

    def _sighting(self, key: _Key, reply: Reply, payload: bytes) -> Sighting:
        node_id, listener, api_version = key
        return Sighting(
            at_s=self.now_s,
            node_id=node_id,
            listener=listener,
            api_version=api_version,
            reply=reply,
            payload=payload,
            until_s=self.now_s,
        )

    def _keep(self, key: _Key, seen: Sighting) -> None:
        self._places[key].append(len(self._kept))
        self._kept.append(seen)

    def _saw_again(self, place: int) -> None:
        kept = self._kept[place]
        self._kept[place] = replace(kept, times=kept.times + 1, until_s=self.now_s)


@contextmanager
def _threads(targets: Iterable[Callable[[], None]], over: threading.Event) -> Iterator[None]:
    """Run functions in threads during the block; at its end, `over` is set and each is waited for."""
    threads = [threading.Thread(target=each, daemon=True) for each in targets]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def reply_of(address: Address, api_version: int, *, silence_s: float = SILENCE_S) -> tuple[Reply, bytes]:
    """Return what a listener does with one ApiVersions request, and the response or the bytes that are none."""
    request = build_request(version=api_version)
    return reply_from(lambda: ask(address, request, bound_s=silence_s))


def replies_of(address: Address, api_version: int, over: threading.Event) -> Iterator[tuple[Reply, bytes]]:
    """Yield what a listener does with ApiVersions requests on one connection.

    Each is sent after the response to the one before. The connection ends with the first request that has none, or
    once `over` is set.
    """
    request = build_request(version=api_version)
    try:
        transport = open_tcp(address)
    except ConnectionFailed:
        yield Reply.CLOSED, b""
        return
    with closing(transport):
        connection = OwnConnection(transport, address, bound_s=SILENCE_S)
        reply = Reply.ANSWERED
        while reply is Reply.ANSWERED and not over.is_set():
            reply, payload = reply_from(lambda: connection.ask_for_own(request))
            yield reply, payload
