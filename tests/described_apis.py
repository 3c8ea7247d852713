"""APIs as Kafka's message schemas describe them."""

from __future__ import annotations

from fixtures.artefacts.schema_jars import api_catalogue
from wire.message_schemas import Api


def described_api(api_key: int, version: int) -> Api:
    """Return the described API that has this version."""
    api = api_catalogue().find(api_key, version)
    assert api is not None
    return api
