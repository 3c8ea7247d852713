"""Planted faults: tables, APIs that KIP-1313 changes, unknown versions.

The faults about unknown versions change how the broker refuses them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from proposals.kip_1313.broker import GIVEN_ID, InstanceIdBroker
from proposals.kip_1313.faults.registry import (
    DISCOVERY,
    EVERY_API,
    OFFSET_DELETE,
    OLD_AND_NEW,
    TELEMETRY,
    fault,
)
from proposals.kip_1313.messages import OFFSET_DELETE_KEY, PUSH_TELEMETRY_KEY
from wire.api_keys import (
    DESCRIBE_CLUSTER_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.headers import (
    CORRELATION_ID_BYTES,
    correlation_id_bytes,
    read_request_start,
)
from wire.message_schemas import Api


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
class MakesIdsForThoseOfClients(InstanceIdBroker):
    """It makes an id for a client whose id it did not make itself."""

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        if _is_old_telemetry(api, api_version) and message.client_instance_id != GIVEN_ID:
            return super().response_of(api, api_version, api.request())
        return super().response_of(api, api_version, message)


@fault(OLD_AND_NEW)
class LooksAtHalfOfAnId(InstanceIdBroker):
    """It makes an id for a client whose id begins with eight bytes that are zero."""

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        if _is_old_telemetry(api, api_version) and not message.client_instance_id.int >> 64:
            return super().response_of(api, api_version, api.request())
        return super().response_of(api, api_version, message)


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
