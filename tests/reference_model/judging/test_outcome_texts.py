"""The outcome of a request is described in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from reference_model.judging.outcome_texts import summary_of
from tests.conformance.exchanges import exchange_of
from wire.exchange import Outcome


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"outcome": Outcome.SILENT}, "the target fell silent", id="silent"),
        pytest.param(
            {"payload": "00000007 002a", "usable": True},
            "the target answered INVALID_REQUEST (42); the next request was answered",
            id="kept",
        ),
        pytest.param(
            {"payload": "00000007 002a"},
            "the target answered INVALID_REQUEST (42); the next request was not answered",
            id="lost",
        ),
        pytest.param(
            {"payload": "00000008 002a", "usable": True},
            "the target answered INVALID_REQUEST (42) with the correlation id 8 instead of 7; "
            "the next request was answered",
            id="another-correlation-id",
        ),
        pytest.param(
            {"payload": "00000007 002a", "surplus": bytes.fromhex("00000006 00000007 002a")},
            "the target answered INVALID_REQUEST (42); the same response came a second time",
            id="twice",
        ),
        pytest.param(
            {"payload": "00000007 002a", "surplus": b"\x70\xff", "usable": True},
            "the target answered INVALID_REQUEST (42); then bytes came that belong to no response: 2",
            id="surplus-bytes",
        ),
        pytest.param(
            {"payload": "00000007 00 002a 01 00000000 00", "usable": True},
            "the target answered INVALID_REQUEST (42) after a tag section in the response's header; "
            "the next request was answered",
            id="flexible-header",
        ),
    ],
)
def test_exchange_is_summed_up(given: dict[str, Any], expected: str) -> None:
    """The summary names the outcome, and whether the connection still serves."""
    assert summary_of(exchange_of(**given)) == expected
