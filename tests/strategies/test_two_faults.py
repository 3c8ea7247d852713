"""Requests with two malformations: the first is one of the other kinds, and both are in the note."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given

from strategies.any_requests import requests_with_two_faults
from tests.strategies.search import unmet
from wire.exchange import Request
from wire.frames import SIZE_BYTES


@given(sent=requests_with_two_faults())
def test_both_faults_are_in_the_note(sent: Request) -> None:
    """The note names two malformations, unless the first left too few bytes for a second; the API key stays."""
    payload = sent.data[SIZE_BYTES:]
    assert len(payload) < 2 or "; " in sent.broken
    assert b"\x00\x12".startswith(payload[:2])


FIRST_FAULTS = (
    *("cut after", "null client", "tag section reaches", "compact client id", "header v1 on"),
    *("odd varint", "tags out of order", "odd length", "not UTF-8", "with header v2"),
)


def begins_with(fault: str) -> Callable[[Request], bool]:
    """Return a function that says whether a request has this fault and another one."""
    return lambda sent: fault in sent.broken and "; " in sent.broken


def test_first_faults_reach() -> None:
    """Every kind is combined with a mutation, also a mutation."""
    conditions = {fault: begins_with(fault) for fault in FIRST_FAULTS}
    conditions["two mutations"] = lambda sent: sent.broken.count("replaced") == 2
    assert not unmet(requests_with_two_faults(), conditions)
