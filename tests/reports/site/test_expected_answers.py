"""The reference broker answers what a failure sent, where its answer says something about the target."""

from __future__ import annotations

import json

import pytest

from reports.site.expected_answers import expected_answers
from strategies.api_versions import build_request


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
    """The reference broker has a cluster of its own, and reads no id of a version that it does not know."""
    sent = [{"connection": 0, "data": build_request(version=version).data.hex()}]
    facts = json.dumps({"sent": sent})
    found = expected_answers(facts, release="4.4.0", listener="plaintext")
    assert [each.what for each in found] == ["answer"] * answers
