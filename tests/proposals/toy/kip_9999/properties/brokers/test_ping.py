"""The toy's property of brokers."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.assertions.other_apis import advertised_table
from fixtures.under_test.broker import Broker
from tests.proposals.toy.kip_9999.messages import PING_KEY, Pings


@pytest.mark.needs("ping")
@pytest.mark.clause("KIP-9999.ping-listed")
@given(pings=st.builds(Pings, count=st.integers(1, 3)))
@example(pings=Pings(1))
def test_ping_is_listed_from_v0(broker: Broker, pings: Pings) -> None:
    """A broker that lists Ping lists its v0."""
    lowest = {entry.api_key: entry.min_version for entry in advertised_table(broker)}
    assert lowest[PING_KEY] == 0
