"""Faults of a broker in its table, in the APIs that KIP-1313 changes, and in refusals of versions that it does not know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from proposals.kip_1313.broker import GIVEN_ID, InstanceIdBroker
from proposals.kip_1313.faults.registry import fault
from wire.api_keys import (
    DESCRIBE_CLUSTER_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
    OFFSET_DELETE_KEY,
    PUSH_TELEMETRY_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.headers import (
    CORRELATION_ID_BYTES,
    NO_INSTANCE_ID,
    correlation_id_bytes,
    read_request_start,
)
from wire.message_schemas import Api

EVERY_API = "KIP-1313.every-api-but-sasl-handshake"
OFFSET_DELETE = "KIP-1313.offset-delete-v1"
TELEMETRY = "KIP-1313.telemetry-v1"
OLD_AND_NEW = "KIP-1313.telemetry-old-and-new"
DISCOVERY = "KIP-1313.discovery-survives"

Respond = Callable[[Api, int, Any], Any]
Encode = Callable[[Api, int, int, Any], bytes]


@fault(InstanceIdBroker.listed, EVERY_API)
def forgets_metadata(
    broker: InstanceIdBroker, decide: Callable[[ApiVersion], ApiVersion], entry: ApiVersion
) -> ApiVersion:
    """Metadata has no version with header v3."""
    return entry if entry.api_key == METADATA_KEY else decide(entry)


@fault(InstanceIdBroker.listed, EVERY_API)
def forgets_an_api_of_administrators(
    broker: InstanceIdBroker, decide: Callable[[ApiVersion], ApiVersion], entry: ApiVersion
) -> ApiVersion:
    """DescribeCluster has no version with header v3."""
    return entry if entry.api_key == DESCRIBE_CLUSTER_KEY else decide(entry)


@fault(InstanceIdBroker.listed, EVERY_API)
def gives_sasl_handshake_a_version(
    broker: InstanceIdBroker, decide: Callable[[ApiVersion], ApiVersion], entry: ApiVersion
) -> ApiVersion:
    """SaslHandshake has a version with header v3 as well."""
    listed = decide(entry)
    if entry.api_key == SASL_HANDSHAKE_KEY:
        return dataclasses.replace(listed, max_version=listed.max_version + 1)
    return listed


def _in_old_layout(api: Api, correlation_id: int, message: Any) -> bytes:
    return correlation_id.to_bytes(CORRELATION_ID_BYTES, signed=True) + (
        b"\0" * (0 in api.response.FLEXIBLE) + encode(message, version=0)
    )


@fault(InstanceIdBroker.response_bytes, OFFSET_DELETE)
def answers_offset_delete_in_the_old_layout(
    broker: InstanceIdBroker, decide: Encode, api: Api, version: int, number: int, message: Any
) -> bytes:
    """The response to OffsetDelete v1 has the layout of v0."""
    if (api.api_key, version) == (OFFSET_DELETE_KEY, 1):
        return _in_old_layout(api, number, message)
    return decide(api, version, number, message)


@fault(InstanceIdBroker.response_bytes, OFFSET_DELETE)
def answers_offset_delete_without_header_tags(
    broker: InstanceIdBroker, decide: Encode, api: Api, version: int, number: int, message: Any
) -> bytes:
    """The response to OffsetDelete v1 has response header v0."""
    response = decide(api, version, number, message)
    if (api.api_key, version) == (OFFSET_DELETE_KEY, 1):
        return response[:CORRELATION_ID_BYTES] + response[CORRELATION_ID_BYTES + 1 :]
    return response


@fault(InstanceIdBroker.response_bytes, OFFSET_DELETE)
def answers_offset_delete_with_a_byte_more(
    broker: InstanceIdBroker, decide: Encode, api: Api, version: int, number: int, message: Any
) -> bytes:
    """A byte follows the response to OffsetDelete v1."""
    response = decide(api, version, number, message)
    return response + b"\0" if (api.api_key, version) == (OFFSET_DELETE_KEY, 1) else response


@fault(InstanceIdBroker.response_bytes, TELEMETRY)
def answers_telemetry_in_the_old_layout(
    broker: InstanceIdBroker, decide: Encode, api: Api, version: int, number: int, message: Any
) -> bytes:
    """The response to GetTelemetrySubscriptions v1 still has an id."""
    if (api.api_key, version) == (GET_TELEMETRY_SUBSCRIPTIONS_KEY, 1):
        return _in_old_layout(api, number, message)
    return decide(api, version, number, message)


@fault(InstanceIdBroker.response_bytes, TELEMETRY)
def answers_telemetry_without_header_tags(
    broker: InstanceIdBroker, decide: Encode, api: Api, version: int, number: int, message: Any
) -> bytes:
    """The responses to the new versions of telemetry have response header v0."""
    response = decide(api, version, number, message)
    if api.api_key != OFFSET_DELETE_KEY and version == 1:
        return response[:CORRELATION_ID_BYTES] + response[CORRELATION_ID_BYTES + 1 :]
    return response


@fault(InstanceIdBroker.response_bytes, TELEMETRY)
def answers_telemetry_with_a_byte_more(
    broker: InstanceIdBroker, decide: Encode, api: Api, version: int, number: int, message: Any
) -> bytes:
    """A byte follows the responses to the new versions of telemetry."""
    response = decide(api, version, number, message)
    is_new = api.api_key != OFFSET_DELETE_KEY and version == 1
    return response + b"\0" if is_new else response


def _is_old_telemetry(api: Api, api_version: int) -> bool:
    return api.api_key == GET_TELEMETRY_SUBSCRIPTIONS_KEY and api_version == 0


@fault(InstanceIdBroker.response_of, OLD_AND_NEW)
def makes_no_ids(
    broker: InstanceIdBroker, decide: Respond, api: Api, api_version: int, message: Any
) -> Any:
    """It leaves the id to the client, also to one of today."""
    if _is_old_telemetry(api, api_version):
        return api.response()
    return decide(api, api_version, message)


@fault(InstanceIdBroker.response_of, OLD_AND_NEW)
def makes_ids_for_all(
    broker: InstanceIdBroker, decide: Respond, api: Api, api_version: int, message: Any
) -> Any:
    """It makes an id for a client that has one."""
    if _is_old_telemetry(api, api_version):
        return decide(api, api_version, api.request())
    return decide(api, api_version, message)


@fault(InstanceIdBroker.response_of, OLD_AND_NEW)
def returns_the_id_that_it_got(
    broker: InstanceIdBroker, decide: Respond, api: Api, api_version: int, message: Any
) -> Any:
    """It responds to a client that has an id with that id."""
    response = decide(api, api_version, message)
    if _is_old_telemetry(api, api_version) and message.client_instance_id != NO_INSTANCE_ID:
        return dataclasses.replace(response, client_instance_id=message.client_instance_id)
    return response


@fault(InstanceIdBroker.response_of, OLD_AND_NEW)
def refuses_metrics_under_an_id_of_the_client(
    broker: InstanceIdBroker, decide: Respond, api: Api, api_version: int, message: Any
) -> Any:
    """It takes metrics in PushTelemetry v0 only under an id that it made itself."""
    is_push = api.api_key == PUSH_TELEMETRY_KEY and api_version == 0
    if is_push and message.client_instance_id != GIVEN_ID:
        return api.response(error_code=ErrorCode.INVALID_REQUEST)
    return decide(api, api_version, message)


@fault(InstanceIdBroker.refusal_of_version, DISCOVERY)
def closes_on_the_version_after_the_newest(
    broker: InstanceIdBroker, decide: Callable[[bytes], bytes], request: bytes
) -> bytes:
    """It closes on the version after its newest one."""
    is_next = read_request_start(request).api_version == NEWEST_VERSION + 2
    return b"" if is_next else decide(request)


@fault(InstanceIdBroker.refusal_of_version, DISCOVERY)
def answers_unknown_versions_in_a_flexible_layout(
    broker: InstanceIdBroker, decide: Callable[[bytes], bytes], request: bytes
) -> bytes:
    """It refuses an unknown version in the layout of its newest one."""
    body = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return correlation_id_bytes(request) + encode(body, version=NEWEST_VERSION)


@fault(InstanceIdBroker.refusal_of_version, DISCOVERY)
def answers_unknown_versions_with_another_error(
    broker: InstanceIdBroker, decide: Callable[[bytes], bytes], request: bytes
) -> bytes:
    """It refuses an unknown version with INVALID_REQUEST."""
    answer = decide(request)
    error = ErrorCode.INVALID_REQUEST.to_bytes(2)
    return answer[:CORRELATION_ID_BYTES] + error + answer[CORRELATION_ID_BYTES + 2 :]
