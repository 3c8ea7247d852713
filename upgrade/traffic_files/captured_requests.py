"""Detection of requests and responses in captured bytes.

It returns only the fields that the watcher needs.

A capture has traffic of all kinds, and may begin anywhere. So bytes count as a request only if each field of the header
is one that a client could have sent.
"""

from __future__ import annotations

from typing import NamedTuple

from upgrade.request_kinds import is_known
from wire.api_keys import API_VERSIONS_KEY, CONTROLLED_SHUTDOWN_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    NEWEST_VERSION,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from wire.codec import decode_prefix
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, read_size
from wire.header_versions import FLEXIBLE_REQUEST_HEADER
from wire.headers import (
    CLIENT_ID_LENGTH_END,
    CLIENT_ID_OFFSET,
    CORRELATION_ID_BYTES,
    RequestHeader,
    ResponseHeader,
    read_request_start,
)

MAX_REQUEST_BYTES = SOCKET_REQUEST_MAX_BYTES
MAX_RESPONSE_BYTES = 2**30
MAX_TABLE_BYTES = 64 * 1024
"""How much is kept of an ApiVersions response; that of Kafka 4.4 has less than 1 KiB."""
_MAX_SOFTWARE_BYTES = 512


class CapturedRequest(NamedTuple):
    """The header of a request.

    Attributes:
        api_key: the API.
        api_version: its version.
        correlation_id: its number.
        client_id: the client id; None if it is null or empty.
        software: name and version of the client if the request is ApiVersions and says them.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    software: tuple[str, str] | None = None


def needed_of_request(payload: bytes) -> int:
    """Return how many bytes of a request are read: its header, and the body of ApiVersions."""
    if len(payload) < CLIENT_ID_LENGTH_END:
        return CLIENT_ID_LENGTH_END
    start = read_request_start(payload)
    if not _has_client_id(start.api_key, start.api_version):
        return CLIENT_ID_OFFSET
    length = int.from_bytes(payload[CLIENT_ID_OFFSET:CLIENT_ID_LENGTH_END], signed=True)
    end = CLIENT_ID_LENGTH_END + max(length, 0)
    return end + _MAX_SOFTWARE_BYTES if _names_software(*start[:2]) else end


def read_request(payload: bytes, *, strictly: bool) -> CapturedRequest | None:
    """Read a request's header, and the software in ApiVersions; None if the bytes are no request.

    Args:
        payload: the beginning of a frame's payload, as much as `needed_of_request` says.
        strictly: whether API and version must be ones that Kafka has, or will have soon.
    """
    if len(payload) < CLIENT_ID_OFFSET:
        return None
    key, version, correlation_id = read_request_start(payload)
    if key < 0 or version < 0 or (strictly and not is_known(key, version)):
        return None
    if not _has_client_id(key, version):
        return CapturedRequest(key, version, correlation_id, None)
    length = int.from_bytes(payload[CLIENT_ID_OFFSET:CLIENT_ID_LENGTH_END], signed=True)
    written = payload[CLIENT_ID_LENGTH_END : CLIENT_ID_LENGTH_END + max(length, 0)]
    if length < -1 or len(payload) < CLIENT_ID_LENGTH_END or len(written) < length:
        return None
    try:
        client_id = written.decode()
    except UnicodeDecodeError:
        return None
    software = _software(payload, version) if _names_software(key, version) else None
    return CapturedRequest(key, version, correlation_id, client_id or None, software)


def begins_with_request(data: bytes) -> bool:
    """Return whether a segment's data begin with the frame of a request, of which the header is complete."""
    if len(data) < SIZE_BYTES + CLIENT_ID_OFFSET:
        return False
    size = read_size(data[:SIZE_BYTES])
    if not CLIENT_ID_OFFSET <= size <= MAX_REQUEST_BYTES:
        return False
    request = read_request(data[SIZE_BYTES : SIZE_BYTES + size], strictly=True)
    return request is not None and (request.client_id or "").isprintable()


def response_at(data: bytes) -> int | None:
    """Return the correlation id of a response at the start of a segment's data.

    Return None if the data cannot be a response.
    """
    if len(data) < SIZE_BYTES + CORRELATION_ID_BYTES:
        return None
    if not CORRELATION_ID_BYTES <= read_size(data[:SIZE_BYTES]) <= MAX_RESPONSE_BYTES:
        return None
    return int.from_bytes(data[SIZE_BYTES : SIZE_BYTES + CORRELATION_ID_BYTES], signed=True)


def is_tls(data: bytes) -> bool:
    """Return whether data begin with a record of TLS. Read as a size, that would be more than 300 MB."""
    return len(data) > 2 and data[0] in range(20, 24) and data[1] == 3 and data[2] in range(5)


def read_table(payload: bytes, api_version: int) -> dict[int, tuple[int, int]]:
    """Read an ApiVersions response: lowest and highest version by API key; empty if it has none or cannot be read."""
    # A broker that does not know the version answers in v0.
    for version in dict.fromkeys((min(api_version, NEWEST_VERSION), 0)):
        try:
            _, end = decode_prefix(ResponseHeader, payload, version=0)
            response, end = decode_prefix(ApiVersionsResponse, payload, version=version, offset=end)
        except DecodeError:
            continue
        if end == len(payload):
            return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    return {}


def _software(payload: bytes, version: int) -> tuple[str, str] | None:
    try:
        _, end = decode_prefix(RequestHeader, payload, version=FLEXIBLE_REQUEST_HEADER)
        body, _ = decode_prefix(ApiVersionsRequest, payload, version=min(version, NEWEST_VERSION), offset=end)
    except DecodeError:
        return None
    return body.client_software_name, body.client_software_version


def _names_software(key: int, version: int) -> bool:
    return key == API_VERSIONS_KEY and version >= FIRST_FLEXIBLE_VERSION


def _has_client_id(key: int, version: int) -> bool:
    return (key, version) != (CONTROLLED_SHUTDOWN_KEY, 0)
