"""Faults of a broker in what it accepts as a header of a connection's first request, and of the later ones."""

from __future__ import annotations

from uuid import UUID

from proposals.kip_1313.broker import InstanceIdBroker
from proposals.kip_1313.faults.registry import fault
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from wire.api_keys import (
    API_VERSIONS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
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


def _unreadable(why: str) -> DecodeError:
    return DecodeError(why, start=0, end=0)


@fault(LAYOUT)
class ClosesOnTagsInTheHeader(InstanceIdBroker):
    """It expects the body right after the id, and closes on a tagged field."""

    def read_header(self, payload: bytes) -> tuple[InstanceIdHeader, int]:
        header, body_at = super().read_header(payload)
        if header.unknown_tagged_fields:
            raise _unreadable("tags")
        return header, body_at


@fault(LAYOUT)
class ReadsACompactClientId(InstanceIdBroker):
    """It takes the client id's length for a varint, and closes on a long one."""

    def read_header(self, payload: bytes) -> tuple[InstanceIdHeader, int]:
        header, body_at = super().read_header(payload)
        if len((header.client_id or "").encode()) > LONGEST_ONE_BYTE_LENGTH:
            raise _unreadable("client id")
        return header, body_at


@fault(LAYOUT)
class ClosesOnAnEmptyClientId(InstanceIdBroker):
    """It takes a length of zero for the end of the header, and closes."""

    def read_header(self, payload: bytes) -> tuple[InstanceIdHeader, int]:
        header, body_at = super().read_header(payload)
        if header.client_id == "":
            raise _unreadable("client id")
        return header, body_at


@fault(FIRST_ID)
class AcceptsTheZeroId(InstanceIdBroker):
    """It looks at no id at all on a new connection."""

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        return True


@fault(FIRST_ID)
class AcceptsTheZeroIdInOffsetDelete(InstanceIdBroker):
    """It forgot the check in the first API that got header v3."""

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        return api_key == OFFSET_DELETE_KEY or super().accepts_first_id(given, api_key)


@fault(FIRST_ID)
class AcceptsTheZeroIdInTelemetry(InstanceIdBroker):
    """It takes the zero id for the wish to get one, as telemetry did before."""

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        return api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY or super().accepts_first_id(
            given, api_key
        )


@fault(CONSTANT)
class AcceptsAnyLaterId(InstanceIdBroker):
    """It checks the id of the first request alone."""

    def accepts_later_id(self, first: UUID, given: UUID, api_key: int) -> bool:
        return True


@fault(CONSTANT)
class AcceptsALaterZeroId(InstanceIdBroker):
    """It takes the zero id for "as before"."""

    def accepts_later_id(self, first: UUID, given: UUID, api_key: int) -> bool:
        return given == NO_INSTANCE_ID or super().accepts_later_id(first, given, api_key)


@fault(CONSTANT)
class AcceptsAnyIdWithAToken(InstanceIdBroker):
    """Its authenticator does not look at the id of SaslAuthenticate."""

    def accepts_later_id(self, first: UUID, given: UUID, api_key: int) -> bool:
        return api_key == SASL_AUTHENTICATE_KEY or super().accepts_later_id(first, given, api_key)


@fault(CONSTANT)
class AcceptsOlderHeadersAtAnyTime(InstanceIdBroker):
    """It serves requests without an id on a connection that has one."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        return True


@fault(CONSTANT)
class AcceptsATokenWithoutId(InstanceIdBroker):
    """It exempts SaslAuthenticate along with SaslHandshake."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        return api_key == SASL_AUTHENTICATE_KEY or super().accepts_no_id(
            first, api_key, api_version
        )


@fault(OLD_HEADERS)
class RefusesATokenWithoutId(InstanceIdBroker):
    """It authenticates only clients that have an id."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        return (
            super().accepts_no_id(first, api_key, api_version) and api_key != SASL_AUTHENTICATE_KEY
        )


@fault(CONSTANT)
class RefusesSaslHandshakeWithoutId(InstanceIdBroker):
    """It makes no exception for SaslHandshake."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        return super().accepts_no_id(first, api_key, api_version) and (
            first is None or api_key != SASL_HANDSHAKE_KEY
        )


@fault(OLD_HEADERS, OFFSET_DELETE)
class RefusesOffsetDeleteWithoutId(InstanceIdBroker):
    """It serves OffsetDelete in its new version alone."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        return super().accepts_no_id(first, api_key, api_version) and api_key != OFFSET_DELETE_KEY


@fault(OLD_HEADERS)
class RefusesOneVersionOfApiVersions(InstanceIdBroker):
    """It takes ApiVersions v2 for a request that needs an id."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        is_that = (api_key, api_version) == (API_VERSIONS_KEY, 2)
        return super().accepts_no_id(first, api_key, api_version) and not is_that


@fault(OLD_HEADERS)
class RefusesAFlexibleVersionOfApiVersions(InstanceIdBroker):
    """It takes ApiVersions v4 for a request that needs an id."""

    def accepts_no_id(self, first: UUID | None, api_key: int, api_version: int) -> bool:
        is_that = (api_key, api_version) == (API_VERSIONS_KEY, 4)
        return super().accepts_no_id(first, api_key, api_version) and not is_that
