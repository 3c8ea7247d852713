"""A failure of an operation says that the broker may be at fault, if it contradicts itself or two libraries fail alike."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.operation_results import Unsupported
from conformance.operations.trials import client_operates
from fixtures.client.running_broker import Address, RunningBroker
from fixtures.client_processes.driver_process import DriverResult
from fixtures.recording_proxy.operation import TriedPlay
from fixtures.registry.clients import Client, select_clients
from fixtures.registry.targets import select_targets
from fixtures.under_test import trial as trial_module
from fixtures.under_test.trial import ChosenTrial, Trial, Trials
from reference_model.clients.scripts.recording import Recording
from reference_model.profiles.listeners import PLAINTEXT
from tests.conformance.client_plays import ABORTED, WELL
from tests.conformance.test_contradictions import REFUSED, ended, fetched, seen, written
from tests.conformance.test_operation_results import DOOMED

RELEASE = select_targets(["apache-kafka-4.4.0"])[0]
OPERATION = "transactional-produce"
JUDGED, SAME_LIBRARY, OTHER, THIRD = (
    select_clients([name])[0]
    for name in (
        "kafka-clients-3.9.2-admin",
        "kafka-clients-2.8.2-admin",
        "aiokafka-0.14.0",
        "franz-go-1.22.3",
    )
)
WRONG = replace(WELL, outcome="error", detail="WrongResult: the record came back as b'aborted'")
OTHERWISE = replace(WELL, outcome="error", detail="TimeoutException", exit_status=1)
HUNG = replace(WELL, outcome="error", detail="no result after 20.0 s")
READ = seen(written(0), ended(), fetched(3, 3))
FAULT = "the broker may be at fault: "


def tried(result: DriverResult, recording: Recording = READ) -> Any:
    """Return a play of the operation with this end."""
    return TriedPlay(recording=recording, result=result)


class PreparedPool:
    """Runs nothing; each client has a prepared play, or fails to run."""

    def __init__(self, plays: dict[str, Any]) -> None:
        self._plays = plays

    def submit(self, _: Any, __: Any, client: Client, *___: Any) -> Future[Any]:
        """Return the play of a client."""
        done: Future[Any] = Future()
        play = self._plays[client.id]
        if isinstance(play, Exception):
            done.set_exception(play)
        else:
            done.set_result(play)
        return done


def message_of(
    monkeypatch: pytest.MonkeyPatch, judged: Any, *others: tuple[Client, Any]
) -> list[str]:
    """Return the lines of the failure of one client, tried with others."""
    monkeypatch.setattr(trial_module, "installed", lambda client: client.id)
    plays = {client.id: play for client, play in ((JUDGED, judged), *others)}
    broker = RunningBroker(
        target=RELEASE, launcher="process", addresses={PLAINTEXT: Address("127.0.0.1", 9)}
    )
    trials = Trials(broker, PreparedPool(plays))  # type: ignore[arg-type]
    chosen = [ChosenTrial(RELEASE, client, OPERATION) for client, _ in ((JUDGED, None), *others)]
    trials.begin(chosen)
    with pytest.raises(AssertionError) as raised:
        client_operates(Trial(chosen[0], trials))
    return str(raised.value).splitlines()


def test_libraries_that_fail_alike_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line stays as it is, and the last one sums the play up."""
    others = ((OTHER, tried(WRONG)), (THIRD, tried(WRONG)), (SAME_LIBRARY, tried(WRONG)))
    first, doubt, last = message_of(monkeypatch, tried(WRONG), *others)
    assert first.startswith("the operation reports success, but the record came back")
    assert doubt == f"{FAULT}aiokafka-0.14.0, franz-go-1.22.3 fails alike"
    assert "connection" in last


@pytest.mark.parametrize(
    ("judged", "other"),
    [
        pytest.param(tried(WRONG), tried(WELL), id="other-works"),
        pytest.param(tried(WRONG), tried(OTHERWISE), id="other-failure"),
        pytest.param(tried(WRONG), OSError("no such program"), id="other-not-run"),
        pytest.param(tried(HUNG, DOOMED), tried(HUNG, DOOMED), id="unsupported-requests"),
        pytest.param(tried(ABORTED), tried(ABORTED), id="aborts"),
        pytest.param(tried(WRONG), tried(HUNG, DOOMED), id="other-sends-unsupported-requests"),
    ],
)
def test_broker_is_not_blamed(judged: Any, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another library does right, or each does wrong by itself, is no doubt."""
    lines = message_of(monkeypatch, judged, (OTHER, other))
    assert not [line for line in lines if FAULT in line]


def test_one_library_is_not_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions share the fault."""
    lines = message_of(monkeypatch, tried(WRONG), (SAME_LIBRARY, tried(WRONG)))
    assert not [line for line in lines if FAULT in line]


def test_broker_that_contradicts_itself_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that confirms the end of a transaction and never ends it."""
    held_back = seen(written(0), ended(), fetched(2, 0))
    first, doubt, _ = message_of(monkeypatch, tried(HUNG, held_back))
    assert first == "the operation neither succeeds nor fails: it hangs"
    assert doubt.startswith(f"{FAULT}it confirmed the end of a transaction")


def test_unsupported_operation_stays_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that says what the broker lacks has no failure that needs a doubt."""
    unsupported = replace(WELL, outcome="error", detail="UnsupportedVersionException: too old")
    monkeypatch.setattr(trial_module, "installed", lambda client: client.id)
    play = tried(unsupported, seen(REFUSED))
    broker = RunningBroker(
        target=RELEASE, launcher="process", addresses={PLAINTEXT: Address("127.0.0.1", 9)}
    )
    trials = Trials(broker, PreparedPool({JUDGED.id: play}))  # type: ignore[arg-type]
    with pytest.raises(Unsupported) as raised:
        client_operates(Trial(ChosenTrial(RELEASE, JUDGED, OPERATION), trials))
    assert FAULT not in str(raised.value)
