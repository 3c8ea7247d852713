"""Faults of clients with newer brokers.

They affect APIs other than Metadata, and later versions of ApiVersions.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import BrokerError, NoCommonVersion
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.clients.scripts.served_apis import NEWEST_SERVED
from reference_model.faults.clients.registry import fault
from wire.api_keys import (
    API_VERSIONS_KEY,
    FETCH_KEY,
    FIND_COORDINATOR_KEY,
    LIST_OFFSETS_KEY,
    PRODUCE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersionsResponse
from wire.codec import encode
from wire.described_messages import CLUSTER_APIS

COORDINATOR = CLUSTER_APIS[FIND_COORDINATOR_KEY]
COORDINATOR_VERSIONS: Range = (0, 6)
GROUP = "a group"

# KIP-35.client-uses-overlap, for APIs other than Metadata


class _LookingForACoordinator(ModelClient):
    """Looks for the coordinator of a group after each Metadata, as a consumer does."""

    known_keys = (*OWN_RANGES, FIND_COORDINATOR_KEY)

    def after_metadata(self, link: Link) -> None:
        super().after_metadata(link)
        version = self.coordinator_version((link.table or {}).get(FIND_COORDINATOR_KEY))
        if version is None:
            return
        layout = min(version, COORDINATOR_VERSIONS[1])
        request = COORDINATOR.request(key=GROUP, coordinator_keys=(GROUP,))
        body = encode(request, version=layout)
        header_version = COORDINATOR.request_header_version(layout)
        self.exchange(link, FIND_COORDINATOR_KEY, version, body, header_version)

    def coordinator_version(self, listed: Range | None) -> int | None:
        """Return the newest common version of FindCoordinator; None if the client has to go without it."""
        if listed is None or listed[0] > COORDINATOR_VERSIONS[1]:
            return None
        return min(listed[1], COORDINATOR_VERSIONS[1])


@fault("KIP-35.client-uses-overlap")
class MinimumOfAnotherApiIsIgnored(_LookingForACoordinator):
    """Looks at the highest version alone that a broker lists of FindCoordinator."""

    def coordinator_version(self, listed: Range | None) -> int | None:
        return None if listed is None else min(listed[1], COORDINATOR_VERSIONS[1])


@fault("KIP-35.client-uses-overlap")
class AbsentCoordinatorIsLookedFor(_LookingForACoordinator):
    """Sends FindCoordinator v0 to a broker that does not list it."""

    def coordinator_version(self, listed: Range | None) -> int | None:
        return 0 if listed is None else super().coordinator_version(listed)


@fault("KIP-35.client-uses-overlap")
class LowestListedVersionOfAnotherApiIsSent(_LookingForACoordinator):
    """Sends FindCoordinator in the lowest version that a broker lists, although it does not know it."""

    def coordinator_version(self, listed: Range | None) -> int | None:
        is_newer = listed is not None and listed[0] > COORDINATOR_VERSIONS[1]
        return listed[0] if is_newer and listed else super().coordinator_version(listed)


# KIP-97.unused-features-do-not-hurt, for raised minimums


class _RefusingNewerVersions(ModelClient):
    """Refuses a broker that lists no version of one API that the client knows, although it does not use it."""

    key: int
    newest: int

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        entry = response.range_of(self.key)
        if entry is not None and entry.max_version >= entry.min_version > self.newest:
            raise NoCommonVersion(f"the broker does not support API {self.key} v{self.newest}")
        return super().ranges_in(link, response)


@fault("KIP-97.unused-features-do-not-hurt")
class BrokerMustTakeRecordsOfToday(_RefusingNewerVersions):
    """Refuses a broker that lists only newer versions of Produce, although it writes no record."""

    key, newest = PRODUCE_KEY, 13


@fault("KIP-97.unused-features-do-not-hurt")
class BrokerMustGiveRecordsOfToday(_RefusingNewerVersions):
    """Refuses a broker that lists only newer versions of Fetch, although it reads no record."""

    key, newest = FETCH_KEY, 18


@fault("KIP-97.unused-features-do-not-hurt")
class BrokerMustKnowOffsetsOfToday(_RefusingNewerVersions):
    """Refuses a broker that lists only newer versions of ListOffsets, although it reads no record."""

    key, newest = LIST_OFFSETS_KEY, 11


# KIP-35.client-uses-overlap, for ApiVersions itself


class _ReadingItsOwnEntry(ModelClient):
    """Compares the newest version of ApiVersions that a table lists with its own one."""

    def newer_version(self, table: Mapping[int, Range]) -> int | None:
        """Return the newest version of ApiVersions in a table if no client knows it, or None.

        Versions that proposals add count as known.
        """
        listed = table.get(API_VERSIONS_KEY)
        return None if listed is None or listed[1] <= NEWEST_SERVED else listed[1]

    def api_versions_response(self, link: Link, version: int) -> bytes:
        """Ask in a version with the newest header and body that the client has."""
        if version <= NEWEST_SERVED:
            return super().api_versions_response(link, version)
        body = self.api_versions_body(link, NEWEST_VERSION)
        header_version = self._header_of_api_versions(NEWEST_VERSION)
        return self.exchange(link, API_VERSIONS_KEY, version, body, header_version)


@fault("KIP-35.client-uses-overlap")
class NewerBrokerIsRefused(_ReadingItsOwnEntry):
    """Refuses a broker that lists a later version of ApiVersions than it knows, although both share the older ones."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        table = super().ranges_in(link, response)
        if self.newer_version(table) is not None:
            raise BrokerError("the broker is newer than the client")
        return table


@fault("KIP-35.client-uses-overlap")
class NewestListedVersionIsAskedForNext(_ReadingItsOwnEntry):
    """Begins the next connection with the newest version of ApiVersions that a table lists, which it does not know."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        table = super().ranges_in(link, response)
        self.notes[link.address] = self.newer_version(table)
        return table

    def first_version(self, link: Link) -> int:
        return self.notes.pop(link.address, None) or super().first_version(link)


@fault("KIP-35.client-uses-overlap")
class NewestListedVersionIsAskedForAtOnce(_ReadingItsOwnEntry):
    """Asks again on the same connection, in the newest version of ApiVersions that the table lists."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        table = super().ranges_in(link, response)
        newer = self.newer_version(table)
        if newer is not None:
            self.api_versions_response(link, newer)
        return table


@fault("KIP-35.client-uses-overlap")
class NewerBrokerIsRefusedAfterAuthentication(_ReadingItsOwnEntry):
    """Refuses a broker that lists a later version of ApiVersions than it knows, on connections with SASL alone."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        table = super().ranges_in(link, response)
        if link.is_authenticated and self.newer_version(table) is not None:
            raise BrokerError("the broker is newer than the client")
        return table
