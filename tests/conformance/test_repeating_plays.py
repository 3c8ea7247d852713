"""Failing plays are played again alone, next to a control.

This distinguishes a client's fault from chance and from a slow machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.assertions.evidence import assert_in_time
from conformance.engine import repeating_plays
from conformance.engine.repeating import FailingExample
from conformance.engine.repeating_plays import (
    MAX_PAUSES,
    PAUSE_S,
    PLAYS_TO_ESTIMATE,
    repeat_plays,
    repeat_trial,
)
from fixtures.errors import HarnessError
from fixtures.registry.clients import select_clients
from fixtures.registry.model_clients import model_client
from fixtures.registry.targets import select_targets
from fixtures.scripted_broker.playing import PLAYS_IF_ALL_FAIL, Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.control import STARVED_MS
from fixtures.under_test.in_memory_client import play_in_memory
from fixtures.under_test.play_cache import PlayCache
from fixtures.under_test.trial import ChosenTrial, Trial
from reference_model.clients.scripts.script import HEALTHY_SCRIPT, Answer, Script, one_node
from reports.repeats import FailureClass, Repeats, ShownBy, Tally
from tests.conformance.client_plays import FAILED, WELL
from tests.conformance.test_brokers_at_fault import SLOW, recording_of

SCRIPT = one_node(Answer(error_code=42))
FAULT = "invalid-request-is-asked-again-without-end"
BUSY = "the machine is too busy"
CONTROLS = ("control", "control")
"""Next to a round, and after it."""


@cache
def played(script: Script, fault: str) -> Play:
    """Return the play of a script by a client with a fault, or without for an empty name."""
    return play_in_memory(script, fault)


def client_with(*faults: str, control: Callable[[], str] = str) -> ClientUnderTest:
    """Return a client whose plays have these faults, one after the other; empty for none."""
    left = iter(faults)

    def submit(script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        done.set_result(played(script, next(left)))
        return done

    return ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=control)


@pytest.mark.parametrize(("failures", "works"), [(0, True), (1, True), (2, False)])
def test_client_is_judged_unless_it_fails_twice_with_a_healthy_broker(failures: int, works: bool) -> None:
    """On a busy machine one play may take longer than it may; nothing of the client would be judged then."""
    begun: list[Script] = []

    def submit(script: Script) -> Future[Play]:
        begun.append(script)
        done: Future[Play] = Future()
        result = FAILED if len(begun) <= failures else WELL
        done.set_result(replace(played(script, ""), result=result))
        return done

    client = ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=str)
    assert [client.works, client.works] == [works, works]
    assert len(begun) == min(failures, 1) + 1
    if works:
        assert client.play(HEALTHY_SCRIPT) is client.healthy


def body(client: ClientUnderTest, script: Script) -> None:
    """Fail by time if the client sends more than one request."""
    requests = client.play(script).recording.requests
    assert_in_time(len(requests) == 1, f"{len(requests)} requests")


def body_of_bytes(client: ClientUnderTest, script: Script) -> None:
    """Fail by bytes if the client sends more than one request."""
    requests = client.play(script).recording.requests
    assert len(requests) == 1, f"{len(requests)} requests"


def failure_of(client: ClientUnderTest, script: Script = SCRIPT, *, evidence: ShownBy = ShownBy.TIME) -> FailingExample:
    """Return a failure of a client."""
    fails = body if evidence is ShownBy.TIME else body_of_bytes
    return FailingExample(fails, {"client": client, "script": script}, evidence)


def repeats_of(client: ClientUnderTest, evidence: ShownBy = ShownBy.TIME) -> Repeats:
    """Return the repeats of a failure of a client."""
    (repeats,) = repeat_plays(client, [failure_of(client, evidence=evidence)])
    assert repeats is not None
    return repeats


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses that repeats make, which take no time."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


@pytest.mark.parametrize(
    ("faults", "tally"),
    [
        ((FAULT, FAULT), Tally(2, PLAYS_IF_ALL_FAIL)),
        ((FAULT, "", FAULT, FAULT), Tally(2, PLAYS_IF_ALL_FAIL)),
        (("", FAULT, "", FAULT), Tally(2, PLAYS_TO_ESTIMATE)),
        (("", "", FAULT, ""), Tally(1, PLAYS_TO_ESTIMATE)),
        (("", "", "", ""), Tally(0, PLAYS_TO_ESTIMATE)),
    ],
)
def test_repeats_are_counted(faults: tuple[str, ...], tally: Tally) -> None:
    """A failure that does not recur side by side with others is repeated alone, and only that counts."""
    assert repeats_of(client_with(*faults)).used == tally


def test_failures_are_repeated_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gets its own result, and those that take longest come last. The fifth does not recur at once, and is
    repeated alone after all others."""
    monkeypatch.setattr(repeating_plays, "SIDE_BY_SIDE", 3)
    began: list[str] = []

    def control() -> str:
        began.append("control")
        return ""

    def submit(script: Script) -> Future[Play]:
        began.append(str(script.timeout_ms - 2000))
        done: Future[Play] = Future()
        is_first_of_5 = script.timeout_ms == 2005 and began.count("5") == 1
        done.set_result(played(script, "" if is_first_of_5 else FAULT))
        return done

    client = ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=control)
    numbers = (4, 1, 5, 2, 6, 3)
    examples = [failure_of(client, replace(SCRIPT, timeout_ms=2000 + each)) for each in numbers]
    found = repeat_plays(client, examples)
    assert [each and each.used for each in found] == [Tally(2, 2)] * 6
    first, second = ["1", "2", "3", *CONTROLS], ["4", "5", "6", *CONTROLS]
    alone = ["control", "5"]
    assert began == [
        *first,
        *first,
        *second,
        "4",
        "6",
        *CONTROLS,
        *alone,
        *alone,
        "control",
    ]


def test_example_without_a_script_is_not_repeated() -> None:
    client = client_with()
    assert repeat_plays(client, [FailingExample(body, {"client": client})]) == [None]


def test_failure_that_recurs_with_a_fast_control_counts() -> None:
    """The control is played next to each round, and after it."""
    sentence = iter([""] * 2 * PLAYS_IF_ALL_FAIL)
    repeats = repeats_of(client_with(FAULT, FAULT, control=lambda: next(sentence)))
    assert not list(sentence)
    assert repeats.failure_class is FailureClass.DETERMINISTIC
    assert not repeats.leaves_open


@pytest.mark.parametrize("slow", range(2 * PLAYS_IF_ALL_FAIL))
def test_slow_control_of_a_round_has_the_failure_repeated_alone(slow: int) -> None:
    """What counts is then how it fails alone."""
    sentence = iter([*[""] * slow, BUSY, *[""] * (PLAYS_IF_ALL_FAIL + 1)])
    repeats = repeats_of(client_with(*[FAULT] * 4, control=lambda: next(sentence)))
    assert not list(sentence)
    assert repeats.failure_class is FailureClass.DETERMINISTIC


@pytest.mark.parametrize("slow", range(PLAYS_IF_ALL_FAIL + 1))
def test_failure_that_recurs_with_a_slow_control_proves_nothing(slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is too slow before, between or after the repeats that a failure has alone may be to blame for
    each."""
    sentence = iter([BUSY, *([""] * slow + [BUSY])])
    monkeypatch.setattr(repeating_plays, "MAX_PAUSES", 0)
    repeats = repeats_of(client_with(FAULT, FAULT, FAULT, control=lambda: next(sentence)))
    assert repeats.failure_class is FailureClass.TOO_SLOW
    assert repeats.leaves_open == BUSY
    assert repeats.used == Tally(slow, slow)


@pytest.mark.parametrize("slow", [1, MAX_PAUSES])
def test_failure_by_time_waits_for_a_quieter_moment(slow: int, pauses: list[float]) -> None:
    sentence = iter([*[BUSY] * (1 + slow), *[""] * (PLAYS_IF_ALL_FAIL + 1)])
    repeats = repeats_of(client_with(*[FAULT] * 3, control=lambda: next(sentence)))
    assert repeats.failure_class is FailureClass.DETERMINISTIC
    assert pauses == [PAUSE_S] * slow


@pytest.mark.parametrize("starved", [1, 3])
def test_repeat_of_a_starved_client_does_not_count(starved: int, pauses: list[float]) -> None:
    """The kernel says that it waited for a CPU, although the control was fast."""
    waits_ms = iter([STARVED_MS + 1] * starved + [STARVED_MS] * 2)

    def submit(script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        result = replace(WELL, waited_ms=next(waits_ms))
        done.set_result(replace(played(script, FAULT), result=result))
        return done

    client = ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=str)
    assert repeats_of(client) == Repeats(used=Tally(2, 2))
    assert pauses == [PAUSE_S] * (starved - 1)


def test_machine_that_stays_busy_is_not_waited_for_without_end(pauses: list[float]) -> None:
    """All failures of a client share the pauses."""
    client = client_with(*[FAULT] * 2, control=lambda: BUSY)
    examples = [failure_of(client), failure_of(client, replace(SCRIPT, timeout_ms=2001))]
    found = repeat_plays(client, examples)
    assert [each and each.leaves_open for each in found] == [BUSY, BUSY]
    assert pauses == [PAUSE_S] * MAX_PAUSES


def never_asked() -> str:
    """Raise if a control is played."""
    raise AssertionError("a control is played")


def test_failure_by_bytes_needs_no_control() -> None:
    """Bytes are the same on a busy machine."""
    repeats = repeats_of(client_with(FAULT, FAULT, control=never_asked), ShownBy.BYTES)
    assert (repeats.failure_class, repeats.used) == (FailureClass.DETERMINISTIC, Tally(2, 2))


def test_failures_by_bytes_recur_next_to_one_by_time() -> None:
    """A slow control sets aside what time shows, and nothing else of the round."""
    client = client_with(*[FAULT] * 4, control=lambda: BUSY)
    longer = replace(SCRIPT, timeout_ms=9000)
    examples = [failure_of(client, evidence=ShownBy.BYTES), failure_of(client, longer)]
    by_bytes, by_time = repeat_plays(client, examples)
    assert by_bytes is not None
    assert (by_bytes.used, by_bytes.leaves_open) == (Tally(2, 2), "")
    assert by_time is not None
    assert by_time.leaves_open == BUSY


HUNG = "hung"


def playing(*ends: str, control: str) -> ClientUnderTest:
    """Return a client whose plays end like this: with a fault, without for "", or `HUNG` before it showed anything."""
    left = iter(ends)

    def submit(script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        end = next(left)
        result = replace(WELL, killed_for="time" if end == HUNG else "")
        done.set_result(replace(played(script, "" if end == HUNG else end), result=result))
        return done

    return ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=lambda: control)


@pytest.mark.parametrize(
    ("ends", "control", "expected"),
    [
        ((HUNG, HUNG, FAULT, HUNG, FAULT), BUSY, Repeats(used=Tally(2, 2))),
        ((HUNG, FAULT, HUNG, HUNG, HUNG), BUSY, Repeats(used=Tally(1, 1))),
        ((HUNG, HUNG, HUNG, HUNG), BUSY, Repeats(used=Tally(0, 0), trouble=BUSY)),
        ((HUNG, HUNG, HUNG, HUNG), "", Repeats(used=Tally(0, 3))),
        ((HUNG, "", "", ""), BUSY, Repeats(used=Tally(0, 3))),
    ],
    ids=["recurs-later", "recurs-once", "never-in-time", "hangs-by-itself", "is-in-time"],
)
def test_repeat_out_of_its_time_says_nothing_about_bytes(
    ends: tuple[str, ...], control: str, expected: Repeats
) -> None:
    """A busy machine keeps the client from what it did before; the failure that was seen then counts all the same."""
    repeats = repeats_of(playing(*ends, control=control), ShownBy.BYTES)
    assert repeats == expected
    assert bool(repeats.leaves_open) is (repeats.used == Tally(0, 3))


def test_failure_that_never_recurs_needs_no_last_control() -> None:
    sentence = iter([""] * (PLAYS_TO_ESTIMATE + 1))
    repeats = repeats_of(client_with("", "", "", "", control=lambda: next(sentence)))
    assert repeats.leaves_open == "it recurred in none of 3 repeats"


def test_repeat_that_cannot_be_judged_is_no_failure() -> None:
    """A fault of the scripted broker in a repeat proves nothing about a client."""

    def submit(script: Script) -> Future[Play]:
        failed: Future[Play] = Future()
        failed.set_exception(HarnessError("the scripted broker failed"))
        return failed

    client = ClientUnderTest(model_client(), PlayCache(submit), artefacts={}, too_slow=str)
    assert repeats_of(client).leaves_open == "it recurred in none of 3 repeats"


class FakeTrials:
    """The trials with one broker, which end as a test says."""

    def __init__(self, *plays: Any) -> None:
        self.plays = list(plays)
        self.broker = SimpleNamespace(how_it_ended=lambda: None)

    def again(self, _: ChosenTrial) -> Any:
        """Return the plays in turn; the last one again and again."""
        return self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]

    def too_slow(self) -> str:
        """The machine is fast enough."""
        return ""


def repeats_of_hangs(*plays: tuple[int, bool]) -> Repeats:
    """Return the repeats of an operation that hung: how long the broker took for its answers, and whether it hangs,
    in each."""
    (release,) = select_targets(["apache-kafka-2.8.2"])
    (client,) = select_clients(["aiokafka-0.14.0"])
    trials: Any = FakeTrials(
        *(
            Play(
                recording=recording_of(took_ms),
                result=replace(WELL, killed_for="time" if hung else ""),
            )
            for took_ms, hung in plays
        )
    )
    trial = Trial(ChosenTrial(release, client, "produce"), trials)
    return repeat_trial(trial, FailingExample(hangs, {"trial": trial}, ShownBy.TIME))


def hangs(trial: Trial) -> None:
    """Fail, as an operation that hangs."""
    assert_in_time(not trial.play().result.has_hung, "the operation hangs")


@pytest.mark.parametrize(
    ("took_ms", "expected"),
    [(5, FailureClass.DETERMINISTIC), (SLOW, FailureClass.TOO_SLOW)],
)
def test_slow_broker_is_no_hang_of_a_client(took_ms: int, expected: FailureClass) -> None:
    """The recording of a repeat shows how long the broker took for its answers."""
    repeats = repeats_of_hangs((took_ms, True))
    assert repeats.failure_class is expected
    assert bool(repeats.leaves_open) is (expected is FailureClass.TOO_SLOW)


@pytest.mark.parametrize(
    ("hung", "expected"),
    [((True, True), FailureClass.DETERMINISTIC), ((True, False, True), FailureClass.TOO_SLOW)],
    ids=["each-time", "not-each-time"],
)
def test_hang_counts_only_if_each_repeat_hangs(hung: tuple[bool, ...], expected: FailureClass) -> None:
    """An operation that ends in time now and then is not flaky: nothing is known about the client."""
    repeats = repeats_of_hangs(*((5, each) for each in hung))
    assert repeats.failure_class is expected
    sentence = "it hangs in 2 of 3 repeats, and a hang counts only if each repeat hangs"
    assert repeats.leaves_open == ("" if expected is FailureClass.DETERMINISTIC else sentence)
