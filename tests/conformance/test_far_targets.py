"""A far target gets fewer connections in examples that open dozens.

Each connection costs a round trip.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from conformance.brokers.test_framing import MANY_CONNECTIONS
from conformance.brokers.test_framing import test_malformed_request_hurts_nobody as malformed
from conformance.brokers.test_neighbours import (
    MAX_CROWD,
)
from conformance.brokers.test_neighbours import (
    test_client_that_breaks_off_hurts_nobody as breaks_off,
)
from fixtures.client.patience import Patience
from strategies.api_versions import build_request
from strategies.broken_requests import build_truncated
from strategies.hypothesis_adapter import body_of
from strategies.odd_frames import build_part
from tests.conformance.in_memory_runs import broker_with

V0 = build_request(version=0)
AFTER_MANY = {"broken": build_truncated(0, 9), "before": MANY_CONNECTIONS}
CROWD = {
    "versions": [],
    "part": build_part(V0, 9),
    "resets": True,
    "times": MAX_CROWD,
}


@pytest.mark.parametrize(
    ("judge", "values"),
    [
        (malformed, AFTER_MANY),
        (breaks_off, CROWD),
    ],
    ids=["malformed", "breaks-off"],
)
@pytest.mark.parametrize(("round_trip_s", "at_least", "at_most"), [(0.0, 30, 40), (0.1, 5, 10)])
def test_far_target_gets_few_connections_of_dozens(
    judge: Any, values: dict[str, object], round_trip_s: float, at_least: int, at_most: int
) -> None:
    """Thirty connections, one after the other, take seconds there."""
    broker = broker_with(patience=Patience(math.inf))
    broker.ask_for_table()
    broker.patience.round_trip_s = round_trip_s
    broker.begin_example()
    body_of(judge)(broker=broker, **values)
    assert at_least <= len({step.connection for step in broker.journal}) <= at_most
