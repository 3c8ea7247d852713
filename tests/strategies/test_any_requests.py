"""Requests of every kind: what the mixture of them still reaches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strategies.any_requests import any_requests
from tests.strategies.search import find_any
from wire.exchange import Request


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(lambda sent: sent.header.client_id is None, id="null-client-id"),
        pytest.param(lambda sent: len(sent.header.client_id or "") > 300, id="long-client-id"),
        pytest.param(lambda sent: len(sent.data) > 20_000, id="very-long-client-id"),
        pytest.param(lambda sent: sent.api_version < 0, id="negative-version"),
        pytest.param(lambda sent: bool(sent.broken), id="malformed"),
    ],
)
def test_any_requests_reach(condition: Callable[[Request], bool]) -> None:
    """Well-formed requests with long client ids are drawn, and malformed ones."""
    assert condition(find_any(any_requests(), condition))
