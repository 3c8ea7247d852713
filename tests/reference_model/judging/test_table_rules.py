"""Tests of the rules that hold of any ApiVersions response alone."""

from __future__ import annotations

import pytest

from reference_model.judging.table_rules import table_faults
from wire.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from wire.error_codes import ErrorCode

OWN = ApiVersion(api_key=18, min_version=0, max_version=5)


def response(*entries: tuple[int, int, int], **fields: object) -> ApiVersionsResponse:
    listed = tuple(ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in entries)
    return ApiVersionsResponse(**{"error_code": ErrorCode.NONE, "api_keys": (OWN, *listed), **fields})  # type: ignore[arg-type]


def supported(*ranges: tuple[int, int]) -> dict[str, object]:
    features = (SupportedFeatureKey(name="f", min_version=low, max_version=high) for low, high in ranges)
    return {"supported_features": tuple(features)}


def finalized(low: int, high: int, name: str = "f") -> dict[str, object]:
    level = FinalizedFeatureKey(name=name, max_version_level=high, min_version_level=low)
    return {"finalized_features": (level,), "finalized_features_epoch": 0}


@pytest.mark.parametrize(
    ("given", "version", "clause", "what"),
    [
        (response((3, 5, 2)), 0, "KIP-35.ranges-ordered", "3: v5 to v2"),
        (response((3, -1, 2)), 0, "KIP-35.ranges-ordered", "3: v-1 to v2"),
        (response((3, 0, 2), (3, 0, 2)), 0, "KIP-35.keys-unique", "more than once: 3"),
        (response(api_keys=()), 0, "KIP-35.table-lists-itself", "ApiVersions is not listed"),
        (
            response(api_keys=(ApiVersion(api_key=18, min_version=1, max_version=5),)),
            0,
            "KIP-35.table-lists-itself",
            "ApiVersions is listed from v1",
        ),
        (response(tag_order=(1, 0)), 3, "KIP-482.tags-ascending-in-answers", "the order of the tags is 1, 0"),
        (response(tag_order=(1, 1)), 3, "KIP-482.tags-ascending-in-answers", "the order of the tags is 1, 1"),
        (response(tag_order=(1,)), 3, "KIP-482.default-tags-omitted", "finalized_features_epoch"),
        (response(throttle_time_ms=-1), 1, "KIP-35.throttle-time", "the throttle time is -1"),
        (response(**supported((0, 1))), 3, "FEATURES.min-zero-only-from-v4", "whose minimum is 0: f"),
        (response(**supported((1, 2), (1, 2))), 3, "FEATURES.ranges-ordered", "the feature f stands twice"),
        (response(**supported((3, 2))), 3, "FEATURES.ranges-ordered", "the feature f has the range 3 to 2"),
        (response(**finalized(2, 1)), 3, "FEATURES.ranges-ordered", "finalized with the levels 2 to 1"),
        (response(**supported((1, 2)), **finalized(1, 3)), 3, "FEATURES.ranges-ordered", "outside its range"),
        (response(**finalized(1, 1, "g")), 4, "FEATURES.ranges-ordered", "finalized, but not listed as supported"),
        (
            response(**{**finalized(1, 1), "finalized_features_epoch": -1}),
            3,
            "FEATURES.epoch-monotone",
            "the epoch is missing",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_clause(
    given: ApiVersionsResponse, version: int, clause: str, what: str
) -> None:
    faults = dict(table_faults(given, version))
    assert what in faults[clause]


@pytest.mark.parametrize(
    ("given", "version"),
    [
        (response((3, 0, 13)), 0),
        (response(**supported((0, 1)), **finalized(1, 1)), 4),
        (response(**finalized(1, 1, "g")), 3),
        (ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST), 3),
    ],
    ids=["table", "features", "finalized alone in v3", "refusal"],
)
def test_a_right_response_breaks_no_rule(given: ApiVersionsResponse, version: int) -> None:
    assert [*table_faults(given, version)] == []
