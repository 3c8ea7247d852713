"""Entries of request logs as sightings, and what such a log cannot show."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.watch.between_brokers import LEFT_OUT, is_broker
from conformance.watch.sightings import ClientIdentity, Sighting, Sightings
from wire.request_log import LoggedRequest
from wire.request_log_counts import MOST_COUNTED, LogCounts

LIMITS = (
    "a request log has the requests that a broker has completed; a request in a version that the broker refuses costs its "
    "connection and is not in the log",
    "a request log does not say when a program began; one whose ApiVersions requests are not in the log may have asked for "
    "versions before",
    "a request log does not distinguish a client id that is null from an empty one",
)
NO_SOFTWARE = (
    "some entries do not say which software a client is: it has not introduced itself, or the broker is older than 2.5, which "
    "does not log it"
)


class LoggedClients:
    """Adds the requests of entries to sightings.

    Entries before a client has introduced itself do not name its software. They count for the software that is known
    with the same client id, address and principal, if that is one only.

    Attributes:
        has_unnamed: whether the software of some client is unknown.
        has_brokers: whether requests were left out that a broker sent to another one.
    """

    def __init__(self, sightings: Sightings) -> None:
        self.has_unnamed = self.has_brokers = False
        self._sightings = sightings
        self._software: dict[tuple[str | None, ...], set[tuple[str | None, str | None]]] = {}
        self._brokers: set[tuple[str | None, ...]] = set()

    def add(self, requests: Mapping[LoggedRequest, int]) -> None:
        """Add further requests. A log may begin after the clients, which ask for versions on their first connection alone."""
        for request in requests:
            self._learn(request)
        clients = {
            request: self._client_of(request)
            for request in requests
            if _key(request) not in self._brokers
        }
        self.has_brokers |= len(clients) < len(requests)
        for request, client in clients.items():
            sighting = Sighting(client, request.api_key, request.api_version)
            self._sightings.add(sighting, requests[request])
            self._sightings.miss_beginning(client)

    def miss_some(self, left_out: int) -> None:
        """Remember how many requests were not counted: those of some clients may be missing."""
        self._sightings.are_incomplete |= left_out > 0

    def _learn(self, request: LoggedRequest) -> None:
        if is_broker(request.client_id, [request.api_key]):
            self._brokers.add(_key(request))
        if request.software_name is not None and len(self._software) < MOST_COUNTED:
            known = self._software.setdefault(_key(request), set())
            known.add((request.software_name, request.software_version))

    def _client_of(self, request: LoggedRequest) -> ClientIdentity:
        software = (request.software_name, request.software_version)
        known = self._software.get(_key(request), set())
        if request.software_name is None and len(known) == 1:
            (software,) = known
        self.has_unnamed |= software[0] is None
        return ClientIdentity(request.client_id, request.address, request.principal, *software)


def _key(request: LoggedRequest) -> tuple[str | None, ...]:
    return request.client_id, request.address, request.principal


def limits_of(counts: LogCounts, clients: LoggedClients) -> list[str]:
    """Return sentences about what the logs cannot show, and what in them was not read."""
    sentences = list(LIMITS)
    sentences += [NO_SOFTWARE] if clients.has_unnamed else []
    sentences += [LEFT_OUT] if clients.has_brokers else []
    counted = (
        (
            "another broker had passed the request on, and that broker's log has it",
            counts.forwarded,
        ),
        (
            "the entry cannot be read, as with a line break in a client id or at the end of a cut file",
            counts.unreadable,
        ),
        (f"there were more than {MOST_COUNTED} different requests", counts.left_out),
        ("they are no entries of a request log", counts.other_lines),
    )
    left_out = [f"lines left out because {why}: {number}" for why, number in counted if number]
    return sentences + left_out
