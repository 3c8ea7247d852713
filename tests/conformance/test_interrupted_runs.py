"""Interrupted runs and concurrent runs: what is kept, and that nothing is left running."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from reports.records import RECORD_SCHEMA_VERSION
from tests.conformance.suite_runs import (
    await_line,
    children_of,
    finish,
    start_suite,
    survivors,
)

INTERRUPTED = 2


def test_interrupted_run_keeps_rows_without_a_footer(tmp_path: Path) -> None:
    """Ctrl-C ends the run with 2: its rows are kept, it has no footer, and no process is left."""
    runs = tmp_path / "runs"
    process = start_suite("--broker", "reference", "-v", runs=runs)
    await_line(process, "PASSED")
    children = children_of(process)
    assert children
    process.send_signal(signal.SIGINT)
    run = finish(process)
    assert run.status == INTERRUPTED
    assert "the run was interrupted; the grid refuses its folder by name" in run.output
    assert run.rows()
    assert "footer" not in run.header
    assert survivors(children) == []


def test_killed_run_has_written_its_plan(tmp_path: Path) -> None:
    """run.json has the planned cells before the first example, and the target ends with a killed run."""
    runs = tmp_path / "runs"
    process = start_suite("--broker", "reference", "-v", runs=runs)
    await_line(process, "launcher built-in")
    (folder,) = runs.iterdir()
    header = json.loads((folder / "run.json").read_text())
    await_line(process, "PASSED")
    children = children_of(process)
    process.kill()
    finish(process)
    planned = [cell["clause"] for cell in header["planned_cells"]]
    assert planned == [clause["id"] for clause in header["clauses"]]
    assert "KIP-35.v0-always-served" in planned
    assert [(facts["id"], facts["launcher"]) for facts in header["targets"]] == [
        ("reference", "none")
    ]
    assert header["record_schema_version"] == RECORD_SCHEMA_VERSION
    assert "footer" not in json.loads((folder / "run.json").read_text())
    assert survivors(children) == []


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    """Two concurrent runs into one folder make two complete run folders."""
    options = ("--broker", "reference", "--tier", "smoke")
    processes = [start_suite(*options, runs=tmp_path) for _ in range(2)]
    runs = [finish(process) for process in processes]
    assert [run.status for run in runs] == [0, 0]
    assert len({run.folder for run in runs}) == 2
    assert {run.folder for run in runs} == set(tmp_path.iterdir())
    for run in runs:
        assert run.header["run_id"] == run.folder.name
        assert run.header["footer"]["example_rows"] == len(run.rows())
