"""Tests of what the specification says beyond the sentences of the clauses."""

from __future__ import annotations

import re

import pytest

from conformance.vectors.vector_set import load_vectors
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from workflows.documents.specification import broker_group, response_rows, specification

SET = load_vectors()
TEXT = "\n".join(specification())
MAX_CUT = 3


@pytest.mark.parametrize("version", [0, 1, 3, 5])
def test_the_rows_of_a_response_have_each_of_its_bytes_once(version: int) -> None:
    response = ApiVersionsResponse(
        error_code=ErrorCode.NONE, api_keys=(ApiVersion(api_key=18, min_version=0, max_version=5),)
    )
    shown = bytes.fromhex("".join(row[0].strip("`") for row in response_rows(response, version)))
    body = encode(response, version=version)
    assert shown == (4 + len(body)).to_bytes(4) + (7).to_bytes(4) + body


@pytest.mark.parametrize(
    ("clause_id", "group"),
    [
        ("KIP-35.v0-always-served", "Every listener, the plaintext one first"),
        ("KIP-511.request-log", "What single requests do not show"),
        ("KIP-35.nothing-before-tls", "Listeners with TLS"),
        ("PROTOCOL.nothing-served-before-authentication", "Listeners with SASL"),
        ("KIP-1242.on-the-controller", "Listeners of controllers"),
        ("PROXY.cluster-ids-arrive", "Proxies"),
        ("KIP-1313.first-id-not-zero", "A proposal under discussion"),
    ],
)
def test_a_rule_is_in_the_group_of_its_listeners(clause_id: str, group: str) -> None:
    assert broker_group(clause_id, SET) == group


def test_the_bytes_of_nearly_every_rule_are_complete() -> None:
    assert len(re.findall(r"\.\.\.`", TEXT)) <= MAX_CUT


def test_a_difference_of_a_release_shows_two_outcomes() -> None:
    rows = re.findall(r"^\| `[^`]+` \| \d+ \| [\d.]+ to [\d.]+ \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)
    assert rows
    assert [row for row in rows if row[0] == row[1]] == []


def test_vectors_ask_for_the_responses_before_a_frame_that_closes() -> None:
    """The specification says that they do."""
    outcomes = [
        [[each.outcome for each in expected.by_version[-1]] for expected in step.expected]
        for vector in SET.of_brokers()
        for step in vector.steps
    ]
    assert any(step[:2] == [[Outcome.ANSWER], [Outcome.CLOSED]] for step in outcomes)
