"""Faults of a broker in which client id counts for the requests of a connection."""

from __future__ import annotations

from collections.abc import Callable

from proposals.kip_1313.broker import InstanceIdBroker
from proposals.kip_1313.faults.registry import fault
from wire.api_keys import OFFSET_DELETE_KEY

CLIENT_ID = "KIP-1313.client-id-from-first-request"

KeptClientId = Callable[..., tuple[str | None] | None]
ClientIdOf = Callable[..., str | None]


@fault(InstanceIdBroker.client_id_of, CLIENT_ID)
def forgets_the_client_id(
    broker: InstanceIdBroker,
    decide: ClientIdOf,
    first: str | None,
    given: str | None,
    api_key: int,
    *,
    has_id: bool,
) -> str | None:
    """Later requests have no client id at all."""
    return None


@fault(InstanceIdBroker.client_id_of, CLIENT_ID)
def takes_the_client_id_of_some_apis(
    broker: InstanceIdBroker,
    decide: ClientIdOf,
    first: str | None,
    given: str | None,
    api_key: int,
    *,
    has_id: bool,
) -> str | None:
    """OffsetDelete keeps the client id of its own."""
    return given if api_key == OFFSET_DELETE_KEY else decide(first, given, api_key, has_id=has_id)


@fault(InstanceIdBroker.client_id_of, CLIENT_ID)
def cuts_off_the_client_id(
    broker: InstanceIdBroker,
    decide: ClientIdOf,
    first: str | None,
    given: str | None,
    api_key: int,
    *,
    has_id: bool,
) -> str | None:
    """It keeps eight characters of the first client id."""
    return (decide(first, given, api_key, has_id=has_id) or "")[:8]


@fault(InstanceIdBroker.client_id_of, CLIENT_ID)
def takes_the_client_id_of_older_headers(
    broker: InstanceIdBroker,
    decide: ClientIdOf,
    first: str | None,
    given: str | None,
    api_key: int,
    *,
    has_id: bool,
) -> str | None:
    """It ignores the client id of later requests with header v3, and of no others."""
    return decide(first, given, api_key, has_id=has_id) if has_id else given


@fault(InstanceIdBroker.kept_client_id, CLIENT_ID)
def takes_the_first_header_with_an_id_for_the_first_request(
    broker: InstanceIdBroker, decide: KeptClientId, given: str | None, *, has_id: bool
) -> tuple[str | None] | None:
    """It keeps the client id of the first request with header v3."""
    return decide(given, has_id=has_id) if has_id else None


@fault(InstanceIdBroker.kept_client_id, CLIENT_ID)
def waits_for_a_client_id(
    broker: InstanceIdBroker, decide: KeptClientId, given: str | None, *, has_id: bool
) -> tuple[str | None] | None:
    """It keeps the first client id that is not null."""
    return None if given is None else decide(given, has_id=has_id)
