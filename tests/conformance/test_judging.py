"""What two answers of one broker must have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.judging import stable_part
from wire.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.error_codes import ErrorCode

ANSWER = ApiVersionsResponse(
    error_code=ErrorCode.NONE,
    api_keys=(
        ApiVersion(api_key=3, min_version=0, max_version=13),
        ApiVersion(api_key=18, min_version=0, max_version=4),
    ),
    throttle_time_ms=0,
    supported_features=(
        SupportedFeatureKey(name="group.version", min_version=0, max_version=1),
        SupportedFeatureKey(name="metadata.version", min_version=7, max_version=27),
    ),
    finalized_features_epoch=3,
    finalized_features=(
        FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1),
        FinalizedFeatureKey(name="metadata.version", max_version_level=27, min_version_level=7),
    ),
)


def with_entries(field: str, *entries: object) -> ApiVersionsResponse:
    """Return the answer with other entries in one field."""
    changed: dict[str, Any] = {field: entries}
    return replace(ANSWER, **changed)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("api_keys", {"min_version": 1}),
        ("api_keys", {"max_version": 12}),
        ("supported_features", {"name": "another.version"}),
        ("supported_features", {"min_version": 1}),
        ("supported_features", {"max_version": 2}),
        ("finalized_features", {"name": "another.version"}),
        ("finalized_features", {"min_version_level": 0}),
        ("finalized_features", {"max_version_level": 2}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
def test_one_other_level_is_another_answer(field: str, changes: dict[str, object]) -> None:
    """Two answers differ if one range, level or name of one entry differs."""
    first, *others = getattr(ANSWER, field)
    other = with_entries(field, replace(first, **changes), *others)
    assert stable_part(other) != stable_part(ANSWER)


@pytest.mark.parametrize("field", ["api_keys", "supported_features", "finalized_features"])
def test_one_entry_less_is_another_answer(field: str) -> None:
    """Two answers differ if an entry is missing in one of them."""
    other = with_entries(field, *getattr(ANSWER, field)[1:])
    assert stable_part(other) != stable_part(ANSWER)


def test_another_error_code_is_another_answer() -> None:
    """Two answers with the same table differ by their error codes."""
    other = replace(ANSWER, error_code=ErrorCode.UNSUPPORTED_VERSION)
    assert stable_part(other) != stable_part(ANSWER)


def test_order_epoch_and_throttle_time_may_differ() -> None:
    """No source fixes the order of entries, the epoch follows the cluster's log, and throttling comes and goes."""
    other = replace(
        ANSWER,
        api_keys=ANSWER.api_keys[::-1],
        supported_features=ANSWER.supported_features[::-1],
        finalized_features=ANSWER.finalized_features[::-1],
        finalized_features_epoch=4,
        throttle_time_ms=100,
    )
    assert stable_part(other) == stable_part(ANSWER)
