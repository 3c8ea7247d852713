"""Planted faults: headers and ids that a connection accepts.

They affect the first request of a connection or the later ones.
"""

from __future__ import annotations

from uuid import UUID

from proposals.kip_1313.broker import InstanceIdBroker
from proposals.kip_1313.faults.registry import (
    CONSTANT,
    FIRST_ID,
    LAYOUT,
    OFFSET_DELETE,
    OLD_HEADERS,
    fault,
)
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from wire.api_keys import (
    API_VERSIONS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader, RequestStart

MAX_ONE_BYTE_LENGTH = 127


@fault(LAYOUT)
class ClosesOnTagsInTheHeader(InstanceIdBroker):
    """It expects the body right after the id, and closes on a tagged field."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return not header.unknown_tagged_fields


@fault(LAYOUT)
class ReadsACompactClientId(InstanceIdBroker):
    """It takes the client id's length for a varint, and closes on a long one."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return len((header.client_id or "").encode()) <= MAX_ONE_BYTE_LENGTH


@fault(LAYOUT)
class ClosesOnAnEmptyClientId(InstanceIdBroker):
    """It takes a length of zero for the end of the header, and closes."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return header.client_id != ""


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
        return api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY or super().accepts_first_id(given, api_key)


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

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return True


@fault(CONSTANT)
class AcceptsATokenWithoutId(InstanceIdBroker):
    """It exempts SaslAuthenticate along with SaslHandshake."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return start.api_key == SASL_AUTHENTICATE_KEY or super().accepts_no_id(first, start)


@fault(OLD_HEADERS)
class RefusesATokenWithoutId(InstanceIdBroker):
    """It authenticates only clients that have an id."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return super().accepts_no_id(first, start) and start.api_key != SASL_AUTHENTICATE_KEY


@fault(CONSTANT)
class RefusesSaslHandshakeWithoutId(InstanceIdBroker):
    """It makes no exception for SaslHandshake."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return super().accepts_no_id(first, start) and (first is None or start.api_key != SASL_HANDSHAKE_KEY)


@fault(OLD_HEADERS, OFFSET_DELETE)
class RefusesOffsetDeleteWithoutId(InstanceIdBroker):
    """It serves OffsetDelete in its new version alone."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return super().accepts_no_id(first, start) and start.api_key != OFFSET_DELETE_KEY


@fault(OLD_HEADERS)
class RefusesOneVersionOfApiVersions(InstanceIdBroker):
    """It takes ApiVersions v2 for a request that needs an id."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return super().accepts_no_id(first, start) and start[:2] != (API_VERSIONS_KEY, 2)


@fault(OLD_HEADERS)
class RefusesAFlexibleVersionOfApiVersions(InstanceIdBroker):
    """It takes ApiVersions v4 for a request that needs an id."""

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        return super().accepts_no_id(first, start) and start[:2] != (API_VERSIONS_KEY, 4)
