"""Tests of clients with TLS: no request before the handshake is finished."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


@pytest.mark.needs("option:tls")
@pytest.mark.clause("KIP-35.client-waits-for-tls")
@given(script=healthy_brokers_with_tls())
@settings(max_examples=1)
@example(script=WITH_TLS)
@example(script=LOST_WITH_TLS)
@example(script=SEVERAL_WITH_TLS)
def test_nothing_is_sent_before_the_tls_handshake(client: ClientUnderTest, script: Script) -> None:
    """A client writes nothing unencrypted on any of its connections.

    These are its first connections, connections after lost ones, and connections to brokers that it learns of.
    """
    with played(client, script) as play:
        assert_waits_for_tls(play)
