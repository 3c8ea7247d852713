"""Classifier of the response that a client got to an ApiVersions request.

From the bytes it decides whether it is a table, a refusal, another error, or unusable.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_model.clients.scripts.recording import SeenRequest
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES, read_size
from wire.headers import CORRELATION_ID_BYTES, read_correlation_id, read_error_code

Ranges = Mapping[int, tuple[tuple[int, int], ...]]
"""API key to the range of each entry for it, in the table's order."""


class ResponseKind(enum.Enum):
    """The kinds of responses."""

    NOTHING = "no response"
    NONSENSE = "a response that cannot be decoded"
    TABLE = "a table"
    REFUSAL = "UNSUPPORTED_VERSION"
    ERROR = "another error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResponse:
    """What a client learns from a response.

    Attributes:
        kind: the kind of the response.
        error_code: its error code; None if it has none.
        ranges: the ranges that it lists, of a table or a refusal.
        finalized_features: the level of each feature that is finalized in the cluster, by its name.
        epoch: the epoch of the finalized features; -1 if it is not known.
        listed_levels: each entry for a finalized feature, whatever the epoch: its name and its level.
        from_ms: when it was written completely, from the start of the play.
    """

    kind: ResponseKind
    error_code: ErrorCode | None = None
    ranges: Ranges = field(default_factory=dict)
    finalized_features: Mapping[str, int] = field(default_factory=dict)
    epoch: int = -1
    listed_levels: tuple[tuple[str, int], ...] = ()
    from_ms: int = 0

    def lists(self, api_key: int, api_version: int) -> bool:
        """Return whether an entry has this version of an API; a negative version exists nowhere."""
        return api_version >= 0 and any(low <= api_version <= high for low, high in self.ranges.get(api_key, ()))

    @property
    def names_range(self) -> bool:
        """Whether it lists ApiVersions, with whatever range."""
        return API_VERSIONS_KEY in self.ranges

    def lower_versions(self, refused: int) -> range:
        """Return the versions of ApiVersions below a refused one that the response names; none if it names no range."""
        for low, high in self.ranges.get(API_VERSIONS_KEY, ()):
            if 0 <= low <= high:
                return range(low, min(high + 1, refused))
        return range(0)


def read_response(request: SeenRequest) -> ReadResponse:
    """Return what the response to an ApiVersions request says to the client.

    A response counts as readable only if all of it is correct: a client need not make sense of anything else. A refusal
    is read in the layout of v0, any other response in that of the request's version.
    """
    from_ms = request.responded_ms
    payload = request.response[SIZE_BYTES:]
    if not request.response:
        return ReadResponse(kind=ResponseKind.NOTHING, from_ms=from_ms)
    error_code = read_error_code(payload)
    if (
        error_code is None
        or read_size(request.response) != len(payload)
        or read_correlation_id(payload) != request.correlation_id
    ):
        return ReadResponse(kind=ResponseKind.NONSENSE, from_ms=from_ms)
    error = ErrorCode(error_code)
    is_refusal = error is ErrorCode.UNSUPPORTED_VERSION
    listed = _listed(payload[CORRELATION_ID_BYTES:], 0 if is_refusal else request.api_version)
    if error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        return ReadResponse(kind=ResponseKind.ERROR, error_code=error, from_ms=from_ms)
    if listed is None:
        return ReadResponse(kind=ResponseKind.NONSENSE, error_code=error, from_ms=from_ms)
    return ReadResponse(
        kind=ResponseKind.REFUSAL if is_refusal else ResponseKind.TABLE,
        error_code=error,
        ranges=listed.ranges,
        finalized_features=dict(listed.levels) if listed.epoch >= 0 else {},
        epoch=listed.epoch,
        listed_levels=listed.levels,
        from_ms=from_ms,
    )


class _Listed(NamedTuple):
    """What a body lists; see `ReadResponse`."""

    ranges: Ranges
    epoch: int
    levels: tuple[tuple[str, int], ...]


@functools.lru_cache(maxsize=256)
def _listed(body: bytes, version: int) -> _Listed | None:
    """Return the ranges and the finalized features that a body lists; None if it cannot be decoded.

    Loops get the same body again and again.
    """
    try:
        response = decode(ApiVersionsResponse, body, version=version)
    except DecodeError:
        return None
    ranges: dict[int, tuple[tuple[int, int], ...]] = {}
    for entry in response.api_keys:
        earlier = ranges.get(entry.api_key, ())
        ranges[entry.api_key] = (*earlier, (entry.min_version, entry.max_version))
    levels = tuple((each.name, each.max_version_level) for each in response.finalized_features)
    return _Listed(ranges, response.finalized_features_epoch, levels)
