"""Tables of brokers that are made to look as if they served less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.codec import decode, encode
from wire.errors import DecodeError
from wire.headers import CORRELATION_ID_BYTES


def cut_response(payload: bytes, api_version: int, ranges: Ranges) -> bytes:
    """Return a response to ApiVersions with its table cut to what `ranges` has too.

    A response that does not decode in the version of its request, such as a refusal, is returned as it is.

    Args:
        payload: the response without its size.
        api_version: the version of the request.
        ranges: the versions that are left.
    """
    try:
        response = decode(ApiVersionsResponse, payload[CORRELATION_ID_BYTES:], version=api_version)
    except DecodeError:
        return payload
    response = replace(response, api_keys=cut_entries(response.api_keys, ranges))
    return payload[:CORRELATION_ID_BYTES] + encode(response, version=api_version)


def cut_entries(entries: Sequence[ApiVersion], ranges: Ranges) -> tuple[ApiVersion, ...]:
    """Return a broker's entries, each cut to the versions that another table has too.

    The entry of ApiVersions stays as it is: the broker itself answers such a request.
    """
    return tuple(cut for each in entries if (cut := _cut(each, ranges)) is not None)


def _cut(entry: ApiVersion, ranges: Ranges) -> ApiVersion | None:
    if entry.api_key == API_VERSIONS_KEY:
        return entry
    own = ranges.get(entry.api_key)
    shared = own and own.common_with(Range(entry.min_version, entry.max_version))
    return None if shared is None else replace(entry, min_version=shared.lowest, max_version=shared.highest)
