"""The command writes tables, lists what it refused, and says by its status whether anything counted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reports.grid_page import write_grid
from reports.records import Verdict
from spark_aggregation.job import main
from spark_aggregation.tables import TABLES
from tests.broken_run_folders import BROKEN, write_whole_run
from tests.run_folders import example_row, planned_cell, run_header, write_run

pytestmark = pytest.mark.usefixtures("spark")


def _run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_tables_are_written_and_refused_runs_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One whole run and one cut-off run: every table, one line on standard error, one entry in JSON."""
    write_whole_run(tmp_path / "runs" / "whole")
    BROKEN["no footer"][0](write_whole_run(tmp_path / "runs" / "cut off", run_id="r2"))
    assert _run(tmp_path / "runs", "--out", tmp_path / "out") == 0
    tables = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert tables == {f"{name}.parquet" for name in TABLES}
    cells = pq.read_table(tmp_path / "out" / "tables" / "cells.parquet")
    assert cells.num_rows == 1
    folder = str(tmp_path / "runs" / "cut off")
    assert json.loads((tmp_path / "out" / "refused.json").read_text()) == [
        {
            "folder": folder,
            "refusal": "cut_off",
            "reason": "run.json has no footer: the run was cut off",
        }
    ]
    assert f"refused {folder}: run.json has no footer" in capsys.readouterr().err


def test_run_folders_are_taken_one_by_one_or_together(tmp_path: Path) -> None:
    """A run folder, and a folder of a folder of runs, can stand side by side."""
    write_whole_run(tmp_path / "alone", run_id="r1")
    write_whole_run(tmp_path / "all" / "nightly" / "r2", run_id="r2")
    assert _run(tmp_path / "alone", tmp_path / "all", "--out", tmp_path / "out") == 0
    assert pq.read_table(tmp_path / "out" / "tables" / "runs.parquet").num_rows == 2


def test_nothing_valid_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every run refused no table is written and the status is 1."""
    BROKEN["half a header"][0](write_whole_run(tmp_path / "run"))
    assert _run(tmp_path / "run", "--out", tmp_path / "out") == 1
    assert not (tmp_path / "out" / "tables").exists()
    assert len(json.loads((tmp_path / "out" / "refused.json").read_text())) == 1
    assert "no valid run" in capsys.readouterr().err


def test_empty_folder_is_an_error(tmp_path: Path) -> None:
    """A folder without any run has no valid run."""
    (tmp_path / "empty").mkdir()
    assert _run(tmp_path / "empty", "--out", tmp_path / "out") == 1


def test_missing_path_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that does not exist is named and ends the command with status 2."""
    write_whole_run(tmp_path / "run")
    assert _run(tmp_path / "run", tmp_path / "mistyped", "--out", tmp_path / "out") == 2
    assert "mistyped" in capsys.readouterr().err


def test_tables_become_a_page_with_evidence(spark: SparkSession, tmp_path: Path) -> None:
    """From run folder to page: the violation leads to its bytes."""
    header = run_header([planned_cell()])
    failing = example_row(header, verdict="violates", failure_signature="0123456789abcdef")
    folder = write_run(tmp_path / "a run", header, [failing])
    failure = folder / "failures" / "0123456789abcdef"
    failure.mkdir(parents=True)
    (failure / "exchange.txt").write_text("00 12 00 03")
    assert _run(tmp_path / "a run", "--out", tmp_path / "out") == 0
    summary = write_grid(tmp_path / "out")
    assert summary.cells == {Verdict.VIOLATES: 1}
    pages = [page.read_text() for page in (tmp_path / "out").rglob("*.html")]
    assert any("00 12 00 03" in page for page in pages)
