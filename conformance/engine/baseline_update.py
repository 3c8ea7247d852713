"""Writes the baseline of a target after a run."""

from __future__ import annotations

from pathlib import Path

from fixtures.registry.baselines import Baseline, BaselineLine, baseline_text, judged_in_words, merged, read_baseline
from fixtures.registry.failure_patterns import match_for
from fixtures.registry.targets import Target
from fixtures.run_size import is_smaller, tier_of
from reports.records import SOUND_VERDICTS, UNSETTLED_VERDICTS, Verdict
from reports.run.failures import Failure
from reports.run.judged_examples import CellKey
from reports.run.recorder import Cell, RunRecorder
from reports.wording.verdict_labels import counted


def update_baseline(path: Path, recorder: RunRecorder, target: Target) -> str:
    """Write the failures of a complete run into a baseline; lines of cells that it did not judge stay.

    If a larger tier has written it, all its lines stay: this run may not have seen what is still there.

    Args:
        path: the file, which may not be there yet.
        recorder: the results of the run.
        target: what it judged, with what is declared for it.

    Returns:
        what was written, in one sentence.
    """
    judged = judged_in_words(target.implementation)
    tier = tier_of(recorder.tier)
    before = Baseline([], tier)
    if path.exists():
        before = read_baseline(path, judged, recorder.clause_set, is_updated=True)
    sees_less = is_smaller(tier, before.tier)
    settled = {key: cell for key, cell in recorder.cells.items() if _is_settled(cell)}
    seen = [
        BaselineLine(key.clause, key.listener, match_for(failure.first_line))
        for key, cell in settled.items()
        if cell.verdict in (Verdict.VIOLATES, Verdict.KNOWN_VIOLATION)
        for failure in cell.violations
        if not _is_declared(failure, target, key)
    ]
    seen_whole = set() if sees_less else {(key.clause, key.listener) for key in settled}
    lines = set(merged(before.lines, seen, seen_whole))
    # A full disk leaves the old one as it is.
    new = path.with_name(f"{path.name}.new")
    new.write_text(baseline_text(judged, lines, recorder.clause_set, before.tier if sees_less else tier), "utf-8")
    new.replace(path)
    flaky = sum(cell.verdict is Verdict.FLAKY for cell in settled.values())
    left_out = f"; {counted(flaky, 'flaky cell')} left out, because they come and go" if flaky else ""
    return f"{counted(len(lines), 'failure')} in {path}{left_out}"


def _is_settled(cell: Cell) -> bool:
    """Return whether a cell was judged, and with all that may show a failure if it conforms."""
    hides = cell.may_hide and cell.verdict in SOUND_VERDICTS
    return cell.verdict not in UNSETTLED_VERDICTS and not hides


def _is_declared(failure: Failure, target: Target, key: CellKey) -> bool:
    """Return whether a failure is declared elsewhere than in a baseline."""
    return any(
        not known.is_baseline and known.describes(key.clause, key.listener, failure.message)
        for known in target.known_violations
    )
