"""`verify` recomputes a grid from its runs and reports whether it is true.

It compares the result with the published grid.

`site` makes pages from existing tables, and reports what is missing.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from conformance.__main__ import main
from conformance.commands import verify
from reports.run_folders.hash_list import altered_files, read_hash_list, write_hash_list
from reports.run_folders.refused_runs import REFUSED_FILE
from reports.tables.all_tables import ROW_KEYS
from reports.verify import page_verification
from reports.verify.verification import GridDifference
from tests.reports.roll_up_tables import write_tables
from tests.reports.site.sites import site_tables
from tests.run_folders import example_row, planned_cell, run_header, write_header, write_run

pytestmark = pytest.mark.timeout(600)


def _kafka_conformance(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `runs` and the `site` that `grid` made from them."""
    root = tmp_path_factory.mktemp("published")
    for number, target in enumerate(("apache-kafka-3.9.2", "apache-kafka-4.4.0")):
        header = run_header([planned_cell(target=target)], run_id=f"r{number}")
        signature = f"{number:016x}"
        rows = [
            example_row(header, 1, verdict="violates", failure_signature=signature),
            example_row(header, 2),
        ]
        folder = write_run(root / "runs" / f"r{number}", header, rows)
        failure = folder / "failures" / signature
        failure.mkdir(parents=True)
        (failure / "exchange.txt").write_text("00 12 00 03")
    cut_off = write_run(root / "runs" / "cut-off", run_header([planned_cell()]), [])
    write_header(cut_off, {"record_schema_version": 1})
    ended = _kafka_conformance("grid", root / "runs", "--out", root / "site")
    assert ended.exit_code == 0, ended.output
    return root


@pytest.mark.nightly
@pytest.mark.slow  # Verifying rolls all runs up again
def test_true_grid_is_called_true(published: Path) -> None:
    """The tables with single runs, in any order, result in the same grid, and status 0."""
    runs = [published / "runs" / name for name in ("r1", "cut-off", "r0")]
    ended = _kafka_conformance("verify", published / "site" / "tables", *runs)
    assert ended.output.splitlines()[-1].startswith("the published grid is correct")
    assert ended.exit_code == 0


@pytest.mark.nightly
@pytest.mark.slow  # Verifying rolls all runs up again
def test_grid_with_a_history_is_called_true(published: Path, tmp_path: Path) -> None:
    """Replaying the nights results in the same tables and pages; each lists only its own refused runs."""
    site, score = tmp_path / "site", tmp_path / "mutation.json"
    score.write_text('{"seeds": 1, "kills": []}')
    for night in (("r1", "cut-off"), ("r0",)):
        runs = [published / "runs" / name for name in night]
        made = ("--history", tmp_path / "history", "--mutation", score)
        assert _kafka_conformance("grid", *runs, "--out", site, *made).exit_code == 0
    given = ("--with-history", "--mutation", score)
    ended = _kafka_conformance("verify", site, published / "runs", *given)
    assert ended.output.splitlines()[-3:] == [
        "not compared, because --changes is missing: release_changes, inputs_left_out",
        "not verified, but trusted: the 3 given runs (that they are what a broker or client did, and where their folders lay), the pictures of machines, "
        "and this suite, which computes the grid again",
        "the published grid is correct: every compared file, run, row and page matches",
    ]
    assert ended.exit_code == 0


def test_every_difference_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files, runs, rows, lists and pages: each has a line, and the status is 1."""
    (tmp_path / "tables" / "cells.parquet").mkdir(parents=True)
    parts = ("files", "runs", "rows", "lists", "pages")
    for part in parts:
        module = page_verification if part == "pages" else verify
        monkeypatch.setattr(module, f"differing_{part}", Mock(return_value=[GridDifference(part, "differs")]))
    monkeypatch.setattr(verify, "status_of", lambda *_: 0)
    ended = _kafka_conformance("verify", tmp_path, tmp_path)
    assert ended.exit_code == 1
    assert ended.output.splitlines()[:5] == [f"{part}: differs" for part in parts]


def test_folder_that_is_no_grid_is_refused(tmp_path: Path) -> None:
    """A folder without a table of cells is wrong input, not an untrue grid."""
    ended = _kafka_conformance("verify", tmp_path, tmp_path)
    assert ended.exit_code == 4
    assert "was not written by `grid`" in ended.output


def test_roll_up_that_fails_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "status_of", lambda *_: 3)
    with pytest.raises(SystemExit) as ended:
        verify._rolled_up([], Path("grid"), {})
    assert ended.value.code == 3


def test_grid_of_no_run_is_not_called_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tmp_path / "site" / "tables"
    tables.mkdir(parents=True)
    none = pa.array([], pa.string())
    pq.write_table(pa.table({"verdict": ["conforms"]}), tables / "cells.parquet")
    pq.write_table(pa.table({"run_id": none, "run_json_sha256": none}), tables / "inputs.parquet")
    write_hash_list(tmp_path / "site")
    monkeypatch.setattr(verify, "status_of", lambda *_: 1)
    ended = _kafka_conformance("verify", tmp_path / "site", tmp_path)
    assert ended.output.splitlines()[-1] == ("the published grid does not match its runs: 1 difference (1 in run)")
    assert ended.exit_code == 1


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
    ended = _kafka_conformance("site", copied)
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
    ended = _kafka_conformance("site", copied)
    assert ended.exit_code == 4
    assert (
        "is not a complete roll-up; missing: tables/cells.parquet, tables/flakes.parquet, refused.json, notices.json"
        in ended.output
    )
    assert not (copied / "index.html").exists()


def test_violation_without_evidence_is_no_page(copied: Path) -> None:
    """A red cell without evidence is an error that names the cell, and no page is written; `grid` writes pages in
    the same way."""
    failures = copied / "tables" / "failures.parquet" / "part-0.parquet"
    pq.write_table(pq.read_table(failures).slice(0, 0), failures)
    ended = _kafka_conformance("site", copied)
    assert ended.exit_code == 1
    assert "evidence is missing" in ended.output
    assert not (copied / "index.html").exists()


def test_list_that_is_nested_too_deeply_is_named(copied: Path) -> None:
    """A list of runs may be a stranger's as well."""
    (copied / REFUSED_FILE).write_text("[" * 200_000, encoding="utf-8")
    ended = _kafka_conformance("site", copied)
    assert ended.exit_code == 4
    assert "cannot be read as a grid: it is nested too deeply" in ended.output
