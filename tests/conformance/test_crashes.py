"""The end of a target: the words for it, and the clause that it violates."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from conformance.assertions.clause_ids import (
    EVERY_ADVERTISED_VERSION_SERVED,
    MALFORMED_HURTS_NOBODY,
    WELL_FORMED_NEVER_CLOSED,
)
from conformance.assertions.client_moves import ClientAborted
from conformance.assertions.errors import TargetEnded, crash_in_words
from conformance.engine.crashes import clause_of_crash
from conformance.engine.property_judge import PropertyJudge
from fixtures.errors import BrokerGone, HarnessError
from fixtures.under_test.broker import Broker
from reports.records import Verdict
from reports.run.judged_examples import CellKey
from reports.wording.verdict_labels import CRASH_KINDS
from tests.conformance.judged_properties import (
    MUST,
    PIN,
    JudgedBroker,
    crashing,
    end_it,
    judged,
)
from wire.api_keys import METADATA_KEY
from wire.exchange import Step

ENDED = "broker ended by SIGABRT; last lines of broker.out:"


@pytest.mark.parametrize(
    ("last_words", "why"),
    [
        pytest.param((ENDED, "started", "panic: no memory", "frame 1", "panic: 2"), 2, id="panic"),
        pytest.param((ENDED, "panic: no memory", "frame 1"), 1, id="panic-at-once"),
        pytest.param((ENDED, "started", "frame 1"), 0, id="no-reason"),
        pytest.param((ENDED,), 0, id="no-output"),
    ],
)
def test_a_crash_is_summed_up_by_the_line_with_its_reason(last_words: tuple[str, ...], why: int) -> None:
    text = "\n  ".join(last_words)
    assert crash_in_words(text) == (f"this request crashes the target: {last_words[why]}", text)


def of_metadata(broken: str) -> Step:
    """Return a step that sends Metadata."""
    step = crashing(broken)
    (exchange,) = step.exchanges
    header = replace(exchange.request.header, request_api_key=METADATA_KEY)
    return replace(step, exchanges=(replace(exchange, request=replace(exchange.request, header=header)),))


@pytest.mark.parametrize(
    ("steps", "clause"),
    [
        pytest.param([crashing(""), crashing("")], WELL_FORMED_NEVER_CLOSED, id="well-formed"),
        pytest.param([crashing(""), crashing("odd"), crashing("")], MALFORMED_HURTS_NOBODY, id="one-malformed"),
        pytest.param([crashing(""), Step(connection=1, pieces=(b"\0",))], MALFORMED_HURTS_NOBODY, id="no-frame"),
        pytest.param([crashing(""), Step(connection=0)], WELL_FORMED_NEVER_CLOSED, id="closed"),
        pytest.param([crashing(""), of_metadata("")], EVERY_ADVERTISED_VERSION_SERVED, id="another-api"),
        pytest.param([crashing(""), of_metadata("odd")], MALFORMED_HURTS_NOBODY, id="another-api-malformed"),
    ],
)
def test_the_clause_of_a_crash_depends_on_what_was_sent(steps: list[Step], clause: str) -> None:
    assert clause_of_crash(steps).id == clause


@pytest.mark.parametrize("is_started_by_others", [False, True])
def test_request_that_ends_a_fresh_target_too_is_a_violation(is_started_by_others: bool, tmp_path: Path) -> None:
    """A request that ended the target twice is to blame, and the target is started again afterwards."""
    broker = JudgedBroker(revivals=5, is_started_by_others=is_started_by_others)
    case = judged(tmp_path, broker)

    with pytest.raises(TargetEnded, match="exit status 139"):
        case.run(end_it, 1)
    assert case.verdict is Verdict.VIOLATES
    # Others start it again in their own time; the next example waits for them.
    assert broker.revivals == 3 + is_started_by_others


def test_a_crash_is_laid_to_the_clause_about_it(tmp_path: Path) -> None:
    """The clause about crashes is also violated if the property is a PIN that does not bind the target."""
    broker = JudgedBroker(revivals=5)
    case = judged(tmp_path, broker, PIN, also_planned=(WELL_FORMED_NEVER_CLOSED,))
    key = case.key._replace(clause=WELL_FORMED_NEVER_CLOSED)

    def crash(value: int) -> None:
        broker.journal.append(crashing(""))
        raise BrokerGone("it ended: exit status 2\npanic: nil pointer")

    with contextlib.suppress(TargetEnded):
        case.run(crash, 1)
    assert case.recorder.cells[key].verdict is Verdict.VIOLATES
    (failure,) = case.recorder.cells[key].failures.values()
    assert failure.first_line == "this request crashes the target: panic: nil pointer"
    assert failure.is_crash
    assert case.judge.failed_elsewhere == {WELL_FORMED_NEVER_CLOSED}


def test_the_end_of_a_target_that_is_not_ours_is_a_crash(tmp_path: Path) -> None:
    """The latest example that sent anything is to blame; the property that meets the end, and all later ones, name
    the clause."""
    blamed, step = MALFORMED_HURTS_NOBODY, crashing("odd")
    broker = JudgedBroker(last_sent=(step,))
    case = judged(tmp_path, broker, PIN, also_planned=(blamed,))
    for value in range(2):
        with pytest.raises(BrokerGone, match=f"exit status 139; {blamed} judges this"):
            case.run(end_it, value)
    assert case.ran == [0]
    key = CellKey(blamed, broker.target.id, broker.listener)
    assert case.recorder.cells[key].verdict is Verdict.VIOLATES
    (failure,) = case.recorder.cells[key].failures.values()
    assert (failure.is_crash, failure.steps) == (True, (step,))
    assert case.judge.failed_elsewhere == {blamed}
    later = PropertyJudge(case.recorder, cast(Broker, broker), (PIN,), "test_later")
    with pytest.raises(BrokerGone, match=blamed):
        later.judge(end_it, {"value": 0})
    assert len(case.recorder.cells[key].failures) == 1


def test_the_end_of_a_target_that_others_ask_too_blames_nobody(tmp_path: Path) -> None:
    """With requests of other processes under way, the latest example may be innocent; the reason says what to do."""
    broker = JudgedBroker(last_sent=(crashing("odd"),), is_shared=True)
    case = judged(tmp_path, broker, PIN, also_planned=("PROTOCOL.malformed-hurts-nobody",))
    for value in range(2):
        with pytest.raises(BrokerGone, match="not known which request ended it: judge it with --jobs 1"):
            case.run(end_it, value)
    assert all(cell.verdict is not Verdict.VIOLATES for cell in case.recorder.cells.values())


def test_a_crash_violates_the_property_if_no_clause_about_it_is_planned(tmp_path: Path) -> None:
    """A run of a few properties names one of theirs."""
    broker = JudgedBroker(last_sent=(crashing("odd"),))
    case = judged(tmp_path, broker)
    with pytest.raises(BrokerGone, match=MUST.id):
        case.run(end_it, 0)
    assert case.verdict is Verdict.VIOLATES
    assert case.judge.failed_elsewhere == set()


def test_target_that_ends_a_moment_later_has_ended(tmp_path: Path) -> None:
    """Observed with kfake: it closes the connection, and its panic ends it afterwards."""
    broker = JudgedBroker(revivals=5)
    case = judged(tmp_path, broker)
    times = iter(range(2))

    def end_late(value: int) -> None:
        if next(times) == 0:
            raise BrokerGone("exit status 2")
        broker.is_alive = False

    with pytest.raises(TargetEnded, match="exit status 2"):
        case.run(end_late, 1)


@pytest.mark.parametrize("is_started_by_others", [False, True])
def test_target_that_ends_once_leaves_a_doubt(is_started_by_others: bool, tmp_path: Path) -> None:
    """A request that does not end a fresh target may not be to blame."""
    broker = JudgedBroker(revivals=5, is_started_by_others=is_started_by_others)
    case = judged(tmp_path, broker)
    ends = iter([True, False])

    def end_once(value: int) -> None:
        if next(ends):
            raise BrokerGone("exit status 139")

    with pytest.raises(HarnessError, match="did not end it again"):
        case.run(end_once, 1)
    assert case.verdict is not Verdict.VIOLATES
    assert case.ran == [1, 1]


@pytest.mark.parametrize("fails_again", [False, True])
def test_what_a_target_does_while_it_is_away_does_not_count(fails_again: bool, tmp_path: Path) -> None:
    """Something in front of it closes connections meanwhile; the example is judged again when it is back."""
    case = judged(tmp_path, JudgedBroker(is_away=True))
    fails = iter([True, fails_again])

    def close(value: int) -> None:
        assert not next(fails), "the target closed the connection"

    with pytest.raises(AssertionError if fails_again else HarnessError, match="the target closed"):
        case.run(close, 1)
    assert (case.verdict is Verdict.VIOLATES) == fails_again
    assert case.ran == [1, 1]


def test_reports_know_the_errors_of_a_crash() -> None:
    """The kind of a failure is the name of its exception class."""
    assert {TargetEnded.__name__, ClientAborted.__name__} == CRASH_KINDS
