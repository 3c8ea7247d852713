"""Planted faults of the broker that follows KIP-1313: each breaks exactly the clauses that it names."""

from __future__ import annotations

import dataclasses
from typing import Any
from uuid import UUID

from proposals.kip_1313.broker import GIVEN_ID, InstanceIdBroker
from proposals.kip_1313.messages import OFFSET_DELETE_KEY, PUSH_TELEMETRY_KEY
from reference_model.faults.planted import Faults
from wire.api_keys import (
    API_VERSIONS_KEY,
    DESCRIBE_CLUSTER_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.headers import (
    CORRELATION_ID_BYTES,
    NO_INSTANCE_ID,
    InstanceIdHeader,
    RequestHeader,
    RequestStart,
    correlation_id_bytes,
    read_request_start,
)
from wire.message_schemas import Api

FAULTS = Faults()
"""Every planted fault, by name."""
fault = FAULTS.planting
"""Registers the decorated subclass of `InstanceIdBroker` as a fault, by the clauses that it breaks; see `reference_model.faults.planted`."""

CLIENT_ID = "KIP-1313.client-id-from-first-request"
LAYOUT = "KIP-1313.header-v3-layout"
FIRST_ID = "KIP-1313.first-id-not-zero"
CONSTANT = "KIP-1313.id-constant-on-connection"
OLD_HEADERS = "KIP-1313.old-headers-still-served"
LONGEST_ONE_BYTE_LENGTH = 127
EVERY_API = "KIP-1313.every-api-but-sasl-handshake"
OFFSET_DELETE = "KIP-1313.offset-delete-v1"
TELEMETRY = "KIP-1313.telemetry-v1"
OLD_AND_NEW = "KIP-1313.telemetry-old-and-new"
DISCOVERY = "KIP-1313.discovery-survives"


# Which client id counts for the requests of a connection


@fault(CLIENT_ID)
class ForgetsTheClientId(InstanceIdBroker):
    """Later requests have no client id at all."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        return None


@fault(CLIENT_ID)
class TakesTheClientIdOfSomeApis(InstanceIdBroker):
    """OffsetDelete keeps the client id of its own."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        if header.request_api_key == OFFSET_DELETE_KEY:
            return header.client_id
        return super().client_id_of(first, header, has_id=has_id)


@fault(CLIENT_ID)
class CutsOffTheClientId(InstanceIdBroker):
    """It keeps eight characters of the first client id."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        return (super().client_id_of(first, header, has_id=has_id) or "")[:8]


@fault(CLIENT_ID)
class TakesTheClientIdOfOlderHeaders(InstanceIdBroker):
    """It ignores the client id of later requests with header v3, and of no others."""

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        return super().client_id_of(first, header, has_id=has_id) if has_id else header.client_id


@fault(CLIENT_ID)
class TakesTheFirstHeaderWithAnIdForTheFirstRequest(InstanceIdBroker):
    """It keeps the client id of the first request with header v3."""

    def kept_client_id(self, given: str | None, *, has_id: bool) -> tuple[str | None] | None:
        return super().kept_client_id(given, has_id=has_id) if has_id else None


@fault(CLIENT_ID)
class WaitsForAClientId(InstanceIdBroker):
    """It keeps the first client id that is not null."""

    def kept_client_id(self, given: str | None, *, has_id: bool) -> tuple[str | None] | None:
        return None if given is None else super().kept_client_id(given, has_id=has_id)


# What it accepts as the header of a connection's first request, and of the later ones


@fault(LAYOUT)
class ClosesOnTagsInTheHeader(InstanceIdBroker):
    """It expects the body right after the id, and closes on a tagged field."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return not header.unknown_tagged_fields


@fault(LAYOUT)
class ReadsACompactClientId(InstanceIdBroker):
    """It takes the client id's length for a varint, and closes on a long one."""

    def can_read(self, header: InstanceIdHeader) -> bool:
        return len((header.client_id or "").encode()) <= LONGEST_ONE_BYTE_LENGTH


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
        return super().accepts_no_id(first, start) and (
            first is None or start.api_key != SASL_HANDSHAKE_KEY
        )


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


# Its table, the APIs that KIP-1313 changes, and refusals of versions that it does not know


@fault(EVERY_API)
class ForgetsMetadata(InstanceIdBroker):
    """Metadata has no version with header v3."""

    def listed(self, entry: ApiVersion) -> ApiVersion:
        return entry if entry.api_key == METADATA_KEY else super().listed(entry)


@fault(EVERY_API)
class ForgetsAnApiOfAdministrators(InstanceIdBroker):
    """DescribeCluster has no version with header v3."""

    def listed(self, entry: ApiVersion) -> ApiVersion:
        return entry if entry.api_key == DESCRIBE_CLUSTER_KEY else super().listed(entry)


@fault(EVERY_API)
class GivesSaslHandshakeAVersion(InstanceIdBroker):
    """SaslHandshake has a version with header v3 as well."""

    def listed(self, entry: ApiVersion) -> ApiVersion:
        listed = super().listed(entry)
        if entry.api_key == SASL_HANDSHAKE_KEY:
            return dataclasses.replace(listed, max_version=listed.max_version + 1)
        return listed


@fault(OFFSET_DELETE)
class AnswersOffsetDeleteInTheOldLayout(InstanceIdBroker):
    """The response to OffsetDelete v1 has the layout of v0."""

    def response_bytes(self, api: Api, version: int, number: int, message: Any) -> bytes:
        is_new = (api.api_key, version) == (OFFSET_DELETE_KEY, 1)
        return super().response_bytes(api, 0 if is_new else version, number, message)


@fault(OFFSET_DELETE)
class AnswersOffsetDeleteWithoutHeaderTags(InstanceIdBroker):
    """The response to OffsetDelete v1 has response header v0."""

    def response_bytes(self, api: Api, version: int, number: int, message: Any) -> bytes:
        response = super().response_bytes(api, version, number, message)
        if (api.api_key, version) == (OFFSET_DELETE_KEY, 1):
            return response[:CORRELATION_ID_BYTES] + response[CORRELATION_ID_BYTES + 1 :]
        return response


@fault(OFFSET_DELETE)
class AnswersOffsetDeleteWithAByteMore(InstanceIdBroker):
    """A byte follows the response to OffsetDelete v1."""

    def response_bytes(self, api: Api, version: int, number: int, message: Any) -> bytes:
        response = super().response_bytes(api, version, number, message)
        return response + b"\0" if (api.api_key, version) == (OFFSET_DELETE_KEY, 1) else response


@fault(TELEMETRY)
class AnswersTelemetryInTheOldLayout(InstanceIdBroker):
    """The response to GetTelemetrySubscriptions v1 still has an id."""

    def response_bytes(self, api: Api, version: int, number: int, message: Any) -> bytes:
        is_new = (api.api_key, version) == (GET_TELEMETRY_SUBSCRIPTIONS_KEY, 1)
        return super().response_bytes(api, 0 if is_new else version, number, message)


@fault(TELEMETRY)
class AnswersTelemetryWithoutHeaderTags(InstanceIdBroker):
    """The responses to the new versions of telemetry have response header v0."""

    def response_bytes(self, api: Api, version: int, number: int, message: Any) -> bytes:
        response = super().response_bytes(api, version, number, message)
        if api.api_key != OFFSET_DELETE_KEY and version == 1:
            return response[:CORRELATION_ID_BYTES] + response[CORRELATION_ID_BYTES + 1 :]
        return response


@fault(TELEMETRY)
class AnswersTelemetryWithAByteMore(InstanceIdBroker):
    """A byte follows the responses to the new versions of telemetry."""

    def response_bytes(self, api: Api, version: int, number: int, message: Any) -> bytes:
        response = super().response_bytes(api, version, number, message)
        is_new = api.api_key != OFFSET_DELETE_KEY and version == 1
        return response + b"\0" if is_new else response


def _is_old_telemetry(api: Api, api_version: int) -> bool:
    return api.api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY and api_version == 0


@fault(OLD_AND_NEW)
class MakesNoIds(InstanceIdBroker):
    """It leaves the id to the client, also to one of today."""

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        if _is_old_telemetry(api, api_version):
            return api.response()
        return super().response_of(api, api_version, message)


@fault(OLD_AND_NEW)
class MakesIdsForAll(InstanceIdBroker):
    """It makes an id for a client that has one."""

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        if _is_old_telemetry(api, api_version):
            return super().response_of(api, api_version, api.request())
        return super().response_of(api, api_version, message)


@fault(OLD_AND_NEW)
class ReturnsTheIdThatItGot(InstanceIdBroker):
    """It responds to a client that has an id with that id."""

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        response = super().response_of(api, api_version, message)
        if _is_old_telemetry(api, api_version) and message.client_instance_id != NO_INSTANCE_ID:
            return dataclasses.replace(response, client_instance_id=message.client_instance_id)
        return response


@fault(OLD_AND_NEW)
class RefusesMetricsUnderAnIdOfTheClient(InstanceIdBroker):
    """It takes metrics in PushTelemetry v0 only under an id that it made itself."""

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        is_push = api.api_key == PUSH_TELEMETRY_KEY and api_version == 0
        if is_push and message.client_instance_id != GIVEN_ID:
            return api.response(error_code=ErrorCode.INVALID_REQUEST)
        return super().response_of(api, api_version, message)


@fault(DISCOVERY)
class ClosesOnTheVersionAfterTheNewest(InstanceIdBroker):
    """It closes on the version after its newest one."""

    def refusal_of_version(self, request: bytes) -> bytes:
        is_next = read_request_start(request).api_version == NEWEST_VERSION + 2
        return b"" if is_next else super().refusal_of_version(request)


@fault(DISCOVERY)
class AnswersUnknownVersionsInAFlexibleLayout(InstanceIdBroker):
    """It refuses an unknown version in the layout of its newest one."""

    def refusal_of_version(self, request: bytes) -> bytes:
        body = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        return correlation_id_bytes(request) + encode(body, version=NEWEST_VERSION)


@fault(DISCOVERY)
class AnswersUnknownVersionsWithAnotherError(InstanceIdBroker):
    """It refuses an unknown version with INVALID_REQUEST."""

    def refusal_of_version(self, request: bytes) -> bytes:
        answer = super().refusal_of_version(request)
        error = ErrorCode.INVALID_REQUEST.to_bytes(2)
        return answer[:CORRELATION_ID_BYTES] + error + answer[CORRELATION_ID_BYTES + 2 :]
