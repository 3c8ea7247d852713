"""A history is the same however its runs came, and whatever was killed on the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrameWriter, SparkSession

from spark_aggregation.errors import HistoryMoved
from spark_aggregation.history import History
from spark_aggregation.job import Request, aggregate
from spark_aggregation.storage import AlreadyThere, Storage
from tests.spark_aggregation.histories import (
    SmallRun,
    Tables,
    roll_up_into,
)


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


def _merged(
    spark: SparkSession, root: Path, nights: list[list[SmallRun]], keep_days: int | None = None
) -> tuple[Tables | None, Tables | None]:
    """Roll nights up one by one, and all runs at once; give the tables of both."""
    history = str(root / "history")
    merged = None
    for night in nights:
        folders = [root / "runs" / run.run_id for run in night]
        for run, folder in zip(night, folders, strict=True):
            if not folder.exists():
                run.write(root / "runs")
        merged = roll_up_into(
            spark, root / "merged", *folders, history=history, keep_days=keep_days
        )
    rebuilt = roll_up_into(
        spark,
        root / "rebuilt",
        root / "runs",
        history=history,
        rebuild=True,
        keep_days=keep_days,
    )
    return merged, rebuilt


def test_merged_history_equals_the_one_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    """With a late run, a night given again, a corrected run and a cut-off one, table by table."""
    first = [SmallRun(number=1, day=0), SmallRun(number=2, day=2, verdicts=("violates", None))]
    late = [SmallRun(number=3, day=1, verdicts=("violates",), flaky=True), first[0]]
    corrected = [
        SmallRun(number=4, day=3, corrects=2),
        SmallRun(number=5, day=4, verdicts=("violates",), broken=True),
        SmallRun(number=6, day=5, tier="smoke", whole=False, target="apache-kafka-3.8.1"),
    ]
    merged, rebuilt = _merged(spark, tmp_path, [first, late, corrected])
    assert merged is not None
    assert merged == rebuilt
    assert len(merged["runs"]) == 5
    batches = (tmp_path / "history" / "facts" / "cells").glob("batch=*")
    assert [path.name.partition("-")[0] for path in batches] == ["batch=00000004"]


def test_retention_keeps_transitions_and_nothing_else_of_old_days(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A target that was not run for longer leaves the grid; when its verdict changed stays known."""
    old, new = "apache-kafka-3.9.2", "apache-kafka-4.4.0"
    nights = [
        [SmallRun(number=1, day=0, target=old), SmallRun(number=2, day=0, target=new)],
        [SmallRun(number=3, day=9, target=new, verdicts=("violates",))],
    ]
    merged, rebuilt = _merged(spark, tmp_path, nights, keep_days=5)
    assert merged is not None
    assert merged == rebuilt
    assert len(merged["transitions"]) == 3
    assert len(merged["runs"]) == len(merged["cells"]) == len(merged["speed"]) == 1
    partials = tmp_path / "history" / "facts" / "partials"
    assert {path.name for path in partials.glob("*/day=*")} == {"day=2026-03-10"}


def _write_two_nights(root: Path) -> tuple[Path, Path]:
    for night, number in (("first", 1), ("second", 2)):
        verdict = "conforms" if number == 1 else "violates"
        SmallRun(number=number, day=number, verdicts=(verdict,)).write(root / night)
    return root / "first", root / "second"


def test_night_given_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """No commit is made of runs that are known, and the tables stay the same."""
    first, second = _write_two_nights(tmp_path)
    history = str(tmp_path / "history")
    before = roll_up_into(spark, tmp_path / "out", first, second, history=history)
    commits = Storage(spark, history).names("commits")
    assert roll_up_into(spark, tmp_path / "out", second, history=history) == before
    assert Storage(spark, history).names("commits") == commits


def test_another_run_with_a_known_id_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """It changes nothing, and is listed with the folder of the run that counts."""
    first = SmallRun(number=1, day=1).write(tmp_path / "first")
    other = SmallRun(number=1, day=2, verdicts=("violates",)).write(tmp_path / "second")
    history = str(tmp_path / "history")
    before = roll_up_into(spark, tmp_path / "out", first, history=history)
    asked = Request(roots=[str(other)], out=str(tmp_path / "out"), history=history)
    outcome = aggregate(spark, asked)
    assert not outcome.counted
    assert [(run.folder, run.refusal) for run in outcome.refused] == [
        (str(other), "duplicate_run_id")
    ]
    assert str(first) in outcome.refused[0].reason
    assert roll_up_into(spark, tmp_path / "out", history=history) == before


@pytest.fixture(scope="module")
def first_night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a history of one night, and a second night's runs."""
    root = tmp_path_factory.mktemp("nights")
    first, _ = _write_two_nights(root)
    roll_up_into(spark, root / "out", first, history=str(root / "history"))
    return root


@pytest.fixture(scope="module")
def never_killed(spark: SparkSession, first_night: Path) -> Tables:
    """Give the tables of both nights at once."""
    nights = [first_night / "first", first_night / "second"]
    tables = roll_up_into(spark, first_night / "never killed", *nights)
    assert tables is not None
    return tables


def _kill_at_write(number: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Kill when a table is written for the n-th time, counted from 0, with a part of it on disk."""

    def arm(patch: pytest.MonkeyPatch) -> None:
        write, seen = DataFrameWriter.parquet, iter(range(1000))

        def parquet(writer: DataFrameWriter, path: str, *rest: Any, **options: Any) -> None:
            if next(seen) >= number:
                (Path(path) / "_temporary").mkdir(parents=True, exist_ok=True)
                raise Killed
            write(writer, path, *rest, **options)

        patch.setattr(DataFrameWriter, "parquet", parquet)

    return arm


def _kill_before(step: str) -> Callable[[pytest.MonkeyPatch], None]:
    def arm(patch: pytest.MonkeyPatch) -> None:
        def killed(*_: Any, **__: Any) -> None:
            raise Killed

        owner = Storage if hasattr(Storage, step) else History
        patch.setattr(owner, step, killed)

    return arm


@pytest.mark.parametrize(
    "arm",
    [
        pytest.param(_kill_at_write(0), id="first facts"),
        pytest.param(_kill_at_write(3), id="facts"),
        pytest.param(_kill_at_write(5), id="first of the state"),
        pytest.param(_kill_at_write(9), id="last of the state"),
        pytest.param(_kill_before("publish_text"), id="before the commit"),
        pytest.param(_kill_before("_remove_leftovers"), id="behind the commit"),
        pytest.param(_kill_at_write(12), id="tables"),
    ],
)
def test_roll_up_that_was_killed_and_started_again_is_as_if_nothing_happened(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first_night: Path,
    never_killed: Tables,
    arm: Callable[[pytest.MonkeyPatch], None],
) -> None:
    """Whatever step it dies in, the next one gives the tables of one that was never killed."""
    shutil.copytree(first_night / "history", tmp_path / "history")
    history, second = str(tmp_path / "history"), first_night / "second"
    with monkeypatch.context() as patch:
        arm(patch)
        with pytest.raises(Killed):
            roll_up_into(spark, tmp_path / "out", second, history=history)
    assert roll_up_into(spark, tmp_path / "out", second, history=history) == never_killed
    assert len(Storage(spark, history).names("commits")) == 2
    batches = Storage(spark, history).names("facts/cells")
    assert len([name for name in batches if name.startswith("batch=00000002-")]) == 1


def test_second_of_two_writers_comes_too_late(spark: SparkSession, tmp_path: Path) -> None:
    """Who began with an older state is told so, and nothing of the first writer's is lost."""
    first, second = _write_two_nights(tmp_path)
    history = str(tmp_path / "history")
    slow = History(spark, history)
    state, batch = slow.state(), slow.begin()
    before = roll_up_into(spark, tmp_path / "out", first, history=history)
    with pytest.raises(HistoryMoved):
        slow.commit(batch, state)
    assert roll_up_into(spark, tmp_path / "out", first, history=history) == before
    shutil.rmtree(second)


def test_file_is_published_whole_and_once(spark: SparkSession, tmp_path: Path) -> None:
    """What is there already stays, and no draft is left."""
    storage = Storage(spark, str(tmp_path))
    storage.publish_text("a/one.json", "first", draft="drafts/1")
    with pytest.raises(AlreadyThere):
        storage.publish_text("a/one.json", "second", draft="drafts/2")
    assert storage.read_text("a/one.json") == "first"
    assert [name for name in storage.names("drafts") if not name.endswith(".crc")] == []
