"""Comparison of two ApiVersions responses of one broker.

Only the part of a response that has to be equal is compared.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from wire.api_versions import ApiVersionsResponse
from wire.codec import decode
from wire.error_codes import ErrorCode

MAX_NAMED = 3
"""Of the entries that differ, this many are named."""


class StablePart(NamedTuple):
    """The part in which two responses of one broker must be equal.

    It excludes what may differ between two correct responses: the throttle time, the number of the features' epoch,
    which follows the cluster's log, and unknown tagged fields. Tables and features are sorted, because no source fixes
    their order.

    Attributes:
        error_code: the error code.
        api_keys: API key, lowest and highest version of each entry, sorted.
        supported_features: name, lowest and highest level of each feature, sorted.
        finalized_features: the same of the finalized ones.
        has_epoch: whether the features have an epoch.
        zk_migration_ready: whether the controller is ready to migrate from ZooKeeper.
    """

    error_code: ErrorCode
    api_keys: tuple[tuple[int, int, int], ...]
    supported_features: tuple[tuple[str, int, int], ...]
    finalized_features: tuple[tuple[str, int, int], ...]
    has_epoch: bool
    zk_migration_ready: bool


def differing_fields(seen: StablePart, expected: StablePart) -> dict[str, str]:
    """Return the fields in which two parts differ, each with what was seen and expected there, in a few words."""
    return {
        field: _difference(getattr(seen, field), getattr(expected, field))
        for field in StablePart._fields
        if getattr(seen, field) != getattr(expected, field)
    }


def _difference(seen: object, expected: object) -> str:
    if not isinstance(seen, tuple) or not isinstance(expected, tuple):
        return f"{seen!r}, expected {expected!r}"
    seen_ends, expected_ends = ({key: ends for key, *ends in entries} for entries in (seen, expected))
    keys = [key for key in sorted(seen_ends | expected_ends) if seen_ends.get(key) != expected_ends.get(key)]
    named = [f"{key}: {_ends(seen_ends.get(key))}, expected {_ends(expected_ends.get(key))}" for key in keys]
    more = f" and {len(keys) - MAX_NAMED} more" if len(keys) > MAX_NAMED else ""
    return "; ".join(named[:MAX_NAMED]) + more if keys else "an entry stands twice"


def _ends(ends: list[int] | None) -> str:
    return "none" if ends is None else f"v{ends[0]} to v{ends[1]}"


def stable_part(response: ApiVersionsResponse) -> StablePart:
    """Return the part of a response that must be equal in every response of the same broker."""
    return StablePart(
        error_code=response.error_code,
        api_keys=tuple(sorted((each.api_key, each.min_version, each.max_version) for each in response.api_keys)),
        supported_features=tuple(
            sorted((each.name, each.min_version, each.max_version) for each in response.supported_features)
        ),
        finalized_features=tuple(
            sorted((each.name, each.min_version_level, each.max_version_level) for each in response.finalized_features)
        ),
        has_epoch=response.finalized_features_epoch >= 0,
        zk_migration_ready=response.zk_migration_ready,
    )


@functools.lru_cache(maxsize=4096)
def stable_part_of_body(body: bytes, version: int) -> StablePart:
    """Decode the body of a response, and return its stable part.

    Cached, because targets send the same few bodies repeatedly.

    Raises:
        DecodeError: the bytes are no response in the layout of this version.
    """
    return stable_part(decode(ApiVersionsResponse, body, version=version))
