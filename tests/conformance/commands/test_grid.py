"""`grid` does the roll-up in a separate process and exits with its status."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.__main__ import main
from tests.run_folders import example_row, planned_cell, run_header, write_run

pytestmark = pytest.mark.timeout(300)


def _grid(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["grid", *(str(argument) for argument in arguments)])


def _write_violation(root: Path) -> None:
    header = run_header([planned_cell()])
    row = example_row(header, 1, verdict="violates", failure_signature="0" * 16)
    write_run(root, header, [row])


def test_wrong_usage_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The roll-up's message and status 2 are passed on, and nothing is written."""
    ended = _grid("runs", "--rebuild", "--out", tmp_path / "grid")
    assert ended.exit_code == 2
    assert "--rebuild needs --history" in capfd.readouterr().err
    assert not (tmp_path / "grid").exists()


@pytest.mark.slow
def test_missing_report_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Before anything is written, the error names the command that makes the report."""
    _write_violation(tmp_path / "run")
    missing = tmp_path / "mutation.json"
    ended = _grid(tmp_path / "run", "--out", tmp_path / "grid", "--mutation", missing)
    assert ended.exit_code == 2
    assert f"{missing} is not a file; `kafka-conformance mutation --out`" in capfd.readouterr().err
    assert not (tmp_path / "grid").exists()
