"""The bytes of a scripted answer to ApiVersions."""

from __future__ import annotations

import functools

from reference_model.clients.scripts.script import Answer, Table
from wire import primitives
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_ZERO_MINIMUM,
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.codec import encode
from wire.frames import encode_frame
from wire.primitives import NO_TAGS, TaggedField

_UINT32_VALUES = 1 << 32


def answer_bytes(answer: Answer, *, api_version: int, correlation_id: int) -> bytes:
    """Return the frame of an answer, which may be wrong in any way that the script says.

    Raises:
        EncodeError: a value of the script does not fit its field.
    """
    if answer.raw is not None:
        return answer.raw
    body = _body(answer, api_version) if answer.body is None else answer.body
    header = ((correlation_id + answer.correlation_shift) % _UINT32_VALUES).to_bytes(4)
    header += NO_TAGS if answer.flexible_header else b""
    payload = header + body[: answer.cut_to] + answer.trailing
    return encode_frame(payload, size=answer.claimed_size) * answer.copies + answer.appended


@functools.lru_cache(maxsize=64)
def _body(answer: Answer, api_version: int) -> bytes:
    """Encode a body. It is cached, because clients that loop get the same one again and again."""
    wanted = api_version if answer.layout is None else answer.layout
    version = min(max(wanted, 0), NEWEST_VERSION)
    response = ApiVersionsResponse(
        error_code=answer.error_code,  # type: ignore[arg-type]
        throttle_time_ms=answer.throttle_time_ms,
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, low, high in answer.supported_features
            if low != 0 or version >= FIRST_VERSION_WITH_ZERO_MINIMUM
        ),
        finalized_features_epoch=answer.finalized_features_epoch,
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=high, min_version_level=low)
            for name, high, low in answer.finalized_features
        ),
        unknown_tagged_fields=tuple(TaggedField(tag, data) for tag, data in answer.unknown_tags),
    )
    body = encode(response, version=version, raw={"api_keys": _table(answer.table, version)})
    if answer.tag_section is None or version < FIRST_FLEXIBLE_VERSION:
        return body
    return body.removesuffix(NO_TAGS) + answer.tag_section


def _table(table: Table, version: int) -> bytes:
    is_compact = version >= FIRST_FLEXIBLE_VERSION
    entries = table.entries
    count = None if table.null else len(entries)
    if table.claimed_count is not None:
        count = table.claimed_count
    is_replaced = is_compact and table.count_bytes is not None
    written = table.count_bytes if is_replaced else _count(count, is_compact=is_compact)
    return (written or b"") + b"".join(
        encode(ApiVersion(api_key=key, min_version=low, max_version=high), version=version)
        for key, low, high in entries
    )


def _count(count: int | None, *, is_compact: bool) -> bytes:
    """Write the count of an array, also one that no array can have; None for a null array."""
    number = -1 if count is None else count
    if is_compact:
        return primitives.write_unsigned_varint((number + 1) % _UINT32_VALUES)
    return (number % _UINT32_VALUES).to_bytes(4)
