"""Planted faults of the broker that follows KIP-1313: each breaks exactly the clauses that it names."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any
from uuid import UUID

from reference_model.instance_ids.model_broker import InstanceIdBroker
from reference_model.planted import Fault, planting
from wire.api_keys import (
    API_VERSIONS_KEY,
    DESCRIBE_CLUSTER_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
    OFFSET_DELETE_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.headers import (
    CORRELATION_ID_BYTES,
    NO_INSTANCE_ID,
    InstanceIdHeader,
    correlation_id_bytes,
    read_request_start,
)
from wire.message_schemas import Api

FAULTS: dict[str, Fault] = {}
"""Every planted fault, by name."""
fault = functools.partial(planting, FAULTS)

LAYOUT = "KIP-1313.header-v3-layout"
FIRST_ID = "KIP-1313.first-id-not-zero"
CONSTANT = "KIP-1313.id-constant-on-connection"
OLD_HEADERS = "KIP-1313.old-headers-still-served"
CLIENT_ID = "KIP-1313.client-id-from-first-request"
EVERY_API = "KIP-1313.every-api-but-sasl-handshake"
OFFSET_DELETE = "KIP-1313.offset-delete-v1"
TELEMETRY = "KIP-1313.telemetry-v1"
OLD_AND_NEW = "KIP-1313.telemetry-old-and-new"
DISCOVERY = "KIP-1313.discovery-survives"
LONGEST_ONE_BYTE_LENGTH = 127

Read = Callable[[bytes], tuple[InstanceIdHeader, int]]
Respond = Callable[[Api, int, Any], Any]
AcceptsNoId = Callable[[UUID | None, int, int], bool]
ClientIdOf = Callable[[str | None, str | None, int], str | None]
Encode = Callable[[Api, int, int, Any], bytes]


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
    broker: InstanceIdBroker, decide: Callable[[UUID, UUID], bool], first: UUID, given: UUID
) -> bool:
    """It checks the id of the first request alone."""
    return True


@fault(InstanceIdBroker.accepts_later_id, CONSTANT)
def accepts_a_later_zero_id(
    broker: InstanceIdBroker, decide: Callable[[UUID, UUID], bool], first: UUID, given: UUID
) -> bool:
    """It takes the zero id for "as before"."""
    return given == NO_INSTANCE_ID or decide(first, given)


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


@fault(InstanceIdBroker.client_id_of, CLIENT_ID)
def forgets_the_client_id(
    broker: InstanceIdBroker,
    decide: ClientIdOf,
    first: str | None,
    given: str | None,
    api_key: int,
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
) -> str | None:
    """OffsetDelete keeps the client id of its own."""
    return given if api_key == OFFSET_DELETE_KEY else decide(first, given, api_key)


@fault(InstanceIdBroker.client_id_of, CLIENT_ID)
def cuts_off_the_client_id(
    broker: InstanceIdBroker,
    decide: ClientIdOf,
    first: str | None,
    given: str | None,
    api_key: int,
) -> str | None:
    """It keeps eight characters of the first client id."""
    return (decide(first, given, api_key) or "")[:8]


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


@fault(InstanceIdBroker.refusal_of_version, DISCOVERY)
def closes_on_the_version_after_the_newest(
    broker: InstanceIdBroker, decide: Callable[[bytes], bytes], request: bytes
) -> bytes:
    """It reads the version after its newest one with header v3, and closes."""
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
    """It refuses an unknown version with INVALID_REQUEST, because it lacks an id."""
    answer = decide(request)
    error = ErrorCode.INVALID_REQUEST.to_bytes(2)
    return answer[:CORRELATION_ID_BYTES] + error + answer[CORRELATION_ID_BYTES + 2 :]
