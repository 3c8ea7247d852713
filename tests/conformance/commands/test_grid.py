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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param((), "give run folders", id="no runs"),
        pytest.param(("runs", "--rebuild"), "--rebuild needs --history", id="no history"),
        pytest.param(("--history", "h", "--rebuild"), "give run folders", id="nothing to rebuild"),
    ],
)
def test_wrong_usage_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    """The roll-up's message and status 2 are passed on, and nothing is written."""
    ended = _grid(*arguments, "--out", tmp_path / "grid")
    assert ended.exit_code == 2
    assert said in capfd.readouterr().err
    assert not (tmp_path / "grid").exists()


def test_missing_report_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Before anything is written, the error names the command that makes the report."""
    _write_violation(tmp_path / "run")
    missing = tmp_path / "mutation.json"
    ended = _grid(tmp_path / "run", "--out", tmp_path / "grid", "--mutation", missing)
    assert ended.exit_code == 2
    assert f"{missing} is not a file; `kafka-conformance mutation --out`" in capfd.readouterr().err
    assert not (tmp_path / "grid").exists()
