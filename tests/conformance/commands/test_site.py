"""`site` makes pages from existing tables, and reports what is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from conformance.__main__ import main
from reports.grid.row_keys import ROW_KEYS
from reports.hash_list import altered_files, read_hash_list
from reports.refused_runs import REFUSED_FILE
from tests.reports.roll_up_tables import write_tables
from tests.reports.site.sites import site_tables


def _site(folder: Path) -> Result:
    return CliRunner().invoke(main, ["site", str(folder)])


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return the folder that a roll-up wrote, without pages."""
    of_history = dict.fromkeys(ROW_KEYS, ())
    del of_history["inputs"]
    folder = write_tables(tmp_path / "grid", **(of_history | site_tables()))
    inputs = folder / "tables" / "inputs.parquet"
    shutil.copytree(folder / "tables" / "runs.parquet", inputs)
    return folder


def test_site_is_made_of_tables(copied: Path) -> None:
    """Pages, exports and the list of hashes are written next to the tables, and the last line is that of `grid`."""
    ended = _site(copied)
    assert ended.exit_code == 0, ended.output
    assert ended.output.splitlines()[-1] == f"grid: {copied / 'index.html'}"
    listed = read_hash_list(copied)
    assert {"index.html", "grid.json", "exports/cells.csv", "refused.json"} < set(listed)
    assert list(altered_files(copied, listed)) == []


def test_what_is_missing_is_named(copied: Path) -> None:
    """A partly copied folder is refused, so no page claims that recorded data does not exist."""
    shutil.rmtree(copied / "tables" / "flakes.parquet")
    (copied / "tables" / "cells.parquet" / "part-0.parquet").unlink()
    for name in ("refused.json", "notices.json"):
        (copied / name).unlink()
    ended = _site(copied)
    assert ended.exit_code == 4
    assert (
        "is not a complete roll-up; missing: tables/cells.parquet, tables/flakes.parquet, refused.json, notices.json"
        in ended.output
    )
    assert not (copied / "index.html").exists()


def test_violation_without_evidence_is_no_page(copied: Path) -> None:
    """A red cell without evidence is an error that names the cell, and no page is written; `grid` writes pages in the same way."""
    failures = copied / "tables" / "failures.parquet" / "part-0.parquet"
    pq.write_table(pq.read_table(failures).slice(0, 0), failures)
    ended = _site(copied)
    assert ended.exit_code == 1
    assert "evidence is missing" in ended.output
    assert not (copied / "index.html").exists()


def test_list_that_is_nested_too_deeply_is_named(copied: Path) -> None:
    """A list of runs may be a stranger's as well."""
    (copied / REFUSED_FILE).write_text("[" * 200_000, encoding="utf-8")
    ended = _site(copied)
    assert ended.exit_code == 4
    assert "cannot be read as a grid: it is nested too deeply" in ended.output
