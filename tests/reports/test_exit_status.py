"""The exit status follows from the gravest verdict of all cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clauses.catalogue import Role
from reports.records import OPERATION, Verdict
from reports.repeats import Repeats, Tally
from reports.run.exit_status import ExitStatus, exit_status_of, reason_of
from reports.run.recorder import NOT_CHOSEN, RunRecorder, remarks, vacuous_clients
from reports.run.run_summary import summary_markdown
from reports.run.verdict_table import verdict_table
from tests.reports.recorders import (
    SIGNATURE,
    example_of,
    facts_of,
    finished_session,
    key_of,
    recorder_for,
)

OTHER = "KIP-511.names-accepted"
CONFORMS, VIOLATES, DOUBT = Verdict.CONFORMS, Verdict.VIOLATES, Verdict.INCONCLUSIVE
INFORMATION = Verdict.INFORMATIONAL


@pytest.mark.parametrize(
    ("level", "verdicts", "strict", "status"),
    [
        pytest.param("MUST", [CONFORMS], False, 0, id="conforms"),
        pytest.param("MUST", [CONFORMS, VIOLATES], False, 1, id="must"),
        pytest.param("PIN", [VIOLATES], False, 1, id="binding-pin"),
        pytest.param("PIN", [INFORMATION], True, 0, id="informational-pin"),
        pytest.param("SHOULD", [VIOLATES], False, 0, id="should"),
        pytest.param("SHOULD", [VIOLATES], True, 1, id="strict-should"),
        pytest.param("MAY", [VIOLATES], True, 0, id="may"),
        pytest.param("MUST", [CONFORMS, DOUBT], False, 10, id="inconclusive"),
        pytest.param("MUST", [VIOLATES, DOUBT], False, 1, id="violation-before-doubt"),
        pytest.param("MUST", [], False, 11, id="not-run"),
    ],
)
def test_cell_decides_the_status(
    level: str, verdicts: list[Verdict], strict: bool, status: int, tmp_path: Path
) -> None:
    """Next to a cell that conforms, a cell's verdict and the level of its clause decide the status."""
    recorder = recorder_for(tmp_path, {key_of(): level, key_of(OTHER): "MUST"})
    recorder.judged(example_of(CONFORMS, key_of(OTHER)))
    for verdict in verdicts:
        recorder.judged(example_of(verdict, message="seen" if verdict is VIOLATES else ""))
    assert exit_status_of(recorder, pytest_status=0, strict=strict) == status


@pytest.mark.parametrize(
    ("known", "verdicts", "status"),
    [
        ("reason", [VIOLATES], 0),
        ("reason", [CONFORMS], 1),
        ("", [CONFORMS], 0),
        ("reason", [VIOLATES, DOUBT], 10),
    ],
)
def test_declared_violation_excuses_just_itself(
    known: str, verdicts: list[Verdict], status: int, tmp_path: Path
) -> None:
    """A declared violation does not fail the run, but one that is gone, or what could not be judged, does."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation=known)
    for verdict in verdicts:
        recorder.judged(example_of(verdict))
    assert exit_status_of(recorder, pytest_status=0, strict=False) == status


def test_violated_must_is_said_whatever_could_not_be_judged(tmp_path: Path) -> None:
    """A violated MUST decides the status even if another cell is inconclusive."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "MUST"})
    recorder.judged(example_of(VIOLATES, message="seen"))
    recorder.judged(example_of(DOUBT, key_of(OTHER)))
    assert exit_status_of(recorder, pytest_status=1, strict=False) == 1
    assert recorder.cells[key_of(OTHER)].verdict is DOUBT


@pytest.mark.parametrize("failed", [0, 1, 3])
def test_violation_that_never_recurs_is_no_violated_must(failed: int, recorder: RunRecorder) -> None:
    recorder.judged(example_of(VIOLATES, message="seen"))
    recorder.repeated(key_of(), SIGNATURE, Repeats(used=Tally(failed, 3)))
    assert exit_status_of(recorder, pytest_status=1, strict=True) == (1 if failed else 10)


def test_failure_that_no_cell_explains_is_no_violation(recorder: RunRecorder) -> None:
    """A test that fails outside every verdict, for example in its teardown, never ends as a success either."""
    recorder.judged(example_of(CONFORMS))
    assert exit_status_of(recorder, pytest_status=1, strict=False) == 10


@pytest.mark.parametrize("pytest_status", range(4))
def test_interrupted_run_has_no_other_status(pytest_status: int, recorder: RunRecorder) -> None:
    """Whatever was judged by then, and whatever pytest knows of the interrupt."""
    recorder.judged(example_of(VIOLATES, message="seen"))
    recorder.stop()
    assert finished_session(recorder, pytest_status).exitstatus == 2


def test_other_failure_than_the_declared_one_fails(tmp_path: Path) -> None:
    """A cell that fails in another way than declared counts as violated."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="reason")
    recorder.judged(example_of(VIOLATES, message="seen"))
    recorder.mark_undeclared(key_of())
    assert exit_status_of(recorder, pytest_status=1, strict=False) == 1


@pytest.mark.parametrize(("verdict", "status"), [(CONFORMS, 12), (VIOLATES, 1), (DOUBT, 10)])
def test_stale_expectation_is_the_last_to_be_said(verdict: Verdict, status: int, recorder: RunRecorder) -> None:
    """A stale expectation decides the status only if nothing graver does."""
    recorder.stale_expectations = ["one"]
    recorder.judged(example_of(verdict))
    assert exit_status_of(recorder, pytest_status=0, strict=False) == status


@pytest.mark.parametrize("pytest_status", [2, 3, 4, 5])
def test_pytest_keeps_its_own_statuses(pytest_status: int, recorder: RunRecorder) -> None:
    """Pytest's statuses for interrupted, internal error, usage error and nothing collected stay unchanged."""
    assert exit_status_of(recorder, pytest_status=pytest_status, strict=False) == pytest_status


def test_no_cell_is_never_green(tmp_path: Path) -> None:
    """A run that planned nothing ends with pytest's status for nothing collected."""
    assert exit_status_of(recorder_for(tmp_path, {}), pytest_status=0, strict=False) == 5


def test_cell_that_does_not_apply_is_green(recorder: RunRecorder) -> None:
    """A cell that is not applicable neither fails the run nor makes it incomplete."""
    recorder.not_applicable(key_of(), "the target serves up to v0")
    assert exit_status_of(recorder, pytest_status=0, strict=False) == 0


@pytest.mark.parametrize(
    ("known", "verdict", "status"),
    [("", CONFORMS, 10), ("reason", CONFORMS, 10), ("", VIOLATES, 1)],
)
@pytest.mark.parametrize("pytest_status", [0, 1, 2, 10])
def test_records_that_are_not_kept_turn_nothing_red(
    pytest_status: int, known: str, verdict: Verdict, status: int, tmp_path: Path
) -> None:
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation=known)
    recorder.judged(example_of(verdict, message="seen" if verdict is VIOLATES else ""))
    recorder.writer.fault = "the records could not be written"
    assert exit_status_of(recorder, pytest_status=pytest_status, strict=False) == status


def test_internal_error_stays_one_where_nothing_is_kept(recorder: RunRecorder) -> None:
    """3 is what a fault inside pytest or a plugin ends with."""
    recorder.writer.fault = "the records could not be written"
    assert exit_status_of(recorder, pytest_status=3, strict=False) == 3


@pytest.mark.parametrize("status", [2, 10])
def test_run_that_pytest_ended_early_is_not_complete(status: int, recorder: RunRecorder) -> None:
    """Interrupted, or ended because nothing can be started: without a footer no reader takes it for a run."""
    session = finished_session(recorder, status)
    assert session.exitstatus == status
    assert recorder.stopped
    header = json.loads((recorder.writer.folder / "run.json").read_text(encoding="utf-8"))
    assert header.get("exit_status") is None


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict-should",), 1)])
def test_a_run_has_the_status_of_its_options(options: tuple[str, ...], status: int, tmp_path: Path) -> None:
    """A violated SHOULD fails it only with --strict-should."""
    recorder = recorder_for(tmp_path, {key_of(): "SHOULD"})
    recorder.judged(example_of(VIOLATES, message="seen"))
    assert finished_session(recorder, 0, *options).exitstatus == status


MUST, OTHER_MUST, SHOULD = (
    key_of("KIP-35.client-uses-overlap"),
    key_of("KIP-511.client-errors-on-42"),
    key_of("KIP-97.no-doomed-request"),
)


def client_run(folder: Path, *, judged: bool) -> RunRecorder:
    """Return a run with two MUST and a SHOULD that conforms, of which one MUST is judged or none."""
    recorder = recorder_for(folder, {MUST: "MUST", OTHER_MUST: "MUST", SHOULD: "SHOULD"})
    recorder.role = Role.CLIENT
    recorder.targets = {MUST.target: facts_of()}
    recorder.not_applicable(MUST, "it never asks")
    recorder.judged(example_of(Verdict.CONFORMS, SHOULD))
    if judged:
        recorder.judged(example_of(Verdict.CONFORMS, OTHER_MUST))
    else:
        recorder.not_applicable(OTHER_MUST, "it never asks")
    return recorder


@pytest.mark.parametrize(
    ("level", "verdict", "strict", "line"),
    [
        pytest.param(
            "PIN",
            VIOLATES,
            False,
            "✕ Exit status 1: 1 PIN violated, KIP-35.keys-unique. Every MUST clause holds on 1 target.",
            id="binding-pin",
        ),
        pytest.param(
            "SHOULD",
            VIOLATES,
            True,
            "✕ Exit status 1: 1 SHOULD violated, KIP-35.keys-unique. Every MUST clause holds on 1 target.",
            id="strict-should",
        ),
        pytest.param("SHOULD", VIOLATES, False, "✓ Every MUST clause holds on 1 target.", id="should"),
        pytest.param(
            "PIN",
            DOUBT,
            False,
            "? Exit status 10: 1 cell could not be judged. Every MUST clause holds on 1 target.",
            id="doubt",
        ),
        pytest.param(
            "MUST",
            VIOLATES,
            False,
            "✕ 1 of 1 broker breaks MUST rules: 1 MUST.",
            id="must",
        ),
    ],
)
def test_last_line_gives_the_reason_of_the_status(
    level: str, verdict: Verdict, strict: bool, line: str, tmp_path: Path
) -> None:
    """If no MUST decides it, the line says what does, and carries no ✓."""
    recorder = recorder_for(tmp_path, {key_of(): level, key_of(OTHER): "MUST"})
    recorder.judged(example_of(CONFORMS, key_of(OTHER)))
    recorder.judged(example_of(verdict, message="seen" if verdict is VIOLATES else ""))
    status = exit_status_of(recorder, pytest_status=0, strict=strict)
    reason = reason_of(recorder, status, strict=strict)
    shown = list(verdict_table(recorder, width=80, status=status, reason=reason))
    assert shown[-1].text == line


def test_reason_names_a_few_clauses(tmp_path: Path) -> None:
    """Of many violated clauses some are named, and the others counted."""
    keys = [key_of(f"KIP-1.clause-{number}") for number in range(5)]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "PIN"))
    for key in keys:
        recorder.judged(example_of(VIOLATES, key, message="seen"))
    assert reason_of(recorder, 1, strict=False) == (
        "5 PIN violated, KIP-1.clause-0, KIP-1.clause-1, KIP-1.clause-2 and 2 more"
    )
    assert reason_of(recorder, 0, strict=False) == ""
    assert reason_of(recorder, 2, strict=False) == ""


@pytest.mark.parametrize(("stopped_short", "why"), [("it never connected", "it never connected"), ("", NOT_CHOSEN)])
def test_run_without_a_judged_must_is_incomplete(stopped_short: str, why: str, tmp_path: Path) -> None:
    """The status is 11, and one sentence stands in the terminal and the summary, in place of a success."""
    recorder = client_run(tmp_path, judged=False)
    recorder.stopped_short[MUST.target] = stopped_short
    assert exit_status_of(recorder, pytest_status=0, strict=False) == ExitStatus.INCOMPLETE
    sentence = f"No MUST was judged of {MUST.target}: {why}."
    assert vacuous_clients(recorder) == {MUST.target: sentence}
    assert list(verdict_table(recorder, width=80))[-1].text == sentence
    assert sentence in summary_markdown(recorder)


def test_what_no_verdict_says_has_a_line(tmp_path: Path) -> None:
    recorder = client_run(tmp_path, judged=True)
    assert list(remarks(recorder)) == []
    recorder.remarks[MUST.target] = "it has\x1b no name"
    (line,) = remarks(recorder)
    assert line == rf"Note on {MUST.target}: it has\x1b no name."


def test_run_with_a_judged_must_is_whole(tmp_path: Path) -> None:
    recorder = client_run(tmp_path, judged=True)
    assert vacuous_clients(recorder) == {}
    assert exit_status_of(recorder, pytest_status=0, strict=False) == 0


def test_run_of_a_command_that_has_no_operation_is_incomplete(tmp_path: Path) -> None:
    """A client of the registry has what its folder lists, whether that applies to the target or not."""
    key = key_of("my-client.produce")
    recorder = recorder_for(tmp_path, {key: "MUST"})
    recorder.role = OPERATION
    recorder.not_applicable(key, "it has no such operation")
    assert exit_status_of(recorder, pytest_status=0, strict=False) == 0
    recorder.client_commands["my-client"] = {"text": "prog"}
    assert exit_status_of(recorder, pytest_status=0, strict=False) == ExitStatus.INCOMPLETE
    sentence = "No operation of my-client was tried: it has no such operation."
    assert list(verdict_table(recorder, width=80))[-1].text == sentence


def test_brokers_and_chosen_shoulds_are_left_alone(tmp_path: Path) -> None:
    """A broker always has clauses about it, and who asks for a SHOULD alone gets what was asked for."""
    recorder = client_run(tmp_path, judged=False)
    recorder.role = Role.BROKER
    assert vacuous_clients(recorder) == {}
    only = recorder_for(tmp_path, {SHOULD: "SHOULD"})
    only.role = Role.CLIENT
    assert vacuous_clients(only) == {}
