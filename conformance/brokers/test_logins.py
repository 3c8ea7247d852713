"""Tests that each listed version of the SASL requests leads to a login.

They run on SASL listeners.
"""

from __future__ import annotations

import pytest

from conformance.brokers.vocabulary import *

LOGINS = Sweep(login_items, check_login)


@pytest.mark.swept(checks=[LOGINS.judge_again])
@pytest.mark.exhaustive
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.needs("handshake_listed")
@pytest.mark.clause("PROTOCOL.listed-sasl-versions-log-in")
def test_listed_sasl_versions_lead_to_a_login(broker: Broker) -> None:
    """With the right credentials, a client is let in with each listed version of SaslHandshake and SaslAuthenticate."""
    LOGINS.judge_all(JUDGE.get(), broker)
