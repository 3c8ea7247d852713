"""Tests of which tables claim KIP-1313, and of the header of unknown versions.

KIP-1313 is a proposal. The header is the one with which targets read versions that they do not know.
"""

from __future__ import annotations

import pytest

from fixtures.under_test.first_requests import header_of_unknown_versions
from proposals.kip_1313.claims import claims_proposal
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from wire.api_keys import API_VERSIONS_KEY, DESCRIBE_CLUSTER_KEY, METADATA_KEY
from wire.api_versions import NEWEST_VERSION

NEWER = NEWEST_VERSION + 1
CONTROLLER = {API_VERSIONS_KEY: NEWER, DESCRIBE_CLUSTER_KEY: 3, 9000: 5}
"""Two of its three APIs have a new version, and of the third nothing is known."""


@pytest.mark.parametrize(
    ("newest", "claims", "header"),
    [
        ({API_VERSIONS_KEY: NEWER, OFFSET_DELETE_KEY: 1}, True, 3),
        ({API_VERSIONS_KEY: NEWEST_VERSION, OFFSET_DELETE_KEY: 1}, True, 2),
        ({API_VERSIONS_KEY: NEWER, OFFSET_DELETE_KEY: 0, METADATA_KEY: 14}, False, 2),
        (CONTROLLER, True, 3),
        ({**CONTROLLER, 9001: 0}, False, 2),
        ({API_VERSIONS_KEY: NEWEST_VERSION, DESCRIBE_CLUSTER_KEY: 3}, False, 2),
        ({API_VERSIONS_KEY: NEWER, DESCRIBE_CLUSTER_KEY: 2}, False, 2),
        ({}, False, 2),
    ],
    ids=[
        "a broker",
        "a broker without a new version of ApiVersions",
        "a newer release that does not follow it",
        "a controller",
        "a controller with few new versions",
        "a controller without a new version of ApiVersions",
        "a controller with a newer ApiVersions alone",
        "nothing",
    ],
)
def test_claim_and_header_follow_from_the_table(newest: dict[int, int], claims: bool, header: int) -> None:
    """OffsetDelete v1 claims the proposal, and where it is absent most other APIs do; header v3 needs a new
    ApiVersions as well."""
    assert claims_proposal(newest) is claims
    assert header_of_unknown_versions({API_VERSIONS_KEY: NEWEST_VERSION, **newest}) == header
