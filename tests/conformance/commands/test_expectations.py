"""Declarations of known violations: as narrow as a run allows."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.expectations import entries_for, expectations
from fixtures.errors import InvalidTargetFile
from fixtures.registry.targets import load_target
from reports.run.judged_examples import CellKey
from tests.conformance.suite_runs import SuiteRun
from tests.reports.recorders import failure_of
from tests.run_folders import DEFAULT_CLAUSE, DEFAULT_TARGET, example_row, planned_cell, run_header, write_run
from tests.written_failures import write_failure

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"


TARGET_FILE = 'implementation = "x"\nrelease = "1.0"\nlisteners = ["plaintext"]\n'


def test_smallest_entry_waits_for_a_reason(defects_run: SuiteRun, tmp_path: Path) -> None:
    """The entry for a run's failures is refused until reason and link are filled in, and then declares them."""
    result = CliRunner().invoke(expectations, [str(defects_run.folder)])
    assert result.exit_code == 0, result.output
    entries = entries_for(defects_run.folder, date(2026, 11, 21))
    assert entries.keys() == {target["id"] for target in defects_run.header["targets"]}
    (entry,) = tomllib.loads(entries[DEFECT])["known_violation"]
    assert "listeners" not in entry, "it failed on every listener that was judged"
    assert (entry["added"], entry["expires"]) == (date(2026, 11, 21), date(2027, 2, 19))
    path = tmp_path / "some.toml"
    path.write_text(TARGET_FILE + entries[DEFECT])
    with pytest.raises(InvalidTargetFile, match="reason is empty"):
        load_target(path)
    filled = entries[DEFECT].replace('reason = ""', 'reason = "r"').replace('link = ""', 'link = "l"')
    path.write_text(TARGET_FILE + filled)
    (known,) = load_target(path).known_violations
    assert known.clause == CLAUSE


def test_entry_names_the_listeners_if_the_others_conform(tmp_path: Path) -> None:
    cells = [planned_cell(listener=name) for name in ("plaintext", "ssl", "sasl_ssl")]
    header = run_header(cells)
    signature = "0123456789abcdef"
    rows = [
        example_row(header, verdict="violates", failure_signature=signature),
        example_row(header, listener="ssl"),
        example_row(header, listener="sasl_ssl"),
    ]
    folder = write_run(tmp_path / "run", header, rows)
    key = CellKey(DEFAULT_CLAUSE, DEFAULT_TARGET, "plaintext")
    write_failure(folder / "failures", failure_of(key, "seen", signature))
    entries = entries_for(folder, date(2026, 11, 21))
    (entry,) = tomllib.loads(entries[DEFAULT_TARGET])["known_violation"]
    assert entry["listeners"] == ["plaintext"]
