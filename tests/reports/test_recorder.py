"""The records that a run writes to disk as it goes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from reports.records import SAMPLED_EXAMPLES_PER_PROPERTY, Phase, Verdict
from reports.repeats import Repeats, Tally
from reports.run.judged_examples import latency_bucket
from reports.run.recorder import RunRecorder
from tests.reports.recorders import (
    PROPERTY,
    SIGNATURE,
    example_of,
    facts_of,
    failure_of,
    key_of,
    recorder_for,
)


def header_of(recorder: RunRecorder) -> dict[str, Any]:
    """Return the current content of `run.json`."""
    content: dict[str, Any] = json.loads((recorder.writer.folder / "run.json").read_text())
    return content


def rows_of(recorder: RunRecorder, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table that are on disk."""
    parts = sorted((recorder.writer.folder / table).glob("*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


@pytest.mark.parametrize(
    ("latency_us", "bucket"), [(0, 0), (1, 0), (2, 4), (3, 6), (1000, 39), (1024, 40), (10**6, 79)]
)
def test_latency_is_a_logarithm(latency_us: int, bucket: int) -> None:
    """The bucket is four times the binary logarithm of the microseconds, rounded down."""
    assert latency_bucket(latency_us) == bucket


def test_plan_is_on_disk_before_the_first_example(recorder: RunRecorder) -> None:
    """The planned cells are in `run.json` as soon as they are planned."""
    (cell,) = header_of(recorder)["planned_cells"]
    assert cell == {
        "clause": "KIP-35.keys-unique",
        "target": "reference",
        "listener": "plaintext",
        "applicable": True,
        "reason": "",
        "known_violation": "",
        "flaky": None,
        "unproven": "",
    }


def test_started_target_is_on_disk_at_once(recorder: RunRecorder) -> None:
    """A target's facts are in `run.json` as soon as it runs."""
    recorder.target_started(facts_of())
    (target,) = header_of(recorder)["targets"]
    assert target["id"] == "reference"
    assert target["launcher"] == "built-in"


def test_example_is_one_row(recorder: RunRecorder) -> None:
    """An example's row says what was judged, how, and with what outcome."""
    recorder.target_started(facts_of())
    recorder.judged(example_of(Verdict.VIOLATES, number=7, message="seen"))
    recorder.finish(1)
    (row,) = rows_of(recorder, "examples")
    assert row == {
        "run_id": recorder.writer.run_id,
        "run_date": recorder.writer.run_date,
        "target": "reference",
        "implementation": "reference",
        "release": "4.4.0",
        "launcher": "built-in",
        "listener": "plaintext",
        "client": None,
        "clause": "KIP-35.keys-unique",
        "property": PROPERTY,
        "tier": "smoke",
        "phase": "generate",
        "example_number": 7,
        "request": "v0",
        "outcome": "answer",
        "error_code": 35,
        "verdict": "violates",
        "failure_signature": SIGNATURE,
        "latency_bucket": 39,
    }


def test_shrinking_does_not_count(recorder: RunRecorder) -> None:
    """Examples of shrinking have rows, but do not change a cell's count."""
    recorder.judged(example_of(Verdict.CONFORMS))
    recorder.judged(example_of(Verdict.VIOLATES, phase=Phase.SHRINK, message="seen"))
    cell = recorder.cells[key_of()]
    assert cell.verdict is Verdict.CONFORMS
    assert cell.verdicts.total() == 1
    assert recorder.writer.examples.count == 2


def test_note_does_not_make_a_flaky_cell_violate(recorder: RunRecorder) -> None:
    """A cell is flaky if all its violations are flaky, whatever else was noted."""
    note = example_of(Verdict.INFORMATIONAL, message="no schema", signature="fedcba9876543210")
    recorder.judged(note)
    recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
    recorder.repeated(key_of(), SIGNATURE, Repeats(used=Tally(failed=1, repeats=3)))
    assert recorder.cells[key_of()].verdict is Verdict.FLAKY


def test_reason_of_a_doubt_is_kept_once(recorder: RunRecorder) -> None:
    """A repeated reason is kept once per cell, and the cell is inconclusive."""
    for _ in range(3):
        recorder.inconclusive(key_of(), PROPERTY, "it ended")
    assert list(recorder.cells[key_of()].problems) == ["it ended"]
    assert recorder.cells[key_of()].verdict is Verdict.INCONCLUSIVE


def test_exchanges_are_sampled_and_failures_all_kept(recorder: RunRecorder) -> None:
    """The first examples of a property and every failure keep their bytes; equal responses are stored once."""
    for number in range(1, 11):
        recorder.judged(example_of(Verdict.CONFORMS, number=number))
    for number in range(11, 14):
        recorder.judged(example_of(Verdict.VIOLATES, number=number, message="seen"))
    recorder.finish(1)
    exchanges = rows_of(recorder, "exchanges")
    sampled = range(1, 1 + SAMPLED_EXAMPLES_PER_PROPERTY)
    assert [row["example_number"] for row in exchanges] == [*sampled, 11, 12, 13]
    (answer,) = rows_of(recorder, "answers")
    assert answer["received"] == bytes.fromhex("00000006 00000007 0023")
    assert {row["answer_sha256"] for row in exchanges} == {answer["answer_sha256"]}


def test_footer_is_written_last(recorder: RunRecorder) -> None:
    """The footer counts the rows, and is not written before the end of the run."""
    recorder.judged(example_of(Verdict.CONFORMS))
    assert "footer" not in header_of(recorder)
    recorder.finish(0)
    footer = header_of(recorder)["footer"]
    assert (footer["exit_status"], footer["example_rows"], footer["exchange_rows"]) == (0, 1, 1)


def test_smallest_example_of_a_failure_is_the_last(recorder: RunRecorder) -> None:
    """A shrunk example replaces the earlier one in the failure's folder, and no later drawn one replaces it."""
    recorder.judged(example_of(Verdict.VIOLATES, message="assert 100 == 0"))
    recorder.judged(example_of(Verdict.VIOLATES, phase=Phase.SHRINK, message="assert 1 == 0"))
    recorder.judged(example_of(Verdict.VIOLATES, message="assert 200 == 0"))
    recorder.write_failures(key_of())
    (folder,) = (recorder.writer.folder / "failures").iterdir()
    kept = json.loads((folder / "failure.json").read_text())
    assert kept["message"] == failure_of(key_of(), "assert 1 == 0").message


def test_an_inconclusive_cell_says_why(recorder: RunRecorder) -> None:
    """Exports take the reason from the header; a cell that is also violated has no reason, only its failures."""
    recorder.inconclusive(key_of(), "test_something", "it kept us waiting")
    recorder.finish(10)
    assert recorder.writer.header["planned_cells"][0]["reason"] == "it kept us waiting"
    recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
    assert recorder.cells[key_of()].reason == ""


def test_a_note_is_no_known_violation(tmp_path: Path) -> None:
    """What is declared of a cell is about its violations; a note next to them stays informational."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="as documented")
    cell = recorder.cells[key_of()]
    note = failure_of(key_of(), "no schema", "fedcba9876543210", Verdict.INFORMATIONAL)
    assert cell.verdict_of(note) is Verdict.INFORMATIONAL
    assert cell.verdict_of(failure_of(key_of(), "seen")) is Verdict.KNOWN_VIOLATION


def test_declared_failure_next_to_another_one_stays_known(recorder: RunRecorder) -> None:
    """An undeclared failure makes the cell violated, but not what is declared."""
    declared = dataclasses.replace(failure_of(key_of(), "seen"), known_violation="as documented")
    cell = recorder.cells[key_of()]
    recorder.judged(example_of(Verdict.VIOLATES, message="not declared"))
    recorder.mark_undeclared(key_of())
    assert cell.verdict is Verdict.VIOLATES
    assert cell.verdict_of(declared) is Verdict.KNOWN_VIOLATION
    assert cell.verdict_of(cell.violations[0]) is Verdict.VIOLATES


def test_a_judged_cell_applies(recorder: RunRecorder) -> None:
    """A clause applies where one of its properties was judged, whatever another one needs, in either order."""
    cell = recorder.cells[key_of()]
    recorder.not_applicable(key_of(), "it has no cluster id")
    assert (cell.verdict, cell.reason) == (Verdict.NOT_APPLICABLE, "it has no cluster id")
    recorder.judged(example_of(Verdict.CONFORMS))
    assert (cell.verdict, cell.reason) == (Verdict.CONFORMS, "")
    recorder.not_applicable(key_of(), "it has no cluster id")
    assert (cell.verdict, cell.reason) == (Verdict.CONFORMS, "")


@pytest.mark.parametrize("repeats", [Repeats(used=Tally(0, 3)), Repeats(used=Tally(3, 3), too_slow="it is too busy")])
def test_violation_that_proves_nothing_is_inconclusive(recorder: RunRecorder, repeats: Repeats) -> None:
    """The cell names the failure and why it does not count, in the header and for the terminal; a new failure
    counts."""
    recorder.judged(example_of(Verdict.VIOLATES, message="seen once"))
    recorder.repeated(key_of(), SIGNATURE, repeats)
    cell = recorder.cells[key_of()]
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert cell.verdict_of(cell.violations[0]) is Verdict.INCONCLUSIVE
    assert cell.reason.startswith("seen once: it ")
    assert recorder.problems == {cell.reason: [key_of()]}
    recorder.finish(10)
    planned = recorder.writer.header["planned_cells"][0]
    assert planned["reason"] == planned["unproven"] == cell.reason
    recorder.judged(example_of(Verdict.VIOLATES, message="seen again"))
    assert (cell.verdict, cell.reason) == (Verdict.VIOLATES, "")


@pytest.mark.parametrize("first", ["flaky", "deterministic"])
def test_one_deterministic_failure_makes_a_cell_violate(recorder: RunRecorder, first: str) -> None:
    """A flaky failure next to it excuses nothing, whichever of the two is repeated first."""
    repeats = {
        "flaky": Repeats(used=Tally(failed=1, repeats=3)),
        "deterministic": Repeats(used=Tally(failed=3, repeats=3)),
    }
    for signature in repeats:
        recorder.judged(example_of(Verdict.VIOLATES, message=signature, signature=signature))
    for signature in sorted(repeats, key=lambda each: each != first):
        recorder.repeated(key_of(), signature, repeats[signature])
    assert recorder.cells[key_of()].verdict is Verdict.VIOLATES


def test_all_that_a_cell_leaves_out_is_kept(recorder: RunRecorder) -> None:
    """Each property of a clause may leave something out; why another one does not apply takes no part in it."""
    recorder.not_applicable(key_of(), "no v3 is advertised")
    for reason in ("2 of 10 drawn examples", "12 of 20 drawn examples", "2 of 10 drawn examples"):
        recorder.note_left_out(key_of(), reason)
    recorder.judged(example_of(Verdict.CONFORMS))
    recorder.finish(0)
    (cell,) = header_of(recorder)["planned_cells"]
    assert cell["reason"] == "2 of 10 drawn examples; 12 of 20 drawn examples"


def test_violation_that_may_be_in_what_was_left_out_is_not_gone(tmp_path: Path) -> None:
    """Until it is seen, a cell that leaves out what may show it conforms; once it is seen, it is a known one."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="declared")
    recorder.judged(example_of(Verdict.CONFORMS))
    seen = [recorder.cells[key_of()].verdict]
    recorder.note_left_out(key_of(), "not requested: Produce", may_hide=True)
    seen.append(recorder.cells[key_of()].verdict)
    recorder.finish(0)
    assert header_of(recorder)["planned_cells"][0]["known_violation"] == ""
    recorder.judged(example_of(Verdict.VIOLATES))
    seen.append(recorder.cells[key_of()].verdict)
    assert seen == [Verdict.UNEXPECTED_PASS, Verdict.CONFORMS, Verdict.KNOWN_VIOLATION]
