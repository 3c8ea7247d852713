"""Our codec writes and reads the bytes of Kafka's own classes.

The bytes are described in tests/vectors/README.md.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.decoder_contract import contract_breaches
from tests.wire.generated_messages import MessageLayout
from tests.wire.golden_bytes import MESSAGES, load_vectors, message_of
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode, decode_prefix, encode
from wire.headers import ResponseHeader

VECTORS = load_vectors("kafka-clients-4.4.0.json")["messages"]
ANSWERS = load_vectors("broker-error-answers.json")["answers"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_message_has_the_bytes_of_the_clients_library(vector: dict[str, Any]) -> None:
    """A message is encoded as by Kafka's class, and decoded from its bytes as the contract requires."""
    layout = MessageLayout(MESSAGES[vector["message"]], vector["version"])
    expected = message_of(layout.message, vector["fields"])
    encoded = bytes.fromhex(vector["hex"])
    assert encode(expected, version=layout.version) == encoded
    assert contract_breaches(layout.read, encoded, expected) == []


def test_vectors_have_every_message_and_version() -> None:
    """Every version of a message or header that release 4.4.0 can write has a vector."""
    assert {(vector["message"], vector["version"]) for vector in VECTORS} == {
        *(("ApiVersionsRequest", version) for version in range(6)),
        *(("ApiVersionsResponse", version) for version in range(6)),
        *(("RequestHeader", version) for version in (1, 2)),
        *(("ResponseHeader", version) for version in (0, 1)),
    }


@pytest.mark.parametrize("vector", ANSWERS, ids=lambda vector: vector["id"])
def test_error_answer_has_the_bytes_of_the_broker(vector: dict[str, Any]) -> None:
    """An error response is header v0 and the body, and decodes to that error."""
    expected = message_of(ApiVersionsResponse, vector["fields"])
    header = ResponseHeader(correlation_id=7)
    payload = bytes.fromhex(vector["hex"])
    assert encode(header, version=0) + encode(expected, version=vector["version"]) == payload
    read_header, end = decode_prefix(ResponseHeader, payload, version=0)
    assert read_header == header
    assert decode(ApiVersionsResponse, payload[end:], version=vector["version"]) == expected
