"""Tables of brokers that are made to look as if they served less."""

from __future__ import annotations

from reference_model.profiles.cut_tables import cut_response
from reference_model.profiles.known_apis import Range
from wire.api_keys import API_VERSIONS_KEY, FETCH_KEY, JOIN_GROUP_KEY, METADATA_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode

CORRELATION = b"\0\0\0\7"
LEFT = {JOIN_GROUP_KEY: Range(5, 20), FETCH_KEY: Range(19, 20)}


def entry(api_key: int, lowest: int, highest: int) -> ApiVersion:
    """Return an entry of a table."""
    return ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)


def test_table_keeps_what_both_have_and_the_entry_of_api_versions() -> None:
    table = (
        entry(FETCH_KEY, 4, 18),
        entry(METADATA_KEY, 0, 13),
        entry(JOIN_GROUP_KEY, 0, 9),
        entry(API_VERSIONS_KEY, 0, 5),
    )
    response = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=table, finalized_features_epoch=7)
    cut = cut_response(CORRELATION + encode(response, version=3), 3, LEFT)
    assert cut.startswith(CORRELATION)
    assert decode(ApiVersionsResponse, cut[4:], version=3) == ApiVersionsResponse(
        error_code=ErrorCode.NONE,
        api_keys=(entry(JOIN_GROUP_KEY, 5, 9), entry(API_VERSIONS_KEY, 0, 5)),
        finalized_features_epoch=7,
    )


def test_response_that_cannot_be_read_stays_as_it_is() -> None:
    """A refusal of a newer version is written in the layout of v0."""
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(entry(API_VERSIONS_KEY, 0, 3),))
    payload = CORRELATION + encode(refusal, version=0)
    assert cut_response(payload, 4, LEFT) == payload
