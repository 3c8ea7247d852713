"""The responses that name the new leaders of partitions, compared with Kafka's own schemas."""

from __future__ import annotations

import pytest

from tests.described_apis import described_api
from tests.wire.test_startup_messages import newest, rows
from wire.data_responses import DATA_APIS
from wire.message_schemas import Api


@pytest.mark.parametrize("api", DATA_APIS.values(), ids=lambda api: api.name)
def test_responses_are_those_of_the_schemas(api: Api) -> None:
    """Names, types, versions, tags, defaults and valid versions are those of the release's own schemas."""
    described = described_api(api.api_key, newest(api))
    assert api.name == described.name
    assert api.valid_versions == described.valid_versions
    assert rows(api.response) == rows(described.response)
    for version in range(newest(api) + 1):
        assert api.response_header_version(version) == described.response_header_version(version)
