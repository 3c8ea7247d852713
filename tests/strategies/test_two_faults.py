"""Requests with two malformations: the first is one of the other kinds, and both are in the note."""

from __future__ import annotations

from hypothesis import given

from strategies.any_requests import requests_with_two_faults
from wire.exchange import Request
from wire.frames import SIZE_BYTES


@given(sent=requests_with_two_faults())
def test_both_faults_are_in_the_note(sent: Request) -> None:
    """The note names two malformations, unless the first left too few bytes for a second; the API key stays."""
    payload = sent.data[SIZE_BYTES:]
    assert len(payload) < 2 or "; " in sent.broken
    assert b"\x00\x12".startswith(payload[:2])
