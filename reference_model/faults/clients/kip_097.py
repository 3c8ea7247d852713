"""Faults against the clauses of KIP-97."""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import Aborted, BrokerError, Hung, NoCommonVersion
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.faults.clients.registry import fault
from wire.api_keys import (
    DESCRIBE_CLUSTER_KEY,
    FETCH_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
)
from wire.api_versions import ApiVersionsResponse

FETCH_OF_OLD_RELEASES = range(5, 12)


def _is_old(response: ApiVersionsResponse) -> bool:
    """Return whether a table is that of a release from 0.11 to 2.3, as the versions of Fetch show."""
    entry = response.range_of(FETCH_KEY)
    return entry is not None and entry.max_version in FETCH_OF_OLD_RELEASES


def _is_of_a_release(response: ApiVersionsResponse) -> bool:
    """Return whether a table is that of a release: others lack APIs, or have the same few versions of each."""
    keys = (PRODUCE_KEY, FETCH_KEY, LIST_OFFSETS_KEY)
    entries = [response.range_of(key) for key in keys]
    return len({entry.max_version for entry in entries if entry is not None}) == len(keys)


# KIP-97.new-client-old-broker


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
class OldBrokerIsRefusedWithoutAReason(ModelClient):
    """Gives a broker of an old release up with an error that does not say what it lacks."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if _is_old(response):
            raise BrokerError("cannot continue")
        return super().ranges_in(link, response)


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
class OldBrokerMakesItHang(ModelClient):
    """Waits for ever if the broker is of an old release, as librdkafka's consumer does for KIP-848."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if _is_old(response):
            raise Hung
        return super().ranges_in(link, response)


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
class OldBrokerMakesItAbort(ModelClient):
    """Aborts if the broker is of an old release."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if _is_old(response):
            raise Aborted
        return super().ranges_in(link, response)


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster", "KIP-35.client-asks-per-connection")
class NamedRangeIsTakenForATableOfToday(ModelClient):
    """Sends Metadata in its own newest version after a refusal that names a range, as franz-go 1.19 does."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if named is not None:
            self.metadata_in(link, OWN_RANGES[METADATA_KEY][1])
        return super().version_after_refusal(link, refused, named)


class _Demanding(ModelClient):
    """Refuses a broker that does not list a version of an API, with an error that names it.

    Attributes:
        key: the API.
        name: its name.
        version: the version.
    """

    key: int
    name: str
    version: int

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        entry = response.range_of(self.key)
        if entry is not None and _is_of_a_release(response) and entry.max_version < self.version:
            raise NoCommonVersion(
                f"UnsupportedVersionException: the broker does not support {self.name} v{self.version}"
            )
        return super().ranges_in(link, response)


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
class BrokerBefore27IsRefused(_Demanding):
    """Refuses every broker before 2.7 politely, although it reads no record."""

    key, name, version = FETCH_KEY, "Fetch", 12


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
class BrokerMustListWhatIsWrittenToday(_Demanding):
    """Refuses every broker before 2.1 politely, although it writes no record."""

    key, name, version = PRODUCE_KEY, "Produce", 7


@fault("KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
class BrokerMustDescribeItsCluster(ModelClient):
    """Refuses every broker before 2.8 politely, although Metadata has all that it asks for."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if _is_of_a_release(response) and response.range_of(DESCRIBE_CLUSTER_KEY) is None:
            raise NoCommonVersion("the broker is too old: it does not support DescribeCluster")
        return super().ranges_in(link, response)


@fault("KIP-97.new-client-old-broker")
class OldHandshakeIsCalledAnUnknownMechanism(ModelClient):
    """Says of a broker that lacks SaslHandshake v1 that it does not support the mechanism, which it does."""

    def authenticate(self, link: Link, username: str, password: str) -> None:
        try:
            super().authenticate(link, username, password)
        except NoCommonVersion:
            raise BrokerError("SASL mechanism PLAIN is not supported") from None


# KIP-97.unused-features-do-not-hurt


class _Insisting(ModelClient):
    """Refuses a broker that does not list one API."""

    key: int
    name: str

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        keys = {entry.api_key for entry in response.api_keys}
        if METADATA_KEY in keys and self.key not in keys:
            raise NoCommonVersion(f"the broker does not support {self.name}")
        return super().ranges_in(link, response)


@fault("KIP-97.unused-features-do-not-hurt")
class BrokerMustTakeRecords(_Insisting):
    """Refuses a broker that does not list Produce, although it writes no record."""

    key, name = PRODUCE_KEY, "Produce"


@fault("KIP-97.unused-features-do-not-hurt")
class BrokerMustGiveRecords(_Insisting):
    """Refuses a broker that does not list Fetch, although it reads no record."""

    key, name = FETCH_KEY, "Fetch"


@fault("KIP-97.unused-features-do-not-hurt")
class BrokerMustKnowOffsets(_Insisting):
    """Refuses a broker that does not list ListOffsets, although it reads no record."""

    key, name = LIST_OFFSETS_KEY, "ListOffsets"
