"""A job of a night supplies columns of the targets of its plan alone."""

from __future__ import annotations

import json
from pathlib import Path

from reports.records import OPERATION
from tests.run_folders import clause_entry, planned_cell, run_header, write_run
from workflows.night_result import judged_targets, of_operations
from workflows.night_roll_up import leave_out_unplanned

PLAN = json.dumps(
    {
        "include": [
            {"name": "packages", "judged": "a b"},
            {"name": "clients", "judged": "c"},
            {"name": "operations", "judged": of_operations("a")},
        ]
    }
)


def _write(folder: Path, target: str, role: str = "broker") -> Path:
    header = run_header([planned_cell(target=target)], clauses=[clause_entry(role=role)])
    return write_run(folder, header)


def test_runs_of_other_targets_are_left_out(tmp_path: Path) -> None:
    """Each is named; runs in the plan stay, and so does what the roll-up refuses and lists by itself."""
    kept = [
        _write(tmp_path / "runs-packages" / "r1", "a"),
        _write(tmp_path / "runs-packages" / "r2", "b"),
        _write(tmp_path / "runs-clients" / "r3", "c", "client"),
        _write(tmp_path / "runs-operations" / "r4", "a", OPERATION),
        _write(tmp_path / "runs-clients" / "cut-off", "a"),
    ]
    (kept[-1] / "run.json").write_text("{")
    foreign = [
        _write(tmp_path / "runs-clients" / "r5", "a"),
        _write(tmp_path / "runs-operations" / "deep" / "r6", "a"),
        _write(tmp_path / "runs-packages" / "r7", "a", OPERATION),
    ]
    assert leave_out_unplanned(tmp_path, PLAN) == [
        "left out runs-clients/r5: its job was to judge other targets than a",
        "left out runs-operations/deep/r6: its job was to judge other targets than a",
        "left out runs-packages/r7: its job was to judge other targets than operations/a",
    ]
    assert all(folder.exists() for folder in kept)
    assert not any(folder.exists() for folder in foreign)
    assert set(judged_targets(tmp_path)) == {"a", "b", "c", "operations/a"}


def test_artefacts_of_no_job_are_left_out(tmp_path: Path) -> None:
    """A run next to the folders, a folder with another name, and a link come from no job of the plan."""
    outside = _write(tmp_path / "outside" / "r1", "a").parent
    runs = tmp_path / "runs"
    for name in ("packages", "runs-others", "r2"):
        _write(runs / name / "r", "a")
    (runs / "run.json").touch()
    (runs / "runs-packages").symlink_to(outside)
    lines = leave_out_unplanned(runs, PLAN)
    assert [line.partition(":")[0] for line in lines] == [
        f"left out {name}"
        for name in ("packages", "r2", "run.json", "runs-others", "runs-packages")
    ]
    assert list(runs.iterdir()) == []
    assert (outside / "r1").exists()
