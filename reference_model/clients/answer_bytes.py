"""The bytes of a scripted answer to ApiVersions."""

from __future__ import annotations

from reference_model.clients.script import Answer, Table
from wire import primitives
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.codec import encode
from wire.frames import encode_frame
from wire.primitives import INT32_MAX, TaggedField

_CORRELATION_IDS = 1 << 32
_NO_TAGS = b"\0"


def answer_bytes(answer: Answer, *, api_version: int, correlation_id: int) -> bytes:
    """Return the frame of an answer, which may be wrong in any way that the script says.

    Args:
        answer: the answer; its action is "answer".
        api_version: the version of the request.
        correlation_id: the correlation id of the request.

    Raises:
        EncodeError: a value of the script does not fit its field.
    """
    body = _body(answer, api_version) if answer.body is None else answer.body
    id_ = (correlation_id + answer.correlation_shift + INT32_MAX + 1) % _CORRELATION_IDS
    header = primitives.write_int32(id_ - INT32_MAX - 1)
    header += _NO_TAGS if answer.flexible_header else b""
    return encode_frame(header + body[: answer.cut_to] + answer.trailing, size=answer.claimed_size)


def _body(answer: Answer, api_version: int) -> bytes:
    wanted = api_version if answer.layout is None else answer.layout
    version = min(max(wanted, 0), NEWEST_VERSION)
    response = ApiVersionsResponse(
        error_code=answer.error_code,  # type: ignore[arg-type]
        throttle_time_ms=answer.throttle_time_ms,
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, low, high in answer.supported_features
        ),
        finalized_features_epoch=answer.finalized_features_epoch,
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=high, min_version_level=low)
            for name, high, low in answer.finalized_features
        ),
        unknown_tagged_fields=tuple(TaggedField(tag, data) for tag, data in answer.unknown_tags),
    )
    return encode(response, version=version, raw={"api_keys": _table(answer.table, version)})


def _table(table: Table, version: int) -> bytes:
    is_compact = version >= FIRST_FLEXIBLE_VERSION
    entries = table.entries
    count = None if table.null else len(entries)
    if table.claimed_count is not None:
        count = table.claimed_count
    write_count = (
        primitives.write_compact_array_length if is_compact else primitives.write_array_length
    )
    return write_count(count) + b"".join(
        encode(ApiVersion(api_key=key, min_version=low, max_version=high), version=version)
        for key, low, high in entries
    )
