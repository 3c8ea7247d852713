"""Runs are ingested whole or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reports.records import Refusal
from tests.broken_run_folders import BROKEN, write_whole_run
from tests.run_folders import example_row, planned_cell, run_header, write_run
from tests.spark_aggregation.rolled_up import refused_folders, tables_of


def test_every_broken_folder_is_refused_as_the_single_folder_reader_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All faults at once, beside a whole run: each is refused with its own name, the whole run is not."""
    write_whole_run(tmp_path / "whole", run_id="whole")
    for number, fault in enumerate(BROKEN):
        damage, _ = BROKEN[fault]
        damage(write_whole_run(tmp_path / fault, run_id=f"run-{number}"))
    expected = {fault: refusal.value for fault, (_, refusal) in BROKEN.items()}
    assert refused_folders(spark, tmp_path) == expected


def test_refused_runs_change_no_cell(spark: SparkSession, tmp_path: Path) -> None:
    """Broken runs that are newer than a whole one leave its cell alone."""
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
    "change",
    [
        pytest.param({"verdict": "splendid"}, id="unknown verdict"),
        pytest.param({"verdict": "flaky"}, id="verdict of a cell"),
        pytest.param({"phase": "reuse"}, id="unknown phase"),
        pytest.param({"run_id": "another"}, id="of another run"),
        pytest.param({"clause": "KIP-0.unplanned"}, id="clause not planned"),
        pytest.param({"target": "unplanned-1.0"}, id="target not planned"),
        pytest.param({"listener": "controller"}, id="listener not planned"),
    ],
)
def test_run_with_a_wrong_row_is_refused(
    spark: SparkSession, tmp_path: Path, change: dict[str, str]
) -> None:
    """One row that cannot belong to the run costs the run."""
    header = run_header([planned_cell()])
    rows = [example_row(header, 0), example_row(header, 1, **change)]
    write_run(tmp_path / "run", header, rows)
    assert refused_folders(spark, tmp_path) == {"run": Refusal.INVALID_ROWS.value}


def test_second_folder_of_a_run_id_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Of two different runs with one run id the first by name counts."""
    for seed, name in enumerate(("b", "a", "c")):
        write_run(tmp_path / name, run_header([planned_cell()], seed=seed))
    duplicate = Refusal.DUPLICATE_RUN_ID.value
    assert refused_folders(spark, tmp_path) == {"b": duplicate, "c": duplicate}


def test_copy_of_a_run_is_neither_counted_nor_listed(spark: SparkSession, tmp_path: Path) -> None:
    """The same run in two folders, to the byte of its header, is one run."""
    for name in ("b", "a", "c"):
        write_whole_run(tmp_path / name)
    assert refused_folders(spark, tmp_path) == {}
    tables = tables_of(spark, tmp_path)
    assert [Path(run.folder).name for run in tables["runs"].collect()] == ["a"]
    assert [cell.examples for cell in tables["cells"].collect()] == [3]


def test_broken_folder_does_not_take_its_run_id_away(spark: SparkSession, tmp_path: Path) -> None:
    """A cut-off copy that comes first by name does not cost the whole one."""
    damage, refusal = BROKEN["no footer"]
    damage(write_whole_run(tmp_path / "a"))
    write_whole_run(tmp_path / "b")
    assert refused_folders(spark, tmp_path) == {"a": refusal.value}


def test_folders_with_odd_names_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Spaces, percent signs and names of our own folders in a path do not confuse rows and headers."""
    root = tmp_path / "examples" / "exchanges" / "a b%41+ä"
    write_whole_run(root)
    assert refused_folders(spark, tmp_path) == {}
    assert tables_of(spark, tmp_path)["cells"].collect()[0].examples == 3
