"""Runs are ingested completely, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reports.records import RunRefusal
from spark_aggregation.reading import run_files
from tests.broken_run_folders import BROKEN, EXPLAINED, write_hashes, write_whole_run
from tests.run_folders import (
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.spark_aggregation.rolled_up import ingested, refused_folders, tables_of


def test_every_broken_folder_is_refused_as_the_single_folder_reader_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Given one folder per fault and runs that look wrong, each fault is refused by its name, no other run is."""
    changes = {**{fault: damage for fault, (damage, _) in BROKEN.items()}, **EXPLAINED}
    for number, name in enumerate(changes):
        changes[name](write_whole_run(tmp_path / name, run_id=f"run-{number}"))
    expected = {fault: refusal.value for fault, (_, refusal) in BROKEN.items()}
    assert refused_folders(spark, tmp_path) == expected


def test_refused_runs_change_no_cell(spark: SparkSession, tmp_path: Path) -> None:
    """Broken runs that are newer than a complete one do not change its cell."""
    header = run_header([planned_cell()], run_id="whole")
    write_run(tmp_path / "whole", header, [example_row(header)])
    newer = run_header([planned_cell()], run_id="newer", started_at="2027-01-01T00:00:00+00:00")
    violating = example_row(newer, verdict="violates", failure_signature="f1")
    folder = write_run(tmp_path / "newer", newer, [violating])
    (folder / "run.json").unlink()
    cells = tables_of(spark, tmp_path)["cells"].collect()
    assert [(cell.run_id, cell.verdict, cell.examples) for cell in cells] == [
        ("whole", "conforms", 1)
    ]


@pytest.mark.parametrize(
    ("name", "unknown", "refusal"),
    [
        ("clause", "KIP-0.unknown", RunRefusal.UNKNOWN_CLAUSE),
        ("target", "unknown-1.0", RunRefusal.UNKNOWN_TARGET),
    ],
)
def test_unknown_clause_or_target_is_named(
    spark: SparkSession, tmp_path: Path, name: str, unknown: str, refusal: RunRefusal
) -> None:
    """One cell or row of a clause or target that the header does not list refuses the run; the reason names it."""
    header = run_header([planned_cell()], run_id="by-row")
    rows = [example_row(header, 0), example_row(header, 1, **{name: unknown})]
    write_run(tmp_path / "by row", header, rows)
    fault = f"unknown {name}"
    BROKEN[fault][0](write_whole_run(tmp_path / "by cell", run_id="by-cell"))
    judged = ingested(spark, tmp_path).judged.collect()
    words = f"of a {name} that its run.json does not list: {unknown}"
    assert sorted((row.refusal, row.reason) for row in judged) == [
        (refusal.value, f"it has cells {words}"),
        (refusal.value, f"it has rows {words}"),
    ]


def test_damaged_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """The reason names the file, whatever is wrong with it."""
    faults = ("rows cut short", "rows of other types", "exchanges that are no Parquet")
    for number, fault in enumerate(faults):
        BROKEN[fault][0](write_whole_run(tmp_path / fault, run_id=f"run-{number}"))
    reasons = [row.reason for row in ingested(spark, tmp_path).judged.collect()]
    files = [reason.partition(": ")[0] for reason in reasons]
    assert sorted(files) == [
        "examples/part-0.parquet",
        "examples/part-0.parquet",
        "exchanges/part-0.parquet",
    ]


def test_second_folder_of_a_run_id_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Of two different runs with the same run id, the first by folder name counts."""
    for seed, name in enumerate(("b", "a", "c")):
        write_run(tmp_path / name, run_header([planned_cell()], seed=seed))
    duplicate = RunRefusal.DUPLICATE_RUN_ID.value
    assert refused_folders(spark, tmp_path) == {"b": duplicate, "c": duplicate}


def test_copy_of_a_run_is_neither_counted_nor_listed(spark: SparkSession, tmp_path: Path) -> None:
    """Two folders with byte-identical headers are one run."""
    for name in ("b", "a", "c"):
        write_whole_run(tmp_path / name)
    assert refused_folders(spark, tmp_path) == {}
    tables = tables_of(spark, tmp_path)
    assert [Path(run.folder).name for run in tables["runs"].collect()] == ["a"]
    assert [cell.examples for cell in tables["cells"].collect()] == [3]


def test_broken_folder_does_not_take_its_run_id_away(spark: SparkSession, tmp_path: Path) -> None:
    """A cut-off copy that comes first by name does not make the complete run be refused."""
    damage, refusal = BROKEN["no footer"]
    damage(write_whole_run(tmp_path / "a"))
    write_whole_run(tmp_path / "b")
    assert refused_folders(spark, tmp_path) == {"a": refusal.value}


def test_altered_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """The reason names the file and says whether it is missing."""
    for name, fault in (("changed", "other rows than were written"), ("missing", "no dump")):
        damage, _ = BROKEN[fault]
        damage(write_whole_run(tmp_path / name, run_id=name))
    reasons = {row.reason for row in ingested(spark, tmp_path).judged.collect()}
    assert reasons == {
        "examples/part-0.parquet has changed since the run was written",
        "failures/0123456789abcdef/exchange.txt is missing since the run was written",
    }


def test_file_that_is_too_large_costs_its_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not read counts as missing, whether or not the footer has hashes."""
    write_whole_run(tmp_path / "without hashes", run_id="a")
    write_hashes(write_whole_run(tmp_path / "with hashes", run_id="b"))
    assert refused_folders(spark, tmp_path) == {}
    tables = (tmp_path / "with hashes").glob("*/*.parquet")
    most = min(path.stat().st_size for path in tables) - 1
    monkeypatch.setattr(run_files, "LARGEST_FILE_BYTES", most)
    assert max(path.stat().st_size for path in tmp_path.glob("*/run.json")) <= most
    differs = RunRefusal.ROW_COUNT_DIFFERS.value
    assert refused_folders(spark, tmp_path) == {"without hashes": differs, "with hashes": differs}


def test_files_of_no_run_are_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    """Files next to run folders, in a folder named like one of a run's tables, are not a run."""
    write_whole_run(tmp_path / "examples" / "run")
    (tmp_path / "examples" / "notes.txt").write_text("of no run")
    assert refused_folders(spark, tmp_path) == {}


def test_folders_and_files_with_odd_names_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Spaces, percent signs and names of a run's subfolders in a path confuse neither rows nor headers nor hashes."""
    folder = write_whole_run(tmp_path / "examples" / "exchanges" / "a b%41+ä")
    for name in ("failures/f1/exchange.txt", "failures/f1/a%20b+ä.bin", "failures/f1/deep/er"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name.endswith("txt") else b"bytes")
    write_hashes(folder)
    assert refused_folders(spark, tmp_path) == {}
    assert tables_of(spark, tmp_path)["cells"].collect()[0].examples == 3
