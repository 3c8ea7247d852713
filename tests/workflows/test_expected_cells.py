"""The violations of other brokers match a list exactly, and only complete runs are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.run_folders import DEFAULT_CLAUSE, example_row, planned_cell, run_header, write_run
from workflows.expected_cells import main


def compare(tmp_path: Path, *, verdict: str, expected: list[str], whole: bool = True) -> str:
    """Write a run of one cell, compare it and return the output, which is empty if nothing differs."""
    header = run_header([planned_cell(target="a")], run_id="run-a")
    folder = write_run(tmp_path / "runs" / "run-a", header, [example_row(header, verdict=verdict)])
    if not whole:
        (folder / "run.json").write_text("{")
    (tmp_path / "expected.json").write_text(json.dumps({"a": expected}))
    arguments = [str(tmp_path / "runs"), str(tmp_path / "expected.json"), "--targets", "a"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == bool(result.output)
    return result.output


@pytest.mark.parametrize(
    ("verdict", "expected", "said"),
    [
        ("violates", [DEFAULT_CLAUSE], ""),
        ("conforms", [], ""),
        ("violates", [], f"a: {DEFAULT_CLAUSE} is violated\n"),
        ("conforms", [DEFAULT_CLAUSE], f"a: {DEFAULT_CLAUSE} holds now\n"),
    ],
)
def test_neither_more_nor_less(
    tmp_path: Path, verdict: str, expected: list[str], said: str
) -> None:
    """A red cell that is gone is reported like a new one."""
    assert compare(tmp_path, verdict=verdict, expected=expected) == said


def test_a_run_without_a_footer_is_none(tmp_path: Path) -> None:
    """A run that ended with a traceback has no footer, but the same exit status as one with a violation."""
    said = compare(tmp_path, verdict="violates", expected=[DEFAULT_CLAUSE], whole=False)
    assert said.startswith("a: no whole run")
