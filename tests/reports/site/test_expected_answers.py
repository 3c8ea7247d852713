"""The reference broker responds to a failure's request if its response says something about the target."""

from __future__ import annotations

import json

import pytest

from reports.site.expected_answers import expected_answers
from strategies.api_versions import build_request
from wire.frames import encode_frame

LIST_GROUPS_V5 = "0010 0005 00000007 0000 00 01 01 00"
PRODUCE_V99 = "0000 0063 00000007 0000 00"


@pytest.mark.parametrize(
    ("version", "answers"),
    [
        pytest.param(0, 1, id="v0"),
        pytest.param(4, 1, id="v4"),
        pytest.param(5, 0, id="v5-names-a-cluster"),
        pytest.param(6, 1, id="v6-is-unknown"),
        pytest.param(99, 1, id="v99-is-unknown"),
    ],
)
def test_request_has_a_reference_answer_unless_it_names_a_cluster(
    version: int, answers: int
) -> None:
    """The reference broker has its own cluster id, and reads no cluster id in versions that it does not know."""
    sent = [{"connection": 0, "data": build_request(version=version).data.hex()}]
    facts = json.dumps({"sent": sent})
    found = expected_answers(facts, release="4.4.0", listener="plaintext")
    assert [each.what for each in found] == ["answer"] * answers


@pytest.mark.parametrize(
    ("payload", "what", "by_own_table"),
    [
        pytest.param(LIST_GROUPS_V5, "answer", True, id="served"),
        pytest.param(PRODUCE_V99, "closed", True, id="not-served"),
        pytest.param("0012 0000 00000007 0000", "answer", False, id="api-versions"),
        pytest.param("0010", "closed", False, id="names-no-api"),
    ],
)
def test_reaction_to_another_api_follows_from_the_table(
    payload: str, what: str, by_own_table: bool
) -> None:
    """The target may advertise other versions of the API than the reference broker, so the page notes that."""
    frame = encode_frame(bytes.fromhex(payload))
    facts = json.dumps({"sent": [{"connection": 0, "data": frame.hex()}]})
    (found,) = expected_answers(facts, release="4.4.0", listener="plaintext")
    assert (found.what, found.by_own_table) == (what, by_own_table)
