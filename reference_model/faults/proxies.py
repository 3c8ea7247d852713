"""Planted faults of the model proxy: what real proxies do wrong, or could."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from reference_model.faults.planted import Faults
from reference_model.proxies.model_proxy import (
    NEWER_THAN_UPSTREAM,
    NO_RESPONSE,
    ModelProxy,
    api_versions_body,
    with_changed_body,
    with_changed_table,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES, encode_frame, read_size
from wire.header_versions import request_header_version
from wire.headers import (
    API_VERSIONS_V0_START,
    CLIENT_ID_LENGTH_END,
    CLIENT_ID_OFFSET,
    CORRELATION_ID_BYTES,
    correlation_id_bytes,
    read_error_code,
    read_request_start,
)

FAULTS = Faults()
"""Every planted fault of the model proxy, by name."""
fault = FAULTS.planting

CLIENT_ID_LENGTH = slice(CLIENT_ID_OFFSET, CLIENT_ID_LENGTH_END)
"""Position in the payload of a request."""


def _newer(entry: ApiVersion) -> ApiVersion:
    """Return an entry with versions that the upstream does not list.

    The entry for ApiVersions stays, because a proxy lists there what it knows itself.
    """
    if entry.api_key == API_VERSIONS_KEY:
        return entry
    return dataclasses.replace(entry, max_version=entry.max_version + NEWER_THAN_UPSTREAM)


@fault("PROXY.table-within-upstream")
class ListsWhatItKnowsItself(ModelProxy):
    """It lists every version that it knows, whatever its upstream serves."""

    def listed(self, entry: ApiVersion, api_version: int) -> ApiVersion:
        return _newer(entry)


@fault("PROXY.table-within-upstream")
class ListsWhatItKnowsInV0(ModelProxy):
    """It looks at its upstream's table only in the flexible versions of ApiVersions."""

    def listed(self, entry: ApiVersion, api_version: int) -> ApiVersion:
        if api_version < FIRST_FLEXIBLE_VERSION:
            return _newer(entry)
        return super().listed(entry, api_version)


@fault("PROXY.table-within-upstream")
class ListsVersionsFrom0(ModelProxy):
    """It lists versions that its upstream has removed."""

    def listed(self, entry: ApiVersion, api_version: int) -> ApiVersion:
        return dataclasses.replace(super().listed(entry, api_version), min_version=0)


@fault("PROXY.table-within-upstream")
class AddsAnApiOfItsOwn(ModelProxy):
    """It lists an API that its upstream does not have."""

    def table_passed(self, response: bytes, api_version: int) -> bytes:
        own = ApiVersion(api_key=20_001, min_version=0, max_version=1)
        return with_changed_table(super().table_passed(response, api_version), api_version, lambda table: (*table, own))


@fault("PROXY.newer-api-versions-answered")
class AnswersUnknownVersionsWithoutAnError(ModelProxy):
    """It answers a version of ApiVersions that it does not know as if that were v0."""

    def refusal(self, request: bytes) -> bytes:
        answer = super().refusal(request)
        return answer[:CORRELATION_ID_BYTES] + b"\0\0" + answer[CORRELATION_ID_BYTES + 2 :]


@fault("PROXY.newer-api-versions-answered")
class AnswersUnknownVersionsInTheFlexibleLayout(ModelProxy):
    """It answers a version of ApiVersions that it does not know in its newest layout, and not in that of v0."""

    def refusal(self, request: bytes) -> bytes:
        body = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        return correlation_id_bytes(request) + encode(body, version=FIRST_FLEXIBLE_VERSION)


@fault("PROXY.newer-api-versions-answered")
class ClosesOnTheNextVersion(ModelProxy):
    """Its decoder fails on the version after its newest one, and that ends the connection."""

    def refusal(self, request: bytes) -> bytes:
        is_next = read_request_start(request).api_version == NEWEST_VERSION + 1
        return NO_RESPONSE if is_next else super().refusal(request)


@fault("PROXY.requests-unchanged")
class DropsTheClientId(ModelProxy):
    """It replaces the client id of requests that it does not know by null."""

    def request_passed(self, request: bytes) -> bytes:
        length = int.from_bytes(request[8:10], signed=True)
        return request[:8] + b"\xff\xff" + request[10 + max(length, 0) :]


@fault("PROXY.requests-unchanged", "PROXY.responses-unchanged")
class PassesTheFirstBytesOfLongRequests(ModelProxy):
    """It loses what does not fit its buffer of 100 bytes."""

    def request_passed(self, request: bytes) -> bytes:
        return request[:100]


@fault("PROXY.requests-unchanged")
class AddsAByteToRequests(ModelProxy):
    """It appends a byte to every request that it does not know."""

    def request_passed(self, request: bytes) -> bytes:
        return request + b"\0"


@fault("PROXY.responses-unchanged")
class CutsOffTheLastByteOfResponses(ModelProxy):
    """It loses the last byte of every response that it does not know."""

    def response_passed(self, response: bytes) -> bytes:
        return response[:-1]


@fault("PROXY.responses-unchanged")
class AddsAByteToResponses(ModelProxy):
    """It appends a byte to every response that it does not know."""

    def response_passed(self, response: bytes) -> bytes:
        return response + b"\0"


@fault("PROXY.responses-unchanged")
class ChangesAByteOfResponses(ModelProxy):
    """It changes a byte in the middle of a longer response."""

    def response_passed(self, response: bytes) -> bytes:
        middle = len(response) // 2
        return response[:middle] + bytes([response[middle] ^ 1]) + response[middle + 1 :]


def _with_body(request: bytes, change: Callable[[ApiVersionsRequest], ApiVersionsRequest]) -> bytes:
    """Return an ApiVersions request with a changed body; one without names as it is."""
    try:
        decoded = api_versions_body(request)
    except DecodeError:
        return request
    if decoded is None:
        return request
    header, body = decoded
    version = header.request_api_version
    header_version = request_header_version(header.request_api_key, version)
    return encode(header, version=header_version) + encode(change(body), version=version)


@fault("PROXY.software-name-arrives")
class NamesItself(ModelProxy):
    """It announces its own name to its upstream instead of the client's."""

    def versions_request_passed(self, request: bytes) -> bytes:
        return _with_body(
            request,
            lambda body: dataclasses.replace(body, client_software_name="a-proxy", client_software_version="1"),
        )


@fault("PROXY.software-name-arrives")
class ShortensTheSoftwareVersion(ModelProxy):
    """It cuts the version of the client's software after 8 characters."""

    def versions_request_passed(self, request: bytes) -> bytes:
        return _with_body(
            request,
            lambda body: dataclasses.replace(body, client_software_version=body.client_software_version[:8]),
        )


@fault("PROXY.cluster-ids-arrive")
class DropsTheIds(ModelProxy):
    """It passes on no cluster id and no node id, so a misrouted client never learns of it."""

    def versions_request_passed(self, request: bytes) -> bytes:
        return _with_body(request, lambda body: dataclasses.replace(body, cluster_id=None, node_id=-1))


@fault("PROXY.cluster-ids-arrive")
class HidesTheDemandToRebootstrap(ModelProxy):
    """It reports REBOOTSTRAP_REQUIRED as UNKNOWN_SERVER_ERROR, because it does not know that error."""

    def table_passed(self, response: bytes, api_version: int) -> bytes:
        if read_error_code(response) == ErrorCode.REBOOTSTRAP_REQUIRED:
            unknown = ErrorCode.UNKNOWN_SERVER_ERROR.to_bytes(2, signed=True)
            return response[:CORRELATION_ID_BYTES] + unknown + response[CORRELATION_ID_BYTES + 2 :]
        return super().table_passed(response, api_version)


@fault("PROXY.cluster-ids-arrive")
class ReportsSuccessForWrongIds(ModelProxy):
    """It turns REBOOTSTRAP_REQUIRED into success with an empty table."""

    def table_passed(self, response: bytes, api_version: int) -> bytes:
        if read_error_code(response) == ErrorCode.REBOOTSTRAP_REQUIRED:
            nothing = ApiVersionsResponse(error_code=ErrorCode.NONE)
            return response[:CORRELATION_ID_BYTES] + encode(nothing, version=api_version)
        return super().table_passed(response, api_version)


@fault("PROXY.features-arrive")
class DropsTheFeatures(ModelProxy):
    """It lists no feature, neither a supported nor a finalized one."""

    def table_passed(self, response: bytes, api_version: int) -> bytes:
        return with_changed_body(
            super().table_passed(response, api_version),
            api_version,
            lambda body: dataclasses.replace(body, supported_features=(), finalized_features=()),
        )


@fault("PROXY.features-arrive")
class DropsWhatIsFinalized(ModelProxy):
    """It passes on which features are supported, but not which ones are finalized."""

    def table_passed(self, response: bytes, api_version: int) -> bytes:
        return with_changed_body(
            super().table_passed(response, api_version),
            api_version,
            lambda body: dataclasses.replace(body, finalized_features=()),
        )


@fault("PROXY.broken-upstream-closes")
class StaysSilentAfterItsUpstream(ModelProxy):
    """It keeps the client's connection open although that to its upstream is gone."""

    def closes_with_upstream(self, was_served: bool) -> bool:
        return False


@fault("PROXY.broken-upstream-closes")
class StaysSilentIfItCannotConnect(ModelProxy):
    """It keeps a new connection of a client open although it cannot connect to its upstream."""

    def closes_with_upstream(self, was_served: bool) -> bool:
        return was_served


@fault("PROXY.broken-upstream-closes")
class StaysSilentOnUsedConnections(ModelProxy):
    """It notices that its upstream is gone only when a client connects."""

    def closes_with_upstream(self, was_served: bool) -> bool:
        return not was_served


@fault("PROXY.frames-as-upstream")
class TakesAReadForARequest(ModelProxy):
    """If a size prefix ends inside the client id, it takes all bytes of the read for the request."""

    def bytes_read(self, data: bytes) -> bytes:
        payload = data[SIZE_BYTES:]
        client_id_end = CLIENT_ID_LENGTH_END + max(int.from_bytes(payload[CLIENT_ID_LENGTH], signed=True), 0)
        is_cut = CLIENT_ID_LENGTH_END <= read_size(data) < min(client_id_end, len(payload))
        return encode_frame(payload) if is_cut else super().bytes_read(data)


@fault("PROXY.frames-as-upstream")
class ReadsOnAfterARefusedSize(ModelProxy):
    """It skips a size that no frame has, and looks for the next request after it."""

    def after_refused_size(self, unread: bytes) -> bytes:
        at = unread.find(API_VERSIONS_V0_START)
        return super().after_refused_size(unread) if at < 0 else unread[at - SIZE_BYTES :]


@fault("PROXY.frames-as-upstream")
class CompletesCutRequests(ModelProxy):
    """If the body of an ApiVersions request is cut, it passes on one with a name of its own."""

    def versions_request_passed(self, request: bytes) -> bytes:
        try:
            api_versions_body(request)
        except DecodeError:
            version = read_request_start(request).api_version
            body = ApiVersionsRequest(client_software_name="a-proxy", client_software_version="1")
            no_client_id_and_no_tags = b"\xff\xff\0"
            return request[: CLIENT_ID_LENGTH.start] + no_client_id_and_no_tags + encode(body, version=version)
        return super().versions_request_passed(request)
