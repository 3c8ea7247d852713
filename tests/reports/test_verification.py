"""Every way in which a published grid can differ from its runs is named."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.grid.row_keys import ROW_KEYS
from reports.hash_list import HASH_LIST, hashes_of, write_hash_list
from reports.verify.verification import (
    GIVEN_TABLES,
    differing_files,
    differing_lists,
    differing_rows,
    differing_runs,
    run_folders,
)
from spark_aggregation.tables.table_schemas import TABLES
from tests.broken_run_folders import write_whole_run
from tests.run_folders import write_header

RUN_ID = "r1"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose footer has the hashes of its files."""
    folder = write_whole_run(tmp_path / "runs" / RUN_ID, run_id=RUN_ID)
    header = json.loads((folder / "run.json").read_text())
    header["footer"]["files"] = dict(hashes_of(folder, ["examples"]))
    write_header(folder, header)
    return folder


@pytest.fixture
def site(tmp_path: Path, run: Path) -> Path:
    """A published grid of that run."""
    root = tmp_path / "site"
    cell = {"clause": "C.a", "target": "t", "listener": "plaintext", "verdict": "violates"}
    digest = hashlib.sha256((run / "run.json").read_bytes()).hexdigest()
    named = {"run_id": RUN_ID, "folder": run.as_uri(), "run_json_sha256": digest}
    for table, key in ROW_KEYS.items():
        _write(root, table, [dict.fromkeys(key, "x")])
    _write(root, "cells", [cell, {**cell, "clause": "C.b"}])
    _write(root, "inputs", [named])
    write_hash_list(root)
    return root


def _write(site: Path, table: str, rows: list[dict[str, Any]]) -> None:
    path = site / "tables" / f"{table}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def _rows(site: Path, table: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = pq.read_table(site / "tables" / f"{table}.parquet").to_pylist()
    return read


def _sentences(found: Any) -> list[str]:
    return [f"{difference.part}: {difference.sentence}" for difference in found]


def test_every_table_is_compared() -> None:
    """Every table, also a new one, has a key, and the columns of each key exist."""
    assert set(ROW_KEYS) == set(TABLES)
    assert set(GIVEN_TABLES) < set(TABLES)
    for table, key in ROW_KEYS.items():
        assert set(key) <= set(TABLES[table].fieldNames())


def test_true_grid_has_no_difference(site: Path, run: Path, tmp_path: Path) -> None:
    """Files, runs and rows agree, whatever the order of rows and the location of runs."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    _write(again, "cells", _rows(site, "cells")[::-1])
    _write(again, "inputs", [{**_rows(site, "inputs")[0], "folder": "elsewhere"}])
    found = [
        *differing_files(site),
        *differing_runs(site, run_folders([run.parent])),
        *differing_rows(site, again),
    ]
    assert found == []


def test_changed_cell_is_named(site: Path, tmp_path: Path) -> None:
    """In a grid with a falsified cell, the file has another hash and the row another verdict."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    first, second = _rows(site, "cells")
    _write(site, "cells", [{**first, "verdict": "conforms"}, second])
    assert _sentences(differing_files(site)) == [
        "file: tables/cells.parquet has changed since the grid was written"
    ]
    assert _sentences(differing_rows(site, again)) == [
        "cells: C.a / t / plaintext: verdict is conforms, but the runs give violates"
    ]


def test_rows_too_few_and_too_many_are_named(site: Path, tmp_path: Path) -> None:
    """A removed row, an added row and a missing table are named."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    first, second = _rows(site, "cells")
    _write(site, "cells", [second, {**first, "clause": "C.c"}])
    (site / "tables" / "flakes.parquet").unlink()
    assert _sentences(differing_rows(site, again)) == [
        "cells: C.a / t / plaintext: is not published, but the runs produce it",
        "cells: C.c / t / plaintext: is published, but the runs do not produce it",
        "flakes: the table is missing",
    ]


@pytest.mark.parametrize("verdict", ["conforms", None], ids=str)
def test_added_column_is_named(site: Path, tmp_path: Path, verdict: str | None) -> None:
    """A column that the runs do not make is named once for the table, even if it is null in every row."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    reviewed = [{**row, "verdict_after_review": verdict} for row in _rows(site, "cells")]
    _write(site, "cells", reviewed)
    assert _sentences(differing_rows(site, again)) == [
        "cells: the column verdict_after_review is published, but the runs do not produce it"
    ]


def test_added_column_of_an_empty_table_is_named(site: Path, tmp_path: Path) -> None:
    """The columns of a table without rows are compared too."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    columns = {name: pa.array([], pa.string()) for name in ROW_KEYS["flakes"]}
    for folder, more in ((site, {"verdict_after_review": pa.array([], pa.string())}), (again, {})):
        path = folder / "tables" / "flakes.parquet"
        pq.write_table(pa.table(columns | more), path)
    assert _sentences(differing_rows(site, again)) == [
        "flakes: the column verdict_after_review is published, but the runs do not produce it"
    ]


@pytest.mark.parametrize("column", ["verdict", "clause"])
def test_removed_column_is_named(site: Path, tmp_path: Path, column: str) -> None:
    """A column that is gone is named once for the table, even if the rows are found by it."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    rows = [{name: row[name] for name in row if name != column} for row in _rows(site, "cells")]
    _write(site, "cells", rows)
    assert _sentences(differing_rows(site, again)) == [
        f"cells: the column {column} is not published, but the runs produce it"
    ]


def test_row_that_stands_twice_is_named(site: Path, tmp_path: Path) -> None:
    """A surplus row has the key of another one, and counts all the same."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    first, second = _rows(site, "cells")
    _write(site, "cells", [first, second, {**first, "verdict": "conforms"}])
    assert _sentences(differing_rows(site, again)) == [
        "cells: C.a / t / plaintext: the 2 published rows differ from the 1 rows of the runs"
    ]


def test_rows_of_one_key_have_no_order(site: Path, tmp_path: Path) -> None:
    """Rows with the same key are the same rows in any order, and with columns in any order."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    first, second = _rows(site, "cells")
    rows = [first, {**first, "verdict": "conforms"}, second]
    _write(site, "cells", rows)
    _write(again, "cells", [dict(reversed(row.items())) for row in reversed(rows)])
    assert _sentences(differing_rows(site, again)) == []


def test_file_that_was_not_written_is_named(site: Path) -> None:
    """A second file in a table's folder is named, because it would be read as part of the table."""
    (site / "tables" / "more.parquet").write_bytes(b"")
    assert "tables/more.parquet is not in " in _sentences(differing_files(site))[0]
    (site / "tables" / "more.parquet").unlink()
    (site / "more.html").write_bytes(b"")
    assert _sentences(differing_files(site)) == ["file: more.html is not in SHA256SUMS"]
    (site / HASH_LIST).unlink()
    assert "SHA256SUMS is missing" in _sentences(differing_files(site))[0]


def test_removed_run_is_named(site: Path, run: Path, tmp_path: Path) -> None:
    """A run that the grid names but that is not given is named, and so is the opposite."""
    shutil.move(run, tmp_path / "away")
    write_whole_run(tmp_path / "runs" / "r2", run_id="r2")
    assert _sentences(differing_runs(site, run_folders([tmp_path / "runs"]))) == [
        "run: r1 is not among the given runs",
        "run: r2 is given, but not part of the published grid",
    ]


def test_changed_header_is_named(site: Path, run: Path) -> None:
    """A run whose `run.json` is not the one that the grid was made from is named."""
    header = json.loads((run / "run.json").read_text())
    write_header(run, {**header, "tier": "deep"})
    assert _sentences(differing_runs(site, [run])) == [
        "run: r1 has another run.json than the grid was made from"
    ]


def test_changed_row_is_named(site: Path, run: Path) -> None:
    """A changed row of a run is found because its file no longer has the hash in the footer."""
    path = run / "examples" / "part-0.parquet"
    rows = pq.read_table(path)
    index = rows.schema.get_field_index("verdict")
    greener = pa.array(["informational"] * rows.num_rows)
    pq.write_table(rows.set_column(index, rows.schema.field(index), greener), path)
    assert _sentences(differing_runs(site, [run])) == [
        "run: r1 is no longer valid: examples/part-0.parquet has changed since the run was written"
    ]


def test_runs_after_a_refused_one_are_compared(site: Path, run: Path, tmp_path: Path) -> None:
    """One that the grid does not name may have been refused by it too, and is not mentioned."""
    refused = tmp_path / "runs" / "a0"
    refused.mkdir()
    (refused / "run.json").write_text("{")
    write_whole_run(tmp_path / "runs" / "r2", run_id="r2")
    assert _sentences(differing_runs(site, run_folders([run.parent]))) == [
        "run: r2 is given, but not part of the published grid"
    ]


@pytest.mark.parametrize(("theirs", "ours"), [("0", "1"), ("1", "0"), ("1", "1")])
def test_table_of_other_inputs_is_named(site: Path, tmp_path: Path, theirs: str, ours: str) -> None:
    """A table that carries another hash of its inputs is named, whatever its rows are."""
    again = Path(shutil.copytree(site, tmp_path / "again"))
    for folder, digest in ((site, theirs * 64), (again, ours * 64)):
        rows = pq.read_table(folder / "tables" / "cells.parquet")
        (folder / "tables" / "cells.parquet").unlink()
        (folder / "tables" / "cells.parquet").mkdir()
        said = {"fields": [{"name": "clause", "metadata": {"inputs_sha256": digest}}]}
        rows = rows.replace_schema_metadata(
            {"org.apache.spark.sql.parquet.row.metadata": json.dumps(said)}
        )
        pq.write_table(rows, folder / "tables" / "cells.parquet" / "part-0.parquet")
    sentence = f"cells: the hash of its inputs is {theirs * 64}; expected {ours * 64}"
    assert _sentences(differing_rows(site, again)) == [sentence] * (theirs != ours)


def _list(folder: Path, *refused: dict[str, str]) -> Path:
    folder.mkdir()
    (folder / "refused.json").write_text(json.dumps(refused))
    return folder


def test_another_reason_is_another_entry(tmp_path: Path) -> None:
    """Only the reason for a run id that is used twice depends on where the folders are."""
    refused = {"folder": "/a/r1", "refusal": "row_count_differs"}
    published = _list(tmp_path / "published", refused | {"reason": "3 rows"})
    again = _list(tmp_path / "again", refused | {"reason": "4 rows"})
    assert _sentences(differing_lists(published, again, of_last_roll_up=False)) == [
        "refused.json: r1: row_count_differs: 3 rows is published, but does not follow from the runs",
        "refused.json: r1: row_count_differs: 4 rows is not published, but follows from the runs",
    ]


def test_lists_of_refused_runs_are_compared_by_name(tmp_path: Path) -> None:
    """Additional and missing entries are named, wherever folders are; refusals of earlier nights may be missing."""
    cut_off = {"folder": "/a/r1", "refusal": "cut_off", "reason": "no footer"}
    twice = {"folder": "/a/r2", "refusal": "duplicate_run_id", "reason": "its id is that of /a/r0"}
    moved = [cut_off | {"folder": "/b/r1"}, twice | {"folder": "/b/r2", "reason": "of /b/r0"}]
    published = _list(tmp_path / "published", cut_off, twice)
    again = _list(tmp_path / "again", *moved)
    assert list(differing_lists(published, again, of_last_roll_up=False)) == []
    other = _list(tmp_path / "other", cut_off | {"folder": "/a/r3"})
    assert _sentences(differing_lists(other, again, of_last_roll_up=False)) == [
        "refused.json: r3: cut_off: no footer is published, but does not follow from the runs",
        "refused.json: r1: cut_off: no footer is not published, but follows from the runs",
        "refused.json: r2: duplicate_run_id is not published, but follows from the runs",
    ]
    less = _list(tmp_path / "less", cut_off)
    assert list(differing_lists(less, again, of_last_roll_up=True)) == []
