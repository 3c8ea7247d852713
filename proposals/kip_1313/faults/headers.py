"""Faults of a broker in what it accepts as a header of a connection's first request, and of the later ones."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from proposals.kip_1313.broker import InstanceIdBroker
from proposals.kip_1313.faults.registry import fault
from wire.api_keys import (
    API_VERSIONS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    OFFSET_DELETE_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.errors import DecodeError
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader

LAYOUT = "KIP-1313.header-v3-layout"
FIRST_ID = "KIP-1313.first-id-not-zero"
CONSTANT = "KIP-1313.id-constant-on-connection"
OLD_HEADERS = "KIP-1313.old-headers-still-served"
OFFSET_DELETE = "KIP-1313.offset-delete-v1"
LONGEST_ONE_BYTE_LENGTH = 127

Read = Callable[[bytes], tuple[InstanceIdHeader, int]]
AcceptsLater = Callable[[UUID, UUID, int], bool]
AcceptsNoId = Callable[[UUID | None, int, int], bool]


def _unreadable(why: str) -> DecodeError:
    return DecodeError(why, start=0, end=0)


@fault(InstanceIdBroker.read_header, LAYOUT)
def closes_on_tags_in_the_header(
    broker: InstanceIdBroker, decide: Read, payload: bytes
) -> tuple[InstanceIdHeader, int]:
    """It expects the body right after the id, and closes on a tagged field."""
    header, body_at = decide(payload)
    if header.unknown_tagged_fields:
        raise _unreadable("tags")
    return header, body_at


@fault(InstanceIdBroker.read_header, LAYOUT)
def reads_a_compact_client_id(
    broker: InstanceIdBroker, decide: Read, payload: bytes
) -> tuple[InstanceIdHeader, int]:
    """It takes the client id's length for a varint, and closes on a long one."""
    header, body_at = decide(payload)
    if len((header.client_id or "").encode()) > LONGEST_ONE_BYTE_LENGTH:
        raise _unreadable("client id")
    return header, body_at


@fault(InstanceIdBroker.read_header, LAYOUT)
def closes_on_an_empty_client_id(
    broker: InstanceIdBroker, decide: Read, payload: bytes
) -> tuple[InstanceIdHeader, int]:
    """It takes a length of zero for the end of the header, and closes."""
    header, body_at = decide(payload)
    if header.client_id == "":
        raise _unreadable("client id")
    return header, body_at


@fault(InstanceIdBroker.accepts_first_id, FIRST_ID)
def accepts_the_zero_id(
    broker: InstanceIdBroker, decide: Callable[[UUID, int], bool], given: UUID, api_key: int
) -> bool:
    """It looks at no id at all on a new connection."""
    return True


@fault(InstanceIdBroker.accepts_first_id, FIRST_ID)
def accepts_the_zero_id_in_offset_delete(
    broker: InstanceIdBroker, decide: Callable[[UUID, int], bool], given: UUID, api_key: int
) -> bool:
    """It forgot the check in the first API that got header v3."""
    return api_key == OFFSET_DELETE_KEY or decide(given, api_key)


@fault(InstanceIdBroker.accepts_first_id, FIRST_ID)
def accepts_the_zero_id_in_telemetry(
    broker: InstanceIdBroker, decide: Callable[[UUID, int], bool], given: UUID, api_key: int
) -> bool:
    """It takes the zero id for the wish to get one, as telemetry did before."""
    return api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY or decide(given, api_key)


@fault(InstanceIdBroker.accepts_later_id, CONSTANT)
def accepts_any_later_id(
    broker: InstanceIdBroker, decide: AcceptsLater, first: UUID, given: UUID, api_key: int
) -> bool:
    """It checks the id of the first request alone."""
    return True


@fault(InstanceIdBroker.accepts_later_id, CONSTANT)
def accepts_a_later_zero_id(
    broker: InstanceIdBroker, decide: AcceptsLater, first: UUID, given: UUID, api_key: int
) -> bool:
    """It takes the zero id for "as before"."""
    return given == NO_INSTANCE_ID or decide(first, given, api_key)


@fault(InstanceIdBroker.accepts_later_id, CONSTANT)
def accepts_any_id_with_a_token(
    broker: InstanceIdBroker, decide: AcceptsLater, first: UUID, given: UUID, api_key: int
) -> bool:
    """Its authenticator does not look at the id of SaslAuthenticate."""
    return api_key == SASL_AUTHENTICATE_KEY or decide(first, given, api_key)


@fault(InstanceIdBroker.accepts_no_id, CONSTANT)
def accepts_older_headers_at_any_time(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It serves requests without an id on a connection that has one."""
    return True


@fault(InstanceIdBroker.accepts_no_id, CONSTANT)
def accepts_a_token_without_id(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It exempts SaslAuthenticate along with SaslHandshake."""
    return api_key == SASL_AUTHENTICATE_KEY or decide(first, api_key, api_version)


@fault(InstanceIdBroker.accepts_no_id, OLD_HEADERS)
def refuses_a_token_without_id(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It authenticates only clients that have an id."""
    return decide(first, api_key, api_version) and api_key != SASL_AUTHENTICATE_KEY


@fault(InstanceIdBroker.accepts_no_id, CONSTANT)
def refuses_sasl_handshake_without_id(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It makes no exception for SaslHandshake."""
    return decide(first, api_key, api_version) and (first is None or api_key != SASL_HANDSHAKE_KEY)


@fault(InstanceIdBroker.accepts_no_id, OLD_HEADERS, OFFSET_DELETE)
def refuses_offset_delete_without_id(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It serves OffsetDelete in its new version alone."""
    return decide(first, api_key, api_version) and api_key != OFFSET_DELETE_KEY


@fault(InstanceIdBroker.accepts_no_id, OLD_HEADERS)
def refuses_one_version_of_api_versions(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It takes ApiVersions v2 for a request that needs an id."""
    is_that = (api_key, api_version) == (API_VERSIONS_KEY, 2)
    return decide(first, api_key, api_version) and not is_that


@fault(InstanceIdBroker.accepts_no_id, OLD_HEADERS)
def refuses_a_flexible_version_of_api_versions(
    broker: InstanceIdBroker,
    decide: AcceptsNoId,
    first: UUID | None,
    api_key: int,
    api_version: int,
) -> bool:
    """It takes ApiVersions v4 for a request that needs an id."""
    is_that = (api_key, api_version) == (API_VERSIONS_KEY, 4)
    return decide(first, api_key, api_version) and not is_that
