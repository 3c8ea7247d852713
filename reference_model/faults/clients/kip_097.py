"""Faults against the clauses of KIP-97."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import Aborted, BrokerError, Hung, NoCommonVersion
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY
from wire.api_versions import ApiVersionsResponse

PRODUCE_KEY, FETCH_KEY, LIST_OFFSETS_KEY = 0, 1, 2
FETCH_OF_OLD_RELEASES = range(5, 12)

RangesIn = Callable[[Link, ApiVersionsResponse], Mapping[int, Range]]
AfterRefusal = Callable[[Link, int, bytes], int]


def _keys(response: ApiVersionsResponse) -> set[int]:
    return {entry.api_key for entry in response.api_keys}


def _is_old(response: ApiVersionsResponse) -> bool:
    """Return whether a table is that of a release from 0.11 to 2.3, as the versions of Fetch show."""
    entry = response.range_of(FETCH_KEY)
    return entry is not None and entry.max_version in FETCH_OF_OLD_RELEASES


# KIP-97.new-client-old-broker


@fault(ModelClient.ranges_in, "KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
def old_broker_is_refused_without_a_reason(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Gives a broker of an old release up with an error that does not say what it lacks."""
    if _is_old(response):
        raise BrokerError("cannot continue")
    return decide(link, response)


@fault(ModelClient.ranges_in, "KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
def old_broker_makes_it_hang(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Waits for ever if the broker is of an old release, as librdkafka's consumer does for KIP-848."""
    if _is_old(response):
        raise Hung
    return decide(link, response)


@fault(ModelClient.ranges_in, "KIP-97.new-client-old-broker", "KIP-97.mixed-cluster")
def old_broker_makes_it_abort(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Aborts if the broker is of an old release."""
    if _is_old(response):
        raise Aborted
    return decide(link, response)


@fault(
    ModelClient.version_after_refusal,
    "KIP-97.new-client-old-broker",
    "KIP-97.mixed-cluster",
    "KIP-35.client-asks-per-connection",
)
def named_range_is_taken_for_a_table_of_today(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Sends Metadata in its own newest version after a refusal that names a range, as franz-go 1.19 does."""
    if client.named_range(link, response) is not None:
        client.metadata_in(link, OWN_RANGES[METADATA_KEY][1])
    return decide(link, refused, response)


# KIP-97.unused-features-do-not-hurt


def _insisting_on(api_key: int, name: str) -> Callable[..., Mapping[int, Range]]:
    def insist(
        client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
    ) -> Mapping[int, Range]:
        keys = _keys(response)
        if METADATA_KEY in keys and api_key not in keys:
            raise NoCommonVersion(f"the broker does not support {name}")
        return decide(link, response)

    return insist


@fault(ModelClient.ranges_in, "KIP-97.unused-features-do-not-hurt")
def broker_must_take_records(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Refuses a broker that does not list Produce, although it writes no record."""
    return _insisting_on(PRODUCE_KEY, "Produce")(client, decide, link, response)


@fault(ModelClient.ranges_in, "KIP-97.unused-features-do-not-hurt")
def broker_must_give_records(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Refuses a broker that does not list Fetch, although it reads no record."""
    return _insisting_on(FETCH_KEY, "Fetch")(client, decide, link, response)


@fault(ModelClient.ranges_in, "KIP-97.unused-features-do-not-hurt")
def broker_must_know_offsets(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Refuses a broker that does not list ListOffsets, although it reads no record."""
    return _insisting_on(LIST_OFFSETS_KEY, "ListOffsets")(client, decide, link, response)
