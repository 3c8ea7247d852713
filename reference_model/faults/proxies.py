"""Planted faults of the model proxy: what real proxies do wrong, or could."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from reference_model.faults.planted import Fault, planting
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
from wire.headers import (
    CORRELATION_ID_BYTES,
    correlation_id_bytes,
    read_error_code,
    read_request_start,
    request_header_version,
)

FAULTS: dict[str, Fault] = {}
"""Every planted fault of the model proxy, by name."""
fault = functools.partial(planting, FAULTS)

CLIENT_ID_LENGTH = slice(8, 10)
CLIENT_ID_START = 10
"""Positions in the payload of a request."""
API_VERSIONS_V0 = API_VERSIONS_KEY.to_bytes(2) + b"\0\0"
List = Callable[[ApiVersion, int], ApiVersion]
Pass = Callable[[bytes], bytes]


def _up_to(entry: ApiVersion, newest: int) -> ApiVersion:
    return dataclasses.replace(entry, max_version=newest)


@fault(ModelProxy.listed, "PROXY.table-within-upstream")
def lists_what_it_knows_itself(
    proxy: ModelProxy, decide: List, entry: ApiVersion, api_version: int
) -> ApiVersion:
    """It lists every version that it knows, whatever its upstream serves."""
    return _up_to(entry, entry.max_version + NEWER_THAN_UPSTREAM)


@fault(ModelProxy.listed, "PROXY.table-within-upstream")
def lists_what_it_knows_in_v0(
    proxy: ModelProxy, decide: List, entry: ApiVersion, api_version: int
) -> ApiVersion:
    """It looks at its upstream's table only in the flexible versions of ApiVersions."""
    if api_version < FIRST_FLEXIBLE_VERSION:
        return _up_to(entry, entry.max_version + NEWER_THAN_UPSTREAM)
    return decide(entry, api_version)


@fault(ModelProxy.listed, "PROXY.table-within-upstream")
def lists_versions_from_0(
    proxy: ModelProxy, decide: List, entry: ApiVersion, api_version: int
) -> ApiVersion:
    """It lists versions that its upstream has removed."""
    return dataclasses.replace(decide(entry, api_version), min_version=0)


@fault(ModelProxy.table_passed, "PROXY.table-within-upstream")
def adds_an_api_of_its_own(
    proxy: ModelProxy, decide: Callable[[bytes, int], bytes], response: bytes, api_version: int
) -> bytes:
    """It lists an API that its upstream does not have."""
    own = ApiVersion(api_key=20_001, min_version=0, max_version=1)
    return with_changed_table(
        decide(response, api_version), api_version, lambda table: (*table, own)
    )


@fault(ModelProxy.refusal, "PROXY.newer-api-versions-answered")
def answers_unknown_versions_without_an_error(
    proxy: ModelProxy, decide: Pass, request: bytes
) -> bytes:
    """It answers a version of ApiVersions that it does not know as if that were v0."""
    answer = decide(request)
    return answer[:CORRELATION_ID_BYTES] + b"\0\0" + answer[CORRELATION_ID_BYTES + 2 :]


@fault(ModelProxy.refusal, "PROXY.newer-api-versions-answered")
def answers_unknown_versions_in_the_flexible_layout(
    proxy: ModelProxy, decide: Pass, request: bytes
) -> bytes:
    """It answers a version of ApiVersions that it does not know in its newest layout, and not in that of v0."""
    body = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return correlation_id_bytes(request) + encode(body, version=FIRST_FLEXIBLE_VERSION)


@fault(ModelProxy.refusal, "PROXY.newer-api-versions-answered")
def closes_on_the_next_version(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """Its decoder fails on the version after its newest one, and that ends the connection."""
    is_next = read_request_start(request).api_version == NEWEST_VERSION + 1
    return NO_RESPONSE if is_next else decide(request)


@fault(ModelProxy.request_passed, "PROXY.requests-unchanged")
def drops_the_client_id(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """It replaces the client id of requests that it does not know by null."""
    length = int.from_bytes(request[8:10], signed=True)
    return request[:8] + b"\xff\xff" + request[10 + max(length, 0) :]


@fault(ModelProxy.request_passed, "PROXY.requests-unchanged", "PROXY.responses-unchanged")
def passes_the_first_bytes_of_long_requests(
    proxy: ModelProxy, decide: Pass, request: bytes
) -> bytes:
    """It loses what does not fit its buffer of 100 bytes."""
    return request[:100]


@fault(ModelProxy.request_passed, "PROXY.requests-unchanged")
def adds_a_byte_to_requests(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """It appends a byte to every request that it does not know."""
    return request + b"\0"


@fault(ModelProxy.response_passed, "PROXY.responses-unchanged")
def cuts_off_the_last_byte_of_responses(proxy: ModelProxy, decide: Pass, response: bytes) -> bytes:
    """It loses the last byte of every response that it does not know."""
    return response[:-1]


@fault(ModelProxy.response_passed, "PROXY.responses-unchanged")
def adds_a_byte_to_responses(proxy: ModelProxy, decide: Pass, response: bytes) -> bytes:
    """It appends a byte to every response that it does not know."""
    return response + b"\0"


@fault(ModelProxy.response_passed, "PROXY.responses-unchanged")
def changes_a_byte_of_responses(proxy: ModelProxy, decide: Pass, response: bytes) -> bytes:
    """It changes a byte in the middle of a longer response."""
    middle = len(response) // 2
    return response[:middle] + bytes([response[middle] ^ 1]) + response[middle + 1 :]


def _with_body(request: bytes, change: Callable[[ApiVersionsRequest], ApiVersionsRequest]) -> bytes:
    """Return an ApiVersions request with a changed body; one without names as it is."""
    try:
        found = api_versions_body(request)
    except DecodeError:
        return request
    if found is None:
        return request
    header, body = found
    version = header.request_api_version
    header_version = request_header_version(header.request_api_key, version)
    return encode(header, version=header_version) + encode(change(body), version=version)


@fault(ModelProxy.versions_request_passed, "PROXY.software-name-arrives")
def names_itself(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """It announces its own name to its upstream instead of the client's."""
    return _with_body(
        request,
        lambda body: dataclasses.replace(
            body, client_software_name="a-proxy", client_software_version="1"
        ),
    )


@fault(ModelProxy.versions_request_passed, "PROXY.software-name-arrives")
def shortens_the_software_version(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """It cuts the version of the client's software after 8 characters."""
    return _with_body(
        request,
        lambda body: dataclasses.replace(
            body, client_software_version=body.client_software_version[:8]
        ),
    )


@fault(ModelProxy.versions_request_passed, "PROXY.cluster-ids-arrive")
def drops_the_ids(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """It passes on no cluster id and no node id, so a misrouted client never learns of it."""
    return _with_body(request, lambda body: dataclasses.replace(body, cluster_id=None, node_id=-1))


@fault(ModelProxy.table_passed, "PROXY.cluster-ids-arrive")
def hides_the_demand_to_rebootstrap(
    proxy: ModelProxy, decide: Callable[[bytes, int], bytes], response: bytes, api_version: int
) -> bytes:
    """It reports REBOOTSTRAP_REQUIRED as UNKNOWN_SERVER_ERROR, because it does not know that error."""
    if read_error_code(response) == ErrorCode.REBOOTSTRAP_REQUIRED:
        unknown = ErrorCode.UNKNOWN_SERVER_ERROR.to_bytes(2, signed=True)
        return response[:CORRELATION_ID_BYTES] + unknown + response[CORRELATION_ID_BYTES + 2 :]
    return decide(response, api_version)


@fault(ModelProxy.table_passed, "PROXY.cluster-ids-arrive")
def reports_success_for_wrong_ids(
    proxy: ModelProxy, decide: Callable[[bytes, int], bytes], response: bytes, api_version: int
) -> bytes:
    """It turns REBOOTSTRAP_REQUIRED into success with an empty table."""
    if read_error_code(response) == ErrorCode.REBOOTSTRAP_REQUIRED:
        nothing = ApiVersionsResponse(error_code=ErrorCode.NONE)
        return response[:CORRELATION_ID_BYTES] + encode(nothing, version=api_version)
    return decide(response, api_version)


@fault(ModelProxy.table_passed, "PROXY.features-arrive")
def drops_the_features(
    proxy: ModelProxy, decide: Callable[[bytes, int], bytes], response: bytes, api_version: int
) -> bytes:
    """It lists no feature, neither a supported nor a finalized one."""
    return with_changed_body(
        decide(response, api_version),
        api_version,
        lambda body: dataclasses.replace(body, supported_features=(), finalized_features=()),
    )


@fault(ModelProxy.table_passed, "PROXY.features-arrive")
def drops_what_is_finalized(
    proxy: ModelProxy, decide: Callable[[bytes, int], bytes], response: bytes, api_version: int
) -> bytes:
    """It passes on which features are supported, but not which ones are finalized."""
    return with_changed_body(
        decide(response, api_version),
        api_version,
        lambda body: dataclasses.replace(body, finalized_features=()),
    )


@fault(ModelProxy.closes_with_upstream, "PROXY.broken-upstream-closes")
def stays_silent_after_its_upstream(
    proxy: ModelProxy, decide: Callable[[bool], bool], was_served: bool
) -> bool:
    """It keeps the client's connection open although that to its upstream is gone."""
    return False


@fault(ModelProxy.closes_with_upstream, "PROXY.broken-upstream-closes")
def stays_silent_if_it_cannot_connect(
    proxy: ModelProxy, decide: Callable[[bool], bool], was_served: bool
) -> bool:
    """It keeps a new connection of a client open although it cannot connect to its upstream."""
    return was_served


@fault(ModelProxy.closes_with_upstream, "PROXY.broken-upstream-closes")
def stays_silent_on_used_connections(
    proxy: ModelProxy, decide: Callable[[bool], bool], was_served: bool
) -> bool:
    """It notices that its upstream is gone only when a client connects."""
    return not was_served


@fault(ModelProxy.bytes_read, "PROXY.frames-as-upstream")
def takes_a_read_for_a_request(proxy: ModelProxy, decide: Pass, data: bytes) -> bytes:
    """If a size prefix ends inside the client id, it takes all bytes of the read for the request."""
    payload = data[SIZE_BYTES:]
    client_id_end = CLIENT_ID_START + max(int.from_bytes(payload[CLIENT_ID_LENGTH], signed=True), 0)
    is_cut = CLIENT_ID_START <= read_size(data) < min(client_id_end, len(payload))
    return encode_frame(payload) if is_cut else decide(data)


@fault(ModelProxy.after_refused_size, "PROXY.frames-as-upstream")
def reads_on_after_a_refused_size(proxy: ModelProxy, decide: Pass, unread: bytes) -> bytes:
    """It skips a size that no frame has, and looks for the next request after it."""
    at = unread.find(API_VERSIONS_V0)
    return decide(unread) if at < 0 else unread[at - SIZE_BYTES :]


@fault(ModelProxy.versions_request_passed, "PROXY.frames-as-upstream")
def completes_cut_requests(proxy: ModelProxy, decide: Pass, request: bytes) -> bytes:
    """If the body of an ApiVersions request is cut, it passes on one with a name of its own."""
    try:
        api_versions_body(request)
    except DecodeError:
        version = read_request_start(request).api_version
        body = ApiVersionsRequest(client_software_name="a-proxy", client_software_version="1")
        no_client_id_and_no_tags = b"\xff\xff\0"
        return (
            request[: CLIENT_ID_LENGTH.start]
            + no_client_id_and_no_tags
            + encode(body, version=version)
        )
    return decide(request)
