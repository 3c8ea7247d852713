"""Reads a finished run's findings from its folder: the verdict of each cell, and lines about the unexpected ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from conformance.failures.stored_failures import read_failure
from conformance.runs.target_runs import TargetRun
from reports.records import FACTS_FILE, UNEXPECTED_VERDICTS, Verdict
from reports.run.judged_examples import CellKey
from reports.run.run_folder import read_run_header
from reports.run.run_verdicts import run_verdicts
from reports.run.terminal import shortened
from reports.verdict_labels import SYMBOLS, WORDS

MOST_LINES = 20
"""Maximum number of lines per run: if a target violates everything, its folder is easier to read."""
LONGEST_SEEN = 156
"""Maximum columns of a message: two rows of most terminals, with their indentation."""

Verdicts = Mapping[CellKey, Verdict]


def verdicts_of(run: TargetRun) -> Verdicts:
    """Return the verdict of each cell of a run; empty if there is no complete run folder."""
    if run.folder is None:
        return {}
    return run_verdicts(run.folder, read_run_header(run.folder))


def finding_lines(run: TargetRun, verdicts: Verdicts) -> Iterator[str]:
    """Yield lines about each unexpected cell, most serious first, with its failures and the commands to replay them."""
    seen = _seen(run)
    lines = [
        line
        for verdict in UNEXPECTED_VERDICTS
        for key, found in verdicts.items()
        if found is verdict
        for line in [
            f"{SYMBOLS[verdict]} {key.clause} ({key.listener}): {WORDS[verdict]}",
            *seen.get(key, ()),
        ]
    ]
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"and {len(lines) - MOST_LINES} more lines: see {run.folder}"


def _seen(run: TargetRun) -> Mapping[CellKey, list[str]]:
    seen: dict[CellKey, list[str]] = {}
    # A complete run folder is verified: every file is as it was written.
    folders = [] if run.folder is None else sorted(run.folder.glob("failures/*"))
    for folder in folders:
        failure = read_failure(folder)
        if failure.leaves_open:
            continue
        key = CellKey(failure.clause, failure.target, failure.listener)
        again = shlex.join(["kafka-conformance", "replay", str(folder)])
        line = shortened(f"  seen: {failure.first_line}", LONGEST_SEEN, complete_in=FACTS_FILE)
        seen.setdefault(key, []).extend([line, f"  again: {again}"])
    return seen
