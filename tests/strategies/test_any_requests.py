"""Requests of every kind: what the mixture of them still reaches."""

from __future__ import annotations

from strategies.any_requests import any_requests
from tests.strategies.search import unmet


def test_any_requests_reach() -> None:
    """Well-formed requests with long client ids are drawn, and malformed ones."""
    assert not unmet(
        any_requests(),
        {
            "null-client-id": lambda sent: sent.header.client_id is None,
            "long-client-id": lambda sent: len(sent.header.client_id or "") > 300,
            "very-long-client-id": lambda sent: len(sent.data) > 20_000,
            "negative-version": lambda sent: sent.api_version < 0,
            "malformed": lambda sent: bool(sent.broken),
        },
    )
