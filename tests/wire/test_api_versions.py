"""ApiVersions: error codes, the constants next to the tables, and range lookup."""

from __future__ import annotations

import pytest

from tests.wire.generated_messages import KAFKA_LAYOUTS, MessageLayout
from wire import api_versions
from wire.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode
from wire.error_codes import ErrorCode


@pytest.mark.parametrize("code", [0, 35, 129, 4242])
def test_error_code_is_read_as_its_member(code: int) -> None:
    """An error code decodes to a member of the error codes, known or not, not to a bare number."""
    decoded = decode(ApiVersionsResponse, code.to_bytes(2) + bytes(4), version=0)
    assert decoded.error_code is ErrorCode(code)


def test_constants_agree_with_the_tables() -> None:
    """The constants for versions agree with the field tables."""
    fields = {each.name: each for each in (*ApiVersionsRequest.FIELDS, *ApiVersionsResponse.FIELDS)}
    first = api_versions.FIRST_VERSION_WITH_CLUSTER_CHECK
    assert fields["cluster_id"].versions.first == fields["node_id"].versions.first == first
    assert (
        fields["throttle_time_ms"].versions.first == api_versions.FIRST_VERSION_WITH_THROTTLE_TIME
    )
    for message in (ApiVersionsRequest, ApiVersionsResponse, ApiVersion):
        assert message.FLEXIBLE.first == api_versions.FIRST_FLEXIBLE_VERSION
    assert MessageLayout(ApiVersionsRequest, api_versions.NEWEST_VERSION) in KAFKA_LAYOUTS


def test_range_of_an_api_is_its_first_entry() -> None:
    """A lookup returns the first entry of an API, and None if the API is not listed."""
    first = ApiVersion(api_key=18, min_version=0, max_version=5)
    second = ApiVersion(api_key=18, min_version=1, max_version=2)
    other = ApiVersion(api_key=0, min_version=3, max_version=13)
    response = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=(other, first, second))
    assert response.range_of(18) is first
    assert response.range_of(0) is other
    assert response.range_of(1) is None
