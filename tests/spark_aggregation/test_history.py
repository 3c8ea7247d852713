"""A history does not depend on the order of its runs or on killed roll-ups."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrameWriter, SparkSession

from spark_aggregation.errors import ForeignHistory
from spark_aggregation.history.facts import FACTS, Facts, facts_of, ingest
from spark_aggregation.history.history import LAYOUT, RunHistory
from spark_aggregation.history.state import STATE, State, empty_state
from spark_aggregation.reading.frames import checkpointed
from spark_aggregation.reading.storage import AlreadyThere, Storage, local_path
from tests.simulated_kill import SimulatedKill
from tests.spark_aggregation.histories import (
    FEW_AND_SLOW,
    WRITTEN_HISTORIES,
    SmallRun,
    Tables,
    ingested,
    nights_of,
    roll_up_into,
    small_runs,
    state_of,
)


def _merged(
    spark: SparkSession, root: Path, nights: list[list[SmallRun]], keep_days: int | None = None
) -> tuple[Tables | None, Tables | None]:
    """Roll up nights one by one, and all runs at once; return the tables of both."""
    history = str(root / "history")
    merged = None
    for night in nights:
        folders = [root / "runs" / run.run_id for run in night]
        for run, folder in zip(night, folders, strict=True):
            if not folder.exists():
                run.write(root / "runs")
        merged = roll_up_into(spark, root / "merged", *folders, history=history, keep_days=keep_days)
    rebuilt = roll_up_into(
        spark,
        root / "rebuilt",
        root / "runs",
        history=history,
        rebuild=True,
        keep_days=keep_days,
    )
    return merged, rebuilt


@pytest.mark.nightly
def test_merged_history_equals_the_one_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Every table is equal with a late run, a night given twice, a corrected run and a cut-off run."""
    first = [SmallRun(number=1, day=0), SmallRun(number=2, day=2, verdicts=("violates", None))]
    second = [
        SmallRun(number=3, day=1, verdicts=("violates",), flaky=True),
        first[0],
        SmallRun(number=4, day=3, corrects=2),
        SmallRun(number=5, day=4, verdicts=("violates",), broken=True),
        SmallRun(number=6, day=5, tier="smoke", whole=False, target="apache-kafka-3.8.1"),
    ]
    merged, rebuilt = _merged(spark, tmp_path, [first, second])
    assert merged is not None
    assert merged == rebuilt
    assert len(merged["runs"]) == 5
    batches = (tmp_path / "history" / "facts" / "cells").glob("batch=*")
    assert [path.name.partition("-")[0] for path in batches] == ["batch=00000003"]


@pytest.mark.nightly
@pytest.mark.slow  # Some 15 roll-ups
@pytest.mark.timeout(1800)  # On a busy machine each took 20 s
@given(data=st.data())
@settings(FEW_AND_SLOW, max_examples=WRITTEN_HISTORIES)
def test_any_history_equals_the_one_made_anew(spark: SparkSession, data: st.DataObject) -> None:
    """Nights may be shuffled and repeated, runs late, corrected or cut off, with or without retention."""
    nights = data.draw(small_runs().flatmap(nights_of))
    keep_days = data.draw(st.sampled_from([None, 2, 14]))
    with TemporaryDirectory() as folder:
        merged, rebuilt = _merged(spark, Path(folder), nights, keep_days)
    assert merged == rebuilt


@pytest.mark.nightly
def test_each_day_of_a_batch_is_one_file(spark: SparkSession, tmp_path: Path) -> None:
    """However many tasks made its rows, a later night opens only one file of each table."""
    for number in range(6):
        SmallRun(number=number, day=number % 2, verdicts=("violates", None)).write(tmp_path)
    new = facts_of(ingested(spark, tmp_path))
    scattered = Facts(**{name: frame.repartition(3) for name, frame in new.by_name().items()})
    history = RunHistory(spark, str(tmp_path / "history"))
    read_back = history.write_facts(history.begin(), scattered)
    days = list((tmp_path / "history" / "facts" / "cells").glob("batch=*/day=*"))
    assert [len(list(day.glob("part-*.parquet"))) for day in days] == [1, 1]
    assert read_back.cells.count() == 12


@pytest.mark.nightly
@pytest.mark.slow  # Rolls up several times
def test_retention_keeps_transitions_and_nothing_else_of_old_days(spark: SparkSession, tmp_path: Path) -> None:
    """A target without a run in the kept days leaves the grid; its transitions stay known."""
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


@pytest.mark.nightly
def test_another_run_with_a_known_id_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The refused run is listed with the folder of the run that counts, and leaves no facts."""
    first = SmallRun(number=1, day=1).write(tmp_path / "first")
    other = SmallRun(number=1, day=2, verdicts=("violates",)).write(tmp_path / "second")
    known = state_of(spark, first)[0].known
    new = ingest(spark, [str(other)], known)
    (refused,) = new.checked.collect()
    assert (local_path(refused.folder), refused.refusal) == (str(other), "duplicate_run_id")
    assert str(first) in refused.reason
    assert facts_of(new).cells.isEmpty()


@pytest.fixture(scope="module")
def first_night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a history of one night, and the runs of a second night."""
    root = tmp_path_factory.mktemp("nights")
    first, _ = _write_two_nights(root)
    roll_up_into(spark, root / "out", first, history=str(root / "history"))
    return root


@pytest.fixture(scope="module")
def never_killed(spark: SparkSession, first_night: Path) -> Tables:
    """Return the tables of both nights rolled up at once."""
    nights = [first_night / "first", first_night / "second"]
    tables = roll_up_into(spark, first_night / "never killed", *nights)
    assert tables is not None
    return tables


Arm = Callable[[pytest.MonkeyPatch], None]


def _kill_at_write(pattern: str) -> Arm:
    """Kill while a table is written into a folder whose path matches `pattern`, when part of it is on disk."""

    def arm(patch: pytest.MonkeyPatch) -> None:
        write = DataFrameWriter.parquet

        def parquet(writer: DataFrameWriter, path: str, *rest: Any, **options: Any) -> None:
            if fnmatch(path, f"*/{pattern}"):
                (Path(path) / "_temporary").mkdir(parents=True, exist_ok=True)
                raise SimulatedKill
            write(writer, path, *rest, **options)

        patch.setattr(DataFrameWriter, "parquet", parquet)

    return arm


def _kill_before(step: str) -> Arm:
    def arm(patch: pytest.MonkeyPatch) -> None:
        def killed(*_: Any, **__: Any) -> None:
            raise SimulatedKill

        owner = Storage if hasattr(Storage, step) else RunHistory
        patch.setattr(owner, step, killed)

    return arm


def _kill_after_delete(number: int) -> Arm:
    """Kill after the n-th folder that retention removes, counted from 1."""

    def arm(patch: pytest.MonkeyPatch) -> None:
        drop_days, delete, seen = RunHistory.drop_days, Storage.delete, count(1)

        def deleted(storage: Storage, name: str) -> None:
            delete(storage, name)
            if next(seen) == number:
                raise SimulatedKill

        def dropped(history: RunHistory, state: State) -> None:
            patch.setattr(Storage, "delete", deleted)
            drop_days(history, state)

        patch.setattr(RunHistory, "drop_days", dropped)

    return arm


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "rebuild"),
    [
        pytest.param(_kill_before("publish_text"), False, id="before the commit"),
        pytest.param(_kill_before("_remove_leftovers"), False, id="after the commit"),
        # The history has the night already, so that it is given again.
        pytest.param(_kill_at_write("tables/cells.parquet"), False, id="tables"),
        pytest.param(_kill_at_write("states/*/speed"), True, id="last of the state, rebuilding"),
        pytest.param(_kill_before("_remove_leftovers"), True, id="after the commit, rebuilding"),
    ],
)
def test_roll_up_that_was_killed_and_started_again_is_as_if_nothing_happened(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first_night: Path,
    never_killed: Tables,
    arm: Arm,
    rebuild: bool,
) -> None:
    """Whichever step the roll-up dies in, the next one makes the tables of one that was never killed, and no
    needless commit."""
    shutil.copytree(first_night / "history", tmp_path / "history")
    history = str(tmp_path / "history")
    nights = [first_night / "first", first_night / "second"][0 if rebuild else 1 :]
    with monkeypatch.context() as patch:
        arm(patch)
        with pytest.raises(SimulatedKill):
            roll_up_into(spark, tmp_path / "out", *nights, history=history, rebuild=rebuild)
    again = roll_up_into(spark, tmp_path / "out", *nights, history=history, rebuild=rebuild)
    assert again == never_killed
    storage = Storage(spark, history)
    _assert_nothing_is_left_over(storage, batches=1 if rebuild else 2)
    assert storage.names("commits")[:2] == ["00000001.json", "00000002.json"]
    assert rebuild or len(storage.names("commits")) == 2


@pytest.mark.nightly
@pytest.mark.slow  # Eleven attempts
def test_every_write_before_the_commit_may_be_the_last(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first_night: Path,
    never_killed: Tables,
) -> None:
    shutil.copytree(first_night / "history", tmp_path / "history")
    uri, second = str(tmp_path / "history"), first_night / "second"
    new = facts_of(ingested(spark, second))
    facts = Facts(**{name: checkpointed(frame) for name, frame in new.by_name().items()})
    writes = [*(f"facts/{name}/*" for name in FACTS), *(f"states/*/{name}" for name in STATE)]
    for pattern in writes:
        with monkeypatch.context() as patch:
            _kill_at_write(pattern)(patch)
            with pytest.raises(SimulatedKill):
                _add_to(RunHistory(spark, uri), facts)
    assert roll_up_into(spark, tmp_path / "out", second, history=uri) == never_killed
    _assert_nothing_is_left_over(Storage(spark, uri), batches=2)


def _add_to(history: RunHistory, facts: Facts) -> None:
    batch = history.begin()
    history.write_facts(batch, facts)
    history.commit(batch, history.state())


@pytest.mark.nightly
@pytest.mark.slow
def test_what_a_killed_rebuild_replaced_goes_with_the_next_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_night: Path
) -> None:
    """The rebuild died after its commit, before it removed anything; the next night need not be a rebuild."""
    shutil.copytree(first_night / "history", tmp_path / "history")
    first, second = first_night / "first", first_night / "second"
    history = str(tmp_path / "history")
    with monkeypatch.context() as patch:
        _kill_before("_remove_leftovers")(patch)
        with pytest.raises(SimulatedKill):
            roll_up_into(spark, tmp_path / "out", first, history=history, rebuild=True)
    roll_up_into(spark, tmp_path / "out", second, history=history)
    _assert_nothing_is_left_over(Storage(spark, history), batches=2)


def _assert_nothing_is_left_over(storage: Storage, *, batches: int) -> None:
    """Each committed number has at most one state, and no facts of a failed attempt are left."""
    commits = [name.removesuffix(".json") for name in storage.names("commits")]
    states = storage.names("states")
    assert [name.partition("-")[0] for name in states] == commits[-2:]
    for table in FACTS:
        assert len(storage.names(f"facts/{table}")) == batches


@pytest.mark.nightly
@pytest.mark.slow
def test_retention_that_was_killed_goes_on_when_it_is_started_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_night: Path
) -> None:
    """Retention dies after the first folder that it removes, and after one in between."""
    shutil.copytree(first_night / "history", tmp_path / "history")
    first, second = first_night / "first", first_night / "second"
    asked: Mapping[str, Any] = {"history": str(tmp_path / "history"), "keep_days": 1}
    for number in (1, 4):
        with monkeypatch.context() as patch:
            _kill_after_delete(number)(patch)
            with pytest.raises(SimulatedKill):
                roll_up_into(spark, tmp_path / "out", second, **asked)
    again = roll_up_into(spark, tmp_path / "out", second, **asked)
    assert again == roll_up_into(spark, tmp_path / "never killed", first, second, keep_days=1)
    days = {path.name for path in (tmp_path / "history" / "facts").glob("*/*/day=*")}
    assert days == {"day=2026-03-02", "day=2026-03-03"}
    kept = {path.parts[-3] for path in (tmp_path / "history" / "facts").glob("*/*/day=2026-03-02")}
    assert kept == {"cells"}


@pytest.mark.nightly
@pytest.mark.slow
def test_history_in_another_layout_is_refused_until_it_is_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Tables with other columns are not read as if they had today's; a rebuild does not read them."""
    uri, out = str(tmp_path / "history"), tmp_path / "out"
    run = SmallRun(number=1, day=1).write(tmp_path)
    history = RunHistory(spark, uri)
    history.commit(history.begin(), empty_state(spark))
    storage, commit = Storage(spark, uri), "commits/00000001.json"
    storage.write_text(commit, storage.read_text(commit).replace(f'"layout": {LAYOUT}, ', ""))
    with pytest.raises(ForeignHistory, match=rf"layout 1, but .* only 3, 4, {LAYOUT}: .* --rebuild"):
        roll_up_into(spark, out, run, history=uri)
    rebuilt = roll_up_into(spark, out, run, history=uri, rebuild=True)
    assert rebuilt is not None
    assert len(rebuilt["runs"]) == 1


@pytest.mark.nightly
@pytest.mark.slow
def test_state_of_the_layout_before_is_read(
    spark: SparkSession, tmp_path: Path, first_night: Path, never_killed: Tables
) -> None:
    """A night is added to it as to one whose columns have today's names, and none that is newer."""
    shutil.copytree(first_night / "history", tmp_path / "history")
    history = tmp_path / "history"
    storage, commit = Storage(spark, str(history)), "commits/00000001.json"
    today = storage.read_text(commit)
    storage.write_text(commit, today.replace(f'"layout": {LAYOUT}, ', '"layout": 3, '))
    (columns,) = history.glob("states/*/columns")
    today_named = spark.read.parquet(str(columns))
    assert "supplies" in today_named.columns
    today_named.withColumnRenamed("supplies", "gives").write.parquet(str(tmp_path / "columns"))
    shutil.rmtree(columns)
    (tmp_path / "columns").rename(columns)
    (runs,) = history.glob("states/*/runs")
    spark.read.parquet(str(runs)).drop("clause_set").write.parquet(str(tmp_path / "runs"))
    shutil.rmtree(runs)
    (tmp_path / "runs").rename(runs)
    second = roll_up_into(spark, tmp_path / "out", first_night / "second", history=str(history))
    assert second == never_killed
    assert json.loads(storage.read_text("commits/00000002.json"))["layout"] == LAYOUT


def test_file_is_published_whole_and_once(spark: SparkSession, tmp_path: Path) -> None:
    """An existing file is not replaced, and no draft is left."""
    storage = Storage(spark, str(tmp_path))
    storage.publish_text("a/one.json", "first", draft="drafts/1")
    with pytest.raises(AlreadyThere):
        storage.publish_text("a/one.json", "second", draft="drafts/2")
    assert storage.read_text("a/one.json") == "first"
    assert [name for name in storage.names("drafts") if not name.endswith(".crc")] == []
