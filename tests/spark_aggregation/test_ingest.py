"""Runs are ingested completely, or refused by name."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reports.records import RunRefusal
from spark_aggregation.reading import run_files
from tests.broken_run_folders import BROKEN, EXPLAINED, write_hashes, write_whole_run
from tests.run_folders import example_row, planned_cell, run_header, write_run
from tests.spark_aggregation.rolled_up import (
    JudgedFolder,
    judged_folders,
    refused_folders,
    tables_of,
)

Judged = Mapping[str, JudgedFolder]


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Read one folder per fault, runs that look wrong, and several folders with the same run id."""
    root = tmp_path_factory.mktemp("folders")
    changes = {**{fault: damage for fault, (damage, _) in BROKEN.items()}, **EXPLAINED}
    for number, name in enumerate(changes):
        changes[name](write_whole_run(root / name, run_id=f"run-{number}"))
    for seed, name in enumerate(("twice-b", "twice-a", "twice-c")):
        write_run(root / name, run_header([planned_cell()], run_id="twice", seed=seed))
    for name in ("copy-b", "copy-a", "copy-c"):
        write_whole_run(root / name, run_id="copied")
    BROKEN["no footer"][0](write_whole_run(root / "again-a", run_id="again"))
    write_whole_run(root / "again-b", run_id="again")
    return judged_folders(spark, root)


def test_every_broken_folder_is_refused_as_the_single_folder_reader_does(judged: Judged) -> None:
    """Each fault is refused by its name, and every run that only looks wrong counts."""
    refused = {fault: judged[fault].refusal for fault in BROKEN}
    assert refused == {fault: refusal.value for fault, (_, refusal) in BROKEN.items()}
    assert all(judged[name].counts for name in EXPLAINED)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("unknown clause", "it has cells of a clause that its run.json does not list: KIP-0.unknown"),
        ("unknown target", "it has cells of a target that its run.json does not list: unknown-1.0"),
        ("a row of an unknown clause", "it has rows of a clause that its run.json does not list: KIP-0.unknown"),
        ("a row of an unknown target", "it has rows of a target that its run.json does not list: unknown-1.0"),
        ("rows cut short", "examples/part-0.parquet: "),
        ("rows of other types", "examples/part-0.parquet: "),
        ("exchanges that are no Parquet", "exchanges/part-0.parquet: "),
        ("other rows than were written", "examples/part-0.parquet has changed since the run was written"),
        ("no dump", "failures/0123456789abcdef/exchange.txt is missing since the run was written"),
    ],
)  # fmt: skip
def test_reason_names_what_is_wrong(judged: Judged, fault: str, reason: str) -> None:
    """A clause, a target or a file."""
    assert (judged[fault].reason or "").startswith(reason)


def test_second_folder_of_a_run_id_is_refused(judged: Judged) -> None:
    """Of two different runs with the same run id, the first by folder name counts."""
    duplicate = RunRefusal.DUPLICATE_RUN_ID.value
    assert [judged[f"twice-{name}"].refusal for name in "abc"] == [None, duplicate, duplicate]


def test_broken_folder_does_not_take_its_run_id_away(judged: Judged) -> None:
    """A cut-off copy that comes first by name does not make the complete run be refused."""
    assert judged["again-a"].refusal == RunRefusal.CUT_OFF.value
    assert judged["again-b"].counts


def test_copy_of_a_run_is_neither_counted_nor_listed(judged: Judged) -> None:
    """Folders with byte-identical headers are one run."""
    copies = [judged[name] for name in ("copy-a", "copy-b", "copy-c") if name in judged]
    assert [each.counts for each in copies].count(True) == 1
    assert judged["copy-a"].counts
    assert {each.refusal for each in copies} == {None}


def test_refused_runs_change_no_cell(spark: SparkSession, tmp_path: Path) -> None:
    """Neither broken runs that are newer than a complete one, nor its copy, change its cell."""
    header = run_header([planned_cell()], run_id="whole")
    shutil.copytree(write_run(tmp_path / "whole", header, [example_row(header)]), tmp_path / "copy")
    newer = run_header([planned_cell()], run_id="newer", started_at="2027-01-01T00:00:00+00:00")
    violating = example_row(newer, verdict="violates", failure_signature="f1")
    folder = write_run(tmp_path / "newer", newer, [violating])
    (folder / "run.json").unlink()
    cells = tables_of(spark, tmp_path)["cells"].collect()
    assert [(cell.run_id, cell.verdict, cell.examples) for cell in cells] == [
        ("whole", "conforms", 1)
    ]


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


@pytest.mark.nightly
def test_folders_and_files_with_odd_names_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Spaces, percent signs and names of a run's subfolders in a path confuse neither rows nor headers nor hashes.

    A file next to a run folder, in a folder named like one of a run's tables, is no run.
    """
    folder = write_whole_run(tmp_path / "examples" / "exchanges" / "a b%41+ä")
    (tmp_path / "examples" / "notes.txt").write_text("of no run")
    for name in ("failures/f1/exchange.txt", "failures/f1/a%20b+ä.bin", "failures/f1/deep/er"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name.endswith("txt") else b"bytes")
    write_hashes(folder)
    assert refused_folders(spark, tmp_path) == {}
    assert tables_of(spark, tmp_path)["cells"].collect()[0].examples == 3
