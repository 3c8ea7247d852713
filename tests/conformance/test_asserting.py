"""What a response has to be, against literals."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from conformance.assertions.asserting import assert_refused
from tests.conformance.exchanges import V0_EMPTY, exchange_of
from wire.exchange import Outcome


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        pytest.param({"outcome": Outcome.CLOSED}, True, id="closed"),
        pytest.param({"payload": "00000007 002a"}, True, id="error"),
        pytest.param({"payload": "00000007 ffff"}, True, id="negative-error"),
        pytest.param({"payload": V0_EMPTY}, False, id="served"),
        pytest.param({"outcome": Outcome.SILENT}, False, id="silent"),
        pytest.param({"outcome": Outcome.IGNORED}, False, id="ignored"),
    ],
)
def test_refusal_is_a_close_or_an_error(given: dict[str, Any], refused: bool) -> None:
    """Silence refuses nothing, and neither does an answer without an error."""
    exchange = exchange_of(**given)
    with nullcontext() if refused else pytest.raises(AssertionError):
        assert_refused(exchange)
