"""The toy's property of clients."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.assertions.client_moves import played
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.scripts.script import Answer, ConnectionScript, NodeScript, Script, Table
from tests.proposals.toy.kip_9999.messages import PING_KEY


def cluster(*, lists_ping: bool) -> Script:
    """Return a script of a broker that lists Ping, or does not."""
    table = Table(changed=((PING_KEY, 0, 0),) if lists_ping else ())
    return Script(nodes=(NodeScript(connections=(ConnectionScript(answers=(Answer(table=table),)),)),))


@pytest.mark.needs("a_driver")
@pytest.mark.clause("KIP-9999.ping-only-if-listed")
@given(lists_ping=st.booleans())
@example(lists_ping=True)
def test_client_pings_brokers_that_list_it(client: ClientUnderTest, lists_ping: bool) -> None:
    """A client pings a broker if and only if the broker lists Ping."""
    with played(client, cluster(lists_ping=lists_ping)) as play:
        pings = [request for request in play.recording.requests if request.api_key == PING_KEY]
        assert bool(pings) is lists_ping
        assert all(request.is_served for request in pings)
