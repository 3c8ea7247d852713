"""Runs are ingested completely or refused by name.

Some are refused before Spark opens anything.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reports.run_folders import run_limits
from reports.run_folders.refusal_reasons import RunRefusal
from reports.run_folders.refused_runs import REFUSED_FILE, RunLists
from spark_aggregation.job import command
from spark_aggregation.reading import run_files
from spark_aggregation.reading.run_files import Screened, screened
from tests.broken_run_folders import (
    BROKEN,
    EXPLAINED,
    NOT_UTF8,
    write_failure_file,
    write_hashes,
    write_whole_run,
)
from tests.run_folders import example_row, planned_cell, run_header, target_entry, write_run
from tests.spark_aggregation.histories import (
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
    for name, by_owner in (("taken-a", "5 of 5"), ("taken-b", None)):
        targets = [target_entry(judged_by_owner=by_owner)]
        write_run(root / name, run_header([planned_cell()], run_id="taken", targets=targets))
    for name in ("copy-b", "copy-a", "copy-c"):
        write_whole_run(root / name, run_id="copied")
    BROKEN["no footer"][0](write_whole_run(root / "again-a", run_id="again"))
    write_whole_run(root / "again-b", run_id="again")
    return judged_folders(spark, root)


def test_every_broken_folder_is_refused(judged: Judged) -> None:
    """Each fault is refused by its name with a sentence, and every run that only looks wrong counts."""
    refused = {fault: judged[fault].refusal for fault in BROKEN}
    assert refused == {fault: refusal.value for fault, (_, refusal) in BROKEN.items()}
    assert all(judged[fault].reason for fault in BROKEN)
    assert all(judged[name].counts for name in EXPLAINED)


def test_second_folder_of_a_run_id_is_refused(judged: Judged) -> None:
    """Of two different runs with the same run id, the first by folder name counts."""
    duplicate = RunRefusal.DUPLICATE_RUN_ID.value
    assert [judged[f"twice-{name}"].refusal for name in "abc"] == [None, duplicate, duplicate]


def test_a_run_of_its_owner_takes_no_run_id_away(judged: Judged) -> None:
    """A run that comes from a pack counts last, even if its folder comes first."""
    assert judged["taken-b"].counts
    assert judged["taken-a"].refusal == RunRefusal.DUPLICATE_RUN_ID.value


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
    header = run_header([planned_cell()], run_id="whole")
    shutil.copytree(write_run(tmp_path / "whole", header, [example_row(header)]), tmp_path / "copy")
    newer = run_header([planned_cell()], run_id="newer", started_at="2027-01-01T00:00:00+00:00")
    violating = example_row(newer, verdict="violates", failure_signature="f1")
    folder = write_run(tmp_path / "newer", newer, [violating])
    (folder / "run.json").unlink()
    cells = tables_of(spark, tmp_path)["cells"].collect()
    assert [(cell.run_id, cell.verdict, cell.examples) for cell in cells] == [("whole", "conforms", 1)]


def test_file_that_is_too_large_costs_its_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not read counts as missing, whether or not the footer has hashes."""
    write_whole_run(tmp_path / "without hashes", run_id="a")
    write_hashes(write_whole_run(tmp_path / "with hashes", run_id="b"))
    assert refused_folders(spark, tmp_path) == {}
    tables = (tmp_path / "with hashes").glob("*/*.parquet")
    most = min(path.stat().st_size for path in tables) - 1
    monkeypatch.setattr(run_files, "MAX_FILE_BYTES", most)
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


def test_folder_without_faults_is_read_as_given(tmp_path: Path) -> None:
    """Roots without faults, links to roots and URIs stay as they are."""
    write_whole_run(tmp_path / "all" / "run")
    (tmp_path / "link").symlink_to(tmp_path / "all")
    roots = (str(tmp_path / "all"), str(tmp_path / "link"), "hdfs://name/runs", "missing")
    assert screened(roots) == Screened(roots=roots, refused=())


def test_parts_next_to_a_refused_folder_are_read(tmp_path: Path) -> None:
    """A run folder with a link is refused by name; its siblings are read, whatever they are called."""
    for name in ("a", "deep/b*[1]", "deep/bad", "deep/c"):
        write_whole_run(tmp_path / name)
    write_failure_file(tmp_path / "deep" / "bad").symlink_to("/etc/hostname")
    found = screened([str(tmp_path)])
    deep = tmp_path / "deep"
    assert found.roots == (f"{tmp_path}/a", f"{deep}/b\\*\\[1\\]", f"{deep}/c")
    assert [(run.folder, run.refusal, run.reason) for run in found.refused] == [
        (
            str(deep / "bad"),
            "special_file",
            "failures/0123456789abcdef/exchange.txt is a link, and no plain file",
        )
    ]


def test_link_between_run_folders_is_not_followed(tmp_path: Path) -> None:
    """A link to a folder outside the given ones is refused by its own name."""
    write_whole_run(tmp_path / "runs" / "run")
    write_whole_run(tmp_path / "elsewhere" / "private")
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    found = screened([str(tmp_path / "runs")])
    assert found.roots == (str(tmp_path / "runs" / "run"),)
    assert [(run.folder, run.reason) for run in found.refused] == [
        (str(tmp_path / "runs" / "link"), "it is a link; give the run folder itself")
    ]


def test_what_spark_would_drop_is_refused_by_name(tmp_path: Path) -> None:
    """A run below a path that is not UTF-8, and whatever else has such a name; the other runs are read."""
    write_whole_run(tmp_path / "good")
    for name in ("run", "rows of no run"):
        write_whole_run(tmp_path / name)
    (tmp_path / "rows of no run" / "run.json").unlink()
    (tmp_path / "run").rename(tmp_path / f"run {NOT_UTF8}")
    (tmp_path / "rows of no run").rename(tmp_path / f"rows {NOT_UTF8}")
    (tmp_path / NOT_UTF8).mkdir()
    write_whole_run(tmp_path / "deep").rename(tmp_path / NOT_UTF8 / "deep")
    (tmp_path / NOT_UTF8 / "empty").mkdir()
    (tmp_path / f"file {NOT_UTF8}").touch()
    found = screened([str(tmp_path)])
    assert found.roots == (str(tmp_path / "good"),)
    assert {run.refusal for run in found.refused} == {"unusable_name"}
    assert [run.folder for run in found.refused] == [
        rf"{tmp_path}/bad\xff/deep",
        rf"{tmp_path}/bad\xff/empty",
        rf"{tmp_path}/file bad\xff",
        rf"{tmp_path}/rows bad\xff",
        rf"{tmp_path}/run bad\xff",
    ]
    assert all(run.reason.startswith("its path is not UTF-8") for run in found.refused)
    assert RunLists(refused=found.refused).texts()[REFUSED_FILE].encode()


@pytest.mark.parametrize(
    "arguments",
    [
        (NOT_UTF8, "--out", "out"),
        ("good", "--out", NOT_UTF8),
        (f"file:/{NOT_UTF8}", "--out", "out"),
    ],
    ids=["root", "out", "uri"],
)
def test_path_that_spark_cannot_be_given_is_wrong_usage(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(list(arguments))
    assert ended.value.code == 2
    text = capsys.readouterr().err
    assert "bad\\xff is not UTF-8" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "most", "sentence"),
    [
        ("MAX_FILES", 2, "it has too many files; the limit is 2"),
        ("MAX_FOLDER_BYTES", 100, "its files are too large together; the limit is 100 bytes"),
        ("MAX_FILE_BYTES", 1000, "run.json has "),
    ],
)
def test_folder_beyond_a_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int, sentence: str
) -> None:
    write_whole_run(tmp_path / "run")
    assert screened([str(tmp_path)]).refused == ()
    monkeypatch.setattr(run_limits, name, most)
    (refused,) = screened([str(tmp_path)]).refused
    assert (refused.refusal, refused.reason.startswith(sentence)) == ("beyond_limits", True)
    assert refused.reason.endswith("this suite writes nothing like it; leave the folder out")
