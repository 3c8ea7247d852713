"""A client late for lack of CPU is played again before its failure is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clauses.catalogue import catalogue
from conformance.assertions.client_moves import assert_ends_by_itself, assert_works
from conformance.engine.property_judge import PropertyJudge
from conformance.engine.second_plays import MAX_IN_ALL, MAX_WAIT_MS, SecondPlays
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.play_cache import PlayCache
from reference_model.clients.scripts.script import HEALTHY_SCRIPT, Script
from reports.records import PlannedCell, Verdict
from reports.repeats import ShownBy
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.run_writer import RunWriter
from tests.conformance.client_plays import ABORTED, FAILED, HEALTHY, WELL, entry

CLAUSE = catalogue()["KIP-35.client-survives-nonsense"]
LATE_MS = MAX_WAIT_MS + 1
LATE_AND_FAILED, LATE_AND_ABORTED = (
    replace(FAILED, waited_ms=LATE_MS),
    replace(ABORTED, waited_ms=LATE_MS),
)
SCRIPTS = [replace(HEALTHY_SCRIPT, timeout_ms=1000 + number) for number in range(MAX_IN_ALL + 2)]


def body(client: ClientUnderTest, script: Script) -> None:
    """Fail by what was seen if the client is aborted, and by time if it does not work."""
    play = client.play(script)
    assert_ends_by_itself(client, play)
    assert_works(play)


class WorkingClient(ClientUnderTest):
    """A client that works with a healthy broker."""

    @property
    def healthy(self) -> Play:
        """The play of a healthy broker."""
        return HEALTHY


class RunOfPlays:
    """A property that is judged by plays which end one after the other as a test says."""

    def __init__(self, runs: Path, *ends: DriverResult) -> None:
        self.left = list(ends)
        plays = PlayCache(self._submit)
        self.client = WorkingClient(entry(), plays, artefacts={}, too_slow=str)
        self.recorder = RunRecorder(RunWriter(runs, catalogue=catalogue(), tier="smoke", seed=None), tier="smoke")
        self.key = CellKey(CLAUSE.id, self.client.target.id, self.client.listener)
        planned = PlannedCell(clause=CLAUSE.id, target=self.key.target, listener=self.key.listener)
        self.recorder.plan([(planned, "MUST")], [])
        self.judge = PropertyJudge(self.recorder, self.client, (CLAUSE,), "test_something", second_plays=SecondPlays())

    def _submit(self, script: Script) -> Future[Play]:
        done: Future[Play] = Future()
        recording = replace(HEALTHY.recording, script=script)
        done.set_result(Play(recording=recording, result=self.left.pop(0)))
        return done

    def judged(self, scripts: Sequence[Script] = SCRIPTS[:1]) -> Verdict:
        """Judge these scripts; return the verdict."""
        for script in scripts:
            try:
                self.judge.judge(body, {"client": self.client, "script": script})
            except AssertionError:
                continue
        return self.recorder.cells[self.key].verdict


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([LATE_AND_FAILED, WELL], Verdict.CONFORMS),
        ([LATE_AND_FAILED, replace(WELL, waited_ms=LATE_MS)], Verdict.CONFORMS),
        ([LATE_AND_FAILED, LATE_AND_FAILED, WELL], Verdict.CONFORMS),
        ([LATE_AND_FAILED, FAILED], Verdict.VIOLATES),
        ([LATE_AND_FAILED, ABORTED], Verdict.VIOLATES),
        ([LATE_AND_FAILED] * 3, Verdict.VIOLATES),
        ([FAILED], Verdict.VIOLATES),
        ([LATE_AND_ABORTED], Verdict.VIOLATES),
    ],
    ids=[
        *("once-late", "late-and-works", "late-twice", "fails-in-time", "fails-otherwise"),
        *("always-late", "not-late", "late-but-aborted"),
    ],
)
def test_late_client_is_played_again(ends: list[DriverResult], expected: Verdict, tmp_path: Path) -> None:
    """Only if time alone shows its failure, and a few times; the last play counts."""
    run = RunOfPlays(tmp_path, *ends)
    assert run.judged() is expected
    assert run.left == []


def test_failure_has_the_evidence_of_its_last_play(tmp_path: Path) -> None:
    """What a second play shows is recorded in place of the first one."""
    run = RunOfPlays(tmp_path, LATE_AND_FAILED, ABORTED)
    run.judged()
    (failure,) = run.recorder.cells[run.key].failures.values()
    assert (failure.kind, failure.evidence) == ("ClientAborted", ShownBy.BYTES)


def test_failure_that_stands_has_no_further_second_plays(tmp_path: Path) -> None:
    run = RunOfPlays(tmp_path, LATE_AND_FAILED, FAILED, LATE_AND_FAILED)
    assert run.judged(SCRIPTS[:2]) is Verdict.VIOLATES
    assert run.left == []


def test_bytes_in_a_second_play_say_nothing_of_lateness(tmp_path: Path) -> None:
    """The first play of another example may still be the machine's fault."""
    run = RunOfPlays(tmp_path, LATE_AND_FAILED, ABORTED, LATE_AND_FAILED, WELL)
    run.judged(SCRIPTS[:2])
    (failure,) = run.recorder.cells[run.key].failures.values()
    assert failure.evidence is ShownBy.BYTES
    assert run.left == []


def test_second_plays_are_limited(tmp_path: Path) -> None:
    """On a machine that stays busy each of them may take long."""
    ends: list[Any] = [*[LATE_AND_FAILED, WELL] * MAX_IN_ALL, LATE_AND_FAILED]
    run = RunOfPlays(tmp_path, *ends)
    assert run.judged(SCRIPTS[: MAX_IN_ALL + 1]) is Verdict.VIOLATES
    assert run.left == []
