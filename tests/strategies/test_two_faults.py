"""Requests with two malformations: the first is one of the other kinds, and both are in the note."""

from __future__ import annotations

import pytest
from hypothesis import given

from strategies.two_faults import requests_with_two_faults
from tests.strategies.search import find_any
from wire.exchange import Request
from wire.frames import SIZE_BYTES


@given(sent=requests_with_two_faults())
def test_both_faults_are_in_the_note(sent: Request) -> None:
    """The note names two malformations, unless the first left too few bytes for a second; the API key stays."""
    payload = sent.data[SIZE_BYTES:]
    assert len(payload) < 2 or "; " in sent.broken
    assert b"\x00\x12".startswith(payload[:2])


@pytest.mark.parametrize(
    "first",
    [
        "cut after",
        "null client",
        "tag section reaches",
        "compact client id",
        "header v1 on",
        "odd varint",
        "tags out of order",
        "odd length",
        "not UTF-8",
        "with header v2",
    ],
)
def test_first_faults_reach(first: str) -> None:
    """Every kind is combined with a mutation."""
    assert find_any(
        requests_with_two_faults(), lambda sent: first in sent.broken and "; " in sent.broken
    )


def test_two_mutations_are_drawn() -> None:
    """A mutation can be the first fault, too."""
    assert find_any(requests_with_two_faults(), lambda sent: sent.broken.count("replaced") == 2)
