"""A client that fails with a healthy broker on one listener is judged on others.

The report gives the reason.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

import pytest

from conformance.roles.client_needs import unmet_need
from fixtures.errors import ClientFails
from fixtures.registry.model_clients import model_client
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory_client import play_in_memory
from fixtures.under_test.play_cache import PlayCache
from reference_model.clients.scripts.script import Answer, Script
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT, SSL
from tests.conformance.client_plays import FAILED
from tests.reference_model.clients.recordings import asked, recorded

TWICE = recorded(asked(0), asked(4, Answer(action="close"), at_ms=1))
"""A client that asks in its newest version before it authenticates, after a first request in v0."""


def client_failing_on(*listeners: str) -> ClientUnderTest:
    """Return a client that works with a healthy broker, but not on some listeners."""

    def submit(script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        failed = Play(recording=replace(TWICE, script=script), result=FAILED)
        done.set_result(failed if script.listener in listeners else play_in_memory(script))
        return done

    return ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=str)


def test_client_that_fails_with_sasl_is_judged_without_it() -> None:
    """Properties with SASL do not judge it, and say what it did wrong there; those without SASL, or over TLS, do."""
    client = client_failing_on(SASL_PLAINTEXT)
    assert client.works
    assert unmet_need(("asks_versions", "option:tls"), client) is None
    with pytest.raises(ClientFails) as caught:
        unmet_need(("asks_versions", "option:sasl_plain"), client)
    first, reason = str(caught.value).splitlines()
    assert first.startswith(
        "model fails against a healthy scripted broker with SASL, so it cannot be judged on sasl_plaintext: "
    )
    assert reason.startswith("a second ApiVersions before SaslHandshake: ApiVersions v4 on connection 0")


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        pytest.param(SSL, "a healthy scripted broker with TLS, so it cannot be judged on ssl: ", id="tls"),
        pytest.param(PLAINTEXT, "a healthy scripted broker, so it cannot be judged: ", id="plaintext"),
    ],
)
def test_failure_names_its_listener(listener: str, words: str) -> None:
    """The sentence says with which broker the client failed."""
    with pytest.raises(ClientFails, match=words):
        client_failing_on(listener).healthy_on(listener)
