"""Failing plays are played again, to distinguish a client that always fails from one that fails sometimes."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from conformance.engine.repeating import FailingExample
from conformance.engine.repeating_plays import REPEATS, repeat_play
from fixtures.registry.model_clients import model_client
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory_client import play_in_memory
from fixtures.under_test.plays import Plays
from reference_model.clients.script import Answer, Script, one_node
from reports.run.repeats import Tally

SCRIPT = one_node(Answer(error_code=42))
FAULT = "invalid-request-is-asked-again-without-end"


def client_with(*faults: str) -> ClientUnderTest:
    """Return a client whose plays have these faults, one after the other; empty for none."""
    left = iter(faults)

    def submit(script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        done.set_result(play_in_memory(script, next(left)))
        return done

    return ClientUnderTest(model_client(), Plays(submit), artefacts={})


def body(client: ClientUnderTest, script: Script) -> None:
    """Fail if the client sends more than one request."""
    requests = client.play(script).recording.requests
    assert len(requests) == 1, f"{len(requests)} requests"


@pytest.mark.parametrize(
    ("faults", "failed"),
    [((FAULT,) * REPEATS, REPEATS), (("", FAULT, ""), 1), (("",) * REPEATS, 0)],
)
def test_repeats_are_counted(faults: tuple[str, ...], failed: int) -> None:
    """Each repeat is a new play of the same script, judged by the same property."""
    client = client_with(*faults)
    example = FailingExample(body, {"client": client, "script": SCRIPT})
    repeats = repeat_play(client, example)
    assert repeats is not None
    assert repeats.used == Tally(failed, REPEATS)


def test_example_without_a_script_is_not_repeated() -> None:
    """There is nothing to play."""
    client = client_with()
    assert repeat_play(client, FailingExample(body, {"client": client})) is None
