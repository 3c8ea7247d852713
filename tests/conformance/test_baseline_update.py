"""A run writes its failures into a baseline, and the next run judges by it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from clauses.tiers import Tier
from conformance.engine.baseline_update import update_baseline
from conformance.engine.planning import drop_unneeded, unmatched_expectations
from fixtures.registry.baselines import BaselineLine, baseline_text, read_baseline
from reports.records import Verdict
from tests.conformance.judged_properties import JudgedBroker, declared, hold, judged, target_with, violate

TARGET = target_with()
SEEN = BaselineLine("KIP-35.served-is-listed", "plaintext", r"^seen -?\d+")


def test_failures_are_written_and_those_that_are_gone_are_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    case = judged(tmp_path, JudgedBroker(target=TARGET))
    with suppress(AssertionError):
        case.run(violate, 7)
    line = replace(SEEN, clause=case.key.clause)
    assert update_baseline(path, case.recorder, TARGET) == f"1 failure in {path}"
    assert read_baseline(path, TARGET.implementation).lines == [line]
    better = judged(tmp_path / "later", JudgedBroker(target=TARGET))
    better.run(hold, 1)
    assert update_baseline(path, better.recorder, TARGET) == f"0 failures in {path}"


def test_a_smaller_run_keeps_what_a_larger_one_saw(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    case = judged(tmp_path, JudgedBroker(target=TARGET))
    line = replace(SEEN, clause=case.key.clause)
    before = baseline_text(TARGET.implementation, [line], tier=Tier.DEEP)
    path.write_text(before, "utf-8")
    case.run(hold, 1)
    assert update_baseline(path, case.recorder, TARGET) == f"1 failure in {path}"
    assert path.read_text("utf-8") == before


def test_what_was_not_judged_stays(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    case = judged(tmp_path, JudgedBroker(target=TARGET))
    with suppress(AssertionError):
        case.run(violate, 7)
    update_baseline(path, case.recorder, TARGET)
    update_baseline(path, judged(tmp_path / "later", JudgedBroker(target=TARGET)).recorder, TARGET)
    assert len(read_baseline(path, TARGET.implementation).lines) == 1


def test_baseline_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text(baseline_text(TARGET.implementation, [SEEN]), "utf-8")
    (tmp_path / "known.txt.new").mkdir()
    with pytest.raises(OSError, match="new"):
        update_baseline(path, judged(tmp_path / "run", JudgedBroker(target=TARGET)).recorder, TARGET)
    assert read_baseline(path, TARGET.implementation).lines == [SEEN]


def test_what_is_declared_elsewhere_is_left_to_that(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    target = target_with(declared(match="seen"))
    case = judged(tmp_path, JudgedBroker(target=target), known="reason")
    case.run(violate, 7)
    update_baseline(path, case.recorder, target)
    assert read_baseline(path, TARGET.implementation).lines == []


@pytest.mark.parametrize(
    ("seen", "may_be_gone", "verdict"),
    [
        (True, False, Verdict.KNOWN_VIOLATION),
        (False, False, Verdict.UNEXPECTED_PASS),
        (False, True, Verdict.CONFORMS),
    ],
    ids=["still-there", "gone", "gone-and-written-again"],
)
def test_a_line_excuses_its_failure(seen: bool, may_be_gone: bool, verdict: Verdict, tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    clause = declared().clause
    lines = [replace(SEEN, clause=clause, match=match) for match in (SEEN.match, "^another example of it")]
    target = target_with(*(line.declaration(path, may_be_gone=may_be_gone) for line in lines))
    case = judged(tmp_path, JudgedBroker(target=target), known="in the baseline (known.txt)")
    case.run(violate if seen else hold, 1)
    drop_unneeded(case.recorder, [target])
    assert case.verdict is verdict
    assert not case.recorder.cells[case.key].left_out
    assert list(unmatched_expectations(case.recorder, [target])) == [], "one failure of a cell is enough"


def test_another_failure_of_the_same_cell_counts(tmp_path: Path) -> None:
    line = replace(SEEN, clause=declared().clause, match="^something else")
    target = target_with(line.declaration(tmp_path / "known.txt", may_be_gone=False))
    case = judged(tmp_path, JudgedBroker(target=target), known="in the baseline (known.txt)")
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    assert case.verdict is Verdict.VIOLATES
