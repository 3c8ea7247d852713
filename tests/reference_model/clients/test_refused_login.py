"""Tests of a scripted broker that authenticates no client.

It sends an error in a step of SASL, or closes the connection instead.
"""

from __future__ import annotations

import pytest

from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.scripts.script import ConnectionScript, LoginRefusal, all_connections
from reference_model.profiles.listeners import SASL_PLAINTEXT
from strategies.secured_scripts import broker_that_refuses_login
from tests.reference_model.clients.scripted_network import ScriptedNetwork, other
from wire.api_keys import SASL_HANDSHAKE_KEY
from wire.described_messages import SASL_APIS
from wire.frames import encode_frame


@pytest.mark.parametrize(
    ("how", "error"),
    [
        pytest.param("mechanism", "BrokerError: SASL: the broker responded with error 33", id="mechanism"),
        pytest.param("password", "BrokerError: SASL: the broker responded with error 58", id="password"),
        pytest.param("close", "ConnectionLost: the broker closed the connection", id="close"),
    ],
)
def test_correct_client_reports_what_was_refused(how: LoginRefusal, error: str) -> None:
    """The broker closes each connection with its refusal, and no Metadata gets a response."""
    play = play_in_memory(broker_that_refuses_login(how))
    assert (play.result.outcome, play.result.detail) == ("error", error)
    assert {each.closed_by for each in play.recording.connections} == {"broker"}


@pytest.mark.parametrize(
    ("how", "is_closed"),
    [
        pytest.param("password", True, id="refused"),
        pytest.param("", False, id="accepted"),
    ],
)
def test_bare_token_is_refused_by_a_close(how: LoginRefusal, is_closed: bool) -> None:
    """After SaslHandshake v0 a token has no header, and neither has its response, which could say why."""
    script = all_connections(ConnectionScript(refused_login=how), listener=SASL_PLAINTEXT)
    network = ScriptedNetwork(script)
    network.connection.receive_data(other(SASL_APIS[SASL_HANDSHAKE_KEY], 0, mechanism="PLAIN"), 1)
    (write,) = network.connection.receive_data(encode_frame(b"\0a\0b"), 2)
    assert (write.then == "close", bool(write.data)) == (is_closed, not is_closed)
