"""Each difference between a published grid and its runs is named.

The same holds for its pages and exports.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.arrow_schemas import table_schemas
from reports.run_folders.hash_list import HASH_LIST, hashes_of, write_hash_list
from reports.site.build import build_site, read_tables
from reports.site.evidence_check import StatementWithoutEvidence
from reports.tables.all_tables import ROW_KEYS
from reports.verify.page_verification import differing_pages
from reports.verify.verification import (
    GIVEN_TABLES,
    differing_files,
    differing_lists,
    differing_rows,
    differing_runs,
    run_folders,
)
from tests.broken_run_folders import write_whole_run
from tests.reports.roll_up_tables import run_row, write_tables
from tests.reports.site.sites import site_tables
from tests.run_folders import write_header

RUN_ID = "r1"
FIRST = {"clause": "C.a", "target": "t", "listener": "plaintext", "verdict": "violates"}
SECOND = FIRST | {"clause": "C.b"}
BOTH, GREEN = (FIRST, SECOND), {"verdict": "conforms"}
REVIEWED = "verdict_after_review"
NEW_COLUMN = f"the column {REVIEWED} is published, but the runs do not produce it"
DIFFERENCES: dict[str, tuple[Any, ...]] = {
    "changed": (
        [FIRST | GREEN, SECOND],
        "C.a / t / plaintext: verdict is conforms, but the runs give violates",
    ),
    "another": (
        [SECOND, FIRST | {"clause": "C.c"}],
        "C.a / t / plaintext: is not published, but the runs produce it",
        "C.c / t / plaintext: is published, but the runs do not produce it",
    ),
    "twice": (
        [FIRST, SECOND, FIRST | GREEN],
        "C.a / t / plaintext: the 2 published rows differ from the 1 rows of the runs",
    ),
    "new column": ([{**row, REVIEWED: "conforms"} for row in BOTH], NEW_COLUMN),
    "null column": ([{**row, REVIEWED: None} for row in BOTH], NEW_COLUMN),
    **{
        f"no {gone}": (
            [{name: row[name] for name in row if name != gone} for row in BOTH],
            f"the column {gone} is not published, but the runs produce it",
        )
        for gone in ("verdict", "clause")
    },
}
"""Each case: the published rows of the cells, and what is reported."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose footer has the hashes of its files."""
    folder = write_whole_run(tmp_path / "runs" / RUN_ID, run_id=RUN_ID)
    header = json.loads((folder / "run.json").read_text())
    hashes = hashes_of(folder).items()
    header["footer"]["files"] = {name: each for name, each in hashes if "examples/" in name}
    write_header(folder, header)
    return folder


@pytest.fixture
def site(tmp_path: Path, run: Path) -> Path:
    """A published grid of that run."""
    root = tmp_path / "site"
    digest = hashlib.sha256((run / "run.json").read_bytes()).hexdigest()
    named = {"run_id": RUN_ID, "folder": run.as_uri(), "run_json_sha256": digest}
    for table, key in ROW_KEYS.items():
        _write(root, table, [dict.fromkeys(key, "x")])
    _write(root, "cells", [FIRST, SECOND])
    _write(root, "inputs", [named])
    write_hash_list(root)
    return root


@pytest.fixture
def again(tmp_path: Path, site: Path) -> Path:
    """A copy of that grid, as the runs produce it."""
    return Path(shutil.copytree(site, tmp_path / "again"))


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
    """The columns of each key exist."""
    tables = table_schemas()
    assert set(GIVEN_TABLES) < set(tables)
    for table, key in ROW_KEYS.items():
        assert set(key) <= set(tables[table].names)


def test_true_grid_has_no_difference(site: Path, run: Path, again: Path) -> None:
    """Files, runs and rows agree, whatever the order of rows and the location of runs."""
    _write(again, "cells", _rows(site, "cells")[::-1])
    _write(again, "inputs", [{**_rows(site, "inputs")[0], "folder": "elsewhere"}])
    found = [
        *differing_files(site),
        *differing_runs(site, run_folders([run.parent])),
        *differing_rows(site, again),
    ]
    assert found == []


@pytest.mark.parametrize("name", DIFFERENCES)
def test_difference_of_rows_is_named(name: str, site: Path, again: Path) -> None:
    """A column is named once for the table, even if it is null in every row, or the rows are found by it."""
    rows, *sentences = DIFFERENCES[name]
    _write(site, "cells", rows)
    assert _sentences(differing_rows(site, again)) == [f"cells: {each}" for each in sentences]
    changed = "file: tables/cells.parquet has changed since the grid was written"
    assert _sentences(differing_files(site)) == [changed]


def test_missing_table_is_named(site: Path, again: Path) -> None:
    (site / "tables" / "flakes.parquet").unlink()
    assert _sentences(differing_rows(site, again)) == ["flakes: the table is missing"]


def test_added_column_of_an_empty_table_is_named(site: Path, again: Path) -> None:
    """The columns of a table without rows are compared too."""
    columns = {name: pa.array([], pa.string()) for name in ROW_KEYS["flakes"]}
    for folder, more in ((site, {REVIEWED: pa.array([], pa.string())}), (again, {})):
        path = folder / "tables" / "flakes.parquet"
        pq.write_table(pa.table(columns | more), path)
    assert _sentences(differing_rows(site, again)) == [f"flakes: {NEW_COLUMN}"]


def test_rows_of_one_key_have_no_order(site: Path, again: Path) -> None:
    """Rows with the same key are the same rows in any order, and with columns in any order."""
    rows = [FIRST, FIRST | {"verdict": "conforms"}, SECOND]
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
    assert _sentences(differing_runs(site, [run])) == ["run: r1 has another run.json than the grid was made from"]


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
    refused = tmp_path / "runs" / "a0"
    refused.mkdir()
    (refused / "run.json").write_text("{")
    write_whole_run(tmp_path / "runs" / "r2", run_id="r2")
    assert _sentences(differing_runs(site, run_folders([run.parent]))) == [
        "run: r2 is given, but not part of the published grid"
    ]


@pytest.mark.parametrize(("theirs", "ours"), [("0", "1"), ("1", "0"), ("1", "1")])
def test_table_of_other_inputs_is_named(site: Path, again: Path, theirs: str, ours: str) -> None:
    """A table that carries another hash of its inputs is named, whatever its rows are."""
    for folder, digest in ((site, theirs * 64), (again, ours * 64)):
        rows = pq.read_table(folder / "tables" / "cells.parquet")
        (folder / "tables" / "cells.parquet").unlink()
        (folder / "tables" / "cells.parquet").mkdir()
        text = {"fields": [{"name": "clause", "metadata": {"inputs_sha256": digest}}]}
        rows = rows.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": json.dumps(text)})
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


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a list of hashes, written once."""
    root = write_tables(tmp_path_factory.mktemp("site"), **_lists("/runs"), **site_tables())
    build_site(*read_tables(root), root)
    write_hash_list(root)
    return root


@pytest.fixture
def published(written: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    return Path(shutil.copytree(written, tmp_path / "published"))


@pytest.fixture
def recomputed(tmp_path: Path) -> Path:
    """The tables of the same runs, which have moved to another folder; the rows are in another order."""
    tables = {name: rows[::-1] for name, rows in site_tables().items()}
    taken_over: dict[str, list[dict[str, object]]] = {name: [] for name in GIVEN_TABLES}
    runs = {"runs": [run_row("/elsewhere")]}
    lists = _lists("/elsewhere")
    return write_tables(tmp_path / "again", **lists, **(tables | runs | taken_over))


def _lists(root: str) -> dict[str, list[dict[str, str]]]:
    return {
        "refused": [{"folder": f"{root}/1", "refusal": "cut_off", "reason": "it was cut off"}],
        "notices": [{"folder": f"{root}/2", "notice": "not in the catalogue: C.gone"}],
    }


def _found(published: Path, recomputed: Path, tmp_path: Path) -> list[str]:
    (tmp_path / "scratch").mkdir()
    found = differing_pages(published, recomputed, tmp_path / "scratch", list(GIVEN_TABLES))
    return [f"{difference.part}: {difference.sentence}" for difference in found]


def test_pages_that_the_tables_make_have_no_difference(published: Path, recomputed: Path, tmp_path: Path) -> None:
    """Pages do not depend on the time, the location of the runs, or the order in which Spark wrote rows."""
    assert _found(published, recomputed, tmp_path) == []


def test_address_of_the_pages_is_taken_from_the_grid(published: Path, recomputed: Path, tmp_path: Path) -> None:
    """A grid that was made for an address has its links in every export; they are no difference."""
    build_site(*read_tables(published, pages="https://pages.example/kafka/"), published)
    write_hash_list(published)
    assert "https://pages.example/kafka/" in (published / "exports/changes.atom").read_text()
    assert _found(published, recomputed, tmp_path) == []


def test_painted_files_are_named(published: Path, recomputed: Path, tmp_path: Path) -> None:
    """A falsified page, an added file and a removed one are found, although the list was rewritten."""
    home = published / "index.html"
    home.write_text(home.read_text().replace("violates", "conforms"))
    badge = next((published / "exports" / "badges").rglob("*.svg"))
    badge.write_text("<svg/>")
    (published / "grid.md").unlink()
    (published / "cells" / "more.html").write_text("all is well")
    (published / "tables" / "more.parquet").write_bytes(b"")
    write_hash_list(published)
    assert sorted(_found(published, recomputed, tmp_path)) == [
        "page: cells/more.html is published, but no table produces it",
        f"page: {badge.relative_to(published)} differs from the page that the tables produce",
        "page: grid.md is missing",
        "page: index.html differs from the page that the tables produce",
        "page: tables/more.parquet is published, but no table produces it",
    ]


@pytest.mark.parametrize("name", ["refused", "notices"])
def test_missing_list_is_named(published: Path, recomputed: Path, tmp_path: Path, name: str) -> None:
    """No page can be made without the list; the missing list is reported, and no other finding is lost."""
    (published / f"{name}.json").unlink()
    assert _found(published, recomputed, tmp_path) == [f"page: no page can be rendered: {name}.json is missing"]


def test_statement_without_evidence_is_named(
    published: Path, recomputed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the pages cannot be rendered, the reason is the only difference."""

    def render(*arguments: object) -> None:
        raise StatementWithoutEvidence(["C.a has none"])

    monkeypatch.setattr("reports.verify.page_verification.render_site", render)
    (sentence,) = _found(published, recomputed, tmp_path)
    assert sentence.startswith("page: no page can be rendered: ")
    assert sentence.endswith("C.a has none")
