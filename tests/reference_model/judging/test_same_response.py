"""Which differences between two responses of one broker count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference_model.judging.same_response import (
    StablePart,
    differing_fields,
    stable_part,
    stable_part_of_body,
)
from wire.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.primitives import TaggedField

VERSION = 4
FETCH = ApiVersion(api_key=1, min_version=4, max_version=17)
API_VERSIONS = ApiVersion(api_key=18, min_version=0, max_version=4)
GROUP = SupportedFeatureKey(name="group.version", min_version=0, max_version=1)
METADATA = SupportedFeatureKey(name="metadata.version", min_version=7, max_version=27)
FINAL_GROUP = FinalizedFeatureKey(name="group.version", min_version_level=1, max_version_level=1)
FINAL_METADATA = FinalizedFeatureKey(name="metadata.version", min_version_level=7, max_version_level=27)
UNKNOWN = (TaggedField(tag=9, data=b"x"),)
RESPONSE = ApiVersionsResponse(
    error_code=ErrorCode.NONE,
    api_keys=(FETCH, API_VERSIONS),
    supported_features=(GROUP, METADATA),
    finalized_features_epoch=3,
    finalized_features=(FINAL_GROUP, FINAL_METADATA),
)

SAME: dict[str, dict[str, Any]] = {
    "throttle-time": {"throttle_time_ms": 100},
    "later-epoch": {"finalized_features_epoch": 4},
    "epoch-0": {"finalized_features_epoch": 0},
    "order-of-table": {"api_keys": (API_VERSIONS, FETCH)},
    "order-of-supported-features": {"supported_features": (METADATA, GROUP)},
    "order-of-finalized-features": {"finalized_features": (FINAL_METADATA, FINAL_GROUP)},
    "unknown-tag": {"unknown_tagged_fields": UNKNOWN},
    "unknown-tag-of-an-entry": {"api_keys": (replace(FETCH, unknown_tagged_fields=UNKNOWN), API_VERSIONS)},
    "order-of-tags": {"tag_order": (2, 1, 0)},
}
OTHER: dict[str, dict[str, Any]] = {
    "error-code": {"error_code": ErrorCode.UNSUPPORTED_VERSION},
    "no-epoch": {"finalized_features_epoch": -1},
    "ready-to-migrate": {"zk_migration_ready": True},
    "another-api": {"api_keys": (replace(FETCH, api_key=2), API_VERSIONS)},
    "lowest-version": {"api_keys": (replace(FETCH, min_version=5), API_VERSIONS)},
    "highest-version": {"api_keys": (replace(FETCH, max_version=16), API_VERSIONS)},
    "api-missing": {"api_keys": (API_VERSIONS,)},
    "api-twice": {"api_keys": (FETCH, FETCH, API_VERSIONS)},
    "supported-name": {"supported_features": (replace(GROUP, name="other"), METADATA)},
    "supported-lowest-level": {"supported_features": (replace(GROUP, min_version=1), METADATA)},
    "supported-highest-level": {"supported_features": (replace(GROUP, max_version=2), METADATA)},
    "supported-missing": {"supported_features": (METADATA,)},
    "finalized-name": {"finalized_features": (replace(FINAL_GROUP, name="other"), FINAL_METADATA)},
    "finalized-lowest-level": {"finalized_features": (replace(FINAL_GROUP, min_version_level=0), FINAL_METADATA)},
    "finalized-highest-level": {"finalized_features": (replace(FINAL_GROUP, max_version_level=2), FINAL_METADATA)},
    "finalized-missing": {"finalized_features": (FINAL_METADATA,)},
}


def part_of_bytes(response: ApiVersionsResponse) -> StablePart:
    """Return the stable part of a response that was sent over the network."""
    return stable_part_of_body(encode(response, version=VERSION), VERSION)


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_same_response(changes: dict[str, Any]) -> None:
    """Two responses with such a difference are the same response, as messages and as bytes."""
    other = replace(RESPONSE, **changes)
    assert stable_part(other) == stable_part(RESPONSE)
    assert part_of_bytes(other) == part_of_bytes(RESPONSE) == stable_part(RESPONSE)


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_another_response(changes: dict[str, Any]) -> None:
    """Two responses with such a difference are not the same, as messages or as bytes."""
    other = replace(RESPONSE, **changes)
    assert stable_part(other) != stable_part(RESPONSE)
    assert part_of_bytes(other) != part_of_bytes(RESPONSE)


def test_bytes_that_are_no_response_have_no_stable_part() -> None:
    body = encode(RESPONSE, version=VERSION)
    for broken in (body[:-1], body + b"\0"):
        with pytest.raises(DecodeError):
            stable_part_of_body(broken, VERSION)


def test_differing_entries_are_named_shortly() -> None:
    """At most three entries are named; one that stands twice has no other range than expected."""
    expected = stable_part(
        ApiVersionsResponse(
            error_code=ErrorCode.NONE,
            api_keys=tuple(ApiVersion(api_key=key, min_version=0, max_version=1) for key in range(5)),
        )
    )
    nothing = expected._replace(api_keys=())
    assert differing_fields(nothing, expected) == {
        "api_keys": "0: none, expected v0 to v1; 1: none, expected v0 to v1; 2: none, expected v0 to v1 and 2 more"
    }
    twice = expected._replace(api_keys=(*expected.api_keys, (4, 0, 1)))
    assert differing_fields(twice, expected) == {"api_keys": "an entry stands twice"}
    assert differing_fields(expected, expected) == {}
