"""The steps of the roll-up, from run folders and history to tables.

The caller provides a Spark session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from clauses.catalogue import catalogue
from reports.records import INPUTS_SHA256, TABLES_FOLDER
from reports.run_folders.refused_runs import NoticedRun, RefusedRun, RunLists
from spark_aggregation.errors import HistoryMoved
from spark_aggregation.history.facts import Facts, Ingested, changed_clauses, facts_of, ingest
from spark_aggregation.history.history import Batch, RunHistory, batches_of
from spark_aggregation.history.state import State, empty_state, fold
from spark_aggregation.reading.frames import as_table, checkpointed, checkpointed_together, for_each
from spark_aggregation.reading.storage import Storage, is_uri, local_path
from spark_aggregation.tables import count_tables, grid_tables
from spark_aggregation.tables.evidence import neighbours, shown_failures, shown_machines
from spark_aggregation.tables.given_reports import GivenTables, given_tables
from spark_aggregation.tables.run_selection import shown_runs
from spark_aggregation.tables.table_schemas import TABLES
from spark_aggregation.tables.transitions import cell_ages

LOCK_FILE = ".writer.lock"


_CATALOGUE = "map<string, struct<roles: array<string>, level: string>>"


@contextmanager
def only_writer(uri: str) -> Iterator[bool]:
    """Hold the lock of a history for the block.

    Args:
        uri: folder of the history, which is created if it is local and does not exist.

    Yields:
        Whether the lock is held; False if the file system has none.

    Raises:
        HistoryMoved: another roll-up holds it.
        OSError: the folder cannot be written to.
    """
    folder = _local_folder(uri)
    if folder is None:
        yield False
        return
    # Not needed on a cluster, which need not have the package.
    from filelock import FileLock, Timeout  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, fallback_to_soft=False)
    try:
        lock.acquire(timeout=0)
    except NotImplementedError:
        yield False
        return
    except Timeout as error:
        raise HistoryMoved(
            f"another roll-up is writing to the history {uri}; run this one again when it has ended"
        ) from error
    try:
        yield True
    finally:
        lock.release()


def _local_folder(uri: str) -> Path | None:
    if not is_uri(uri):
        return Path(uri)
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollUpRequest:
    """Arguments of a roll-up.

    Attributes:
        roots: run folders, or folders of them; any Hadoop URI.
        refused: run folders that were left out of the roots.
        out: folder for the tables; any Hadoop URI.
        history: folder of the history; None if it is not kept.
        rebuild: whether to rebuild the history from the given runs.
        keep_days: how many days of runs the history keeps; None for all.
        mutation: a `mutation.json`, or None.
        changes: a `changes.json`, or None.
    """

    roots: Sequence[str]
    out: str
    refused: Sequence[RefusedRun] = ()
    history: str | None = None
    rebuild: bool = False
    keep_days: int | None = None
    mutation: str | None = None
    changes: str | None = None

    @property
    def changes_history(self) -> bool:
        """Whether runs may be added or removed.

        Otherwise the history needs no lock, and may be read-only.
        """
        return self.history is not None and (bool(self.roots) or self.keep_days is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollUpResult:
    """Result of a roll-up.

    Attributes:
        any_new: whether any of the given runs counts and is new to the history.
        known_again: whether a run that the history already has was given again.
        lists: the given runs that do not count, and notices about those that do.
    """

    any_new: bool = False
    known_again: bool = False
    lists: RunLists = field(default_factory=RunLists)

    @property
    def counted(self) -> bool:
        """Whether any of the given runs counts."""
        return self.any_new or self.known_again

    def with_refused(self, refused: Sequence[RefusedRun]) -> RollUpResult:
        """Return the result with further refused folders."""
        every = sorted((*self.lists.refused, *refused), key=lambda run: run.folder)
        return replace(self, lists=replace(self.lists, refused=tuple(every)))


def aggregate(spark: SparkSession, request: RollUpRequest) -> RollUpResult:
    """Read runs, add them to the history, and write the tables.

    Returns:
        The result. If there is no run, neither given nor in the history, no table is written.

    Raises:
        PathNotFound: a path does not exist.
        UnreadableReport: the mutation score or the release changes cannot be read.
        ForeignHistory: the history has a different layout.
        HistoryMoved: another roll-up is adding to the history, or did so in the meantime.
        OSError: the folder of the history cannot be written to.
    """
    reports = given_tables(spark, mutation=request.mutation, changes=request.changes)
    if request.history is None:
        return _rolled_up(spark, request, None, reports)
    with only_writer(request.history) if request.changes_history else nullcontext(False) as alone:
        history = RunHistory(spark, request.history, alone=alone)
        with history.writing():
            return _rolled_up(spark, request, history, reports)


def _rolled_up(
    spark: SparkSession, request: RollUpRequest, history: RunHistory | None, reports: GivenTables
) -> RollUpResult:
    """Load what is known, add the given runs to it, commit both, and make the tables; each happens once.

    Facts and state are frames that are computed only when they are needed: nothing but `RunHistory` reads or writes
    files of the history.
    """
    state = history.state() if history and not request.rebuild else empty_state(spark)
    result = RollUpResult()
    if request.roots:
        ingested = ingest(spark, request.roots, state.known)
        result = _result(ingested)
    result = result.with_refused(request.refused)
    if not result.any_new and state.runs.isEmpty():
        return result
    facts, batch = None, None
    if result.any_new:
        facts = facts_of(ingested)
        batch = history.begin(replaces=request.rebuild) if history else None
        facts = history.write_facts(batch, facts) if history and batch else _often_used(facts)
        state = _with_new(state, facts, history, batch, request.keep_days)
    state, chosen = shown(state)
    if history:
        if batch:
            history.commit(batch, state)
        facts = history.facts(batches_of(state.runs.join(chosen, on="run_id", how="left_semi")))
    assert facts is not None
    out = Storage(spark, request.out)
    inputs = {**dict.fromkeys(TABLES, _runs_sha256(state.runs)), **reports.inputs_sha256}
    write_tables({**roll_up(state, chosen, facts), **reports.tables}, inputs, out)
    if history and request.keep_days is not None:
        history.drop_days(state)
    return result


def _often_used(facts: Facts) -> Facts:
    """Return the facts; those that several tables are made from are already computed."""
    frames = {"cells": facts.cells, "examples": facts.examples}
    return replace(facts, **checkpointed_together(frames))


def _with_new(
    state: State,
    new: Facts,
    history: RunHistory | None,
    batch: Batch | None,
    keep_days: int | None,
) -> State:
    """Return the state with the new runs."""
    since = state.first_change(new) if history else None
    return fold(
        state,
        new,
        checkpointed(state.columns_with(new, since=since), whole=True),
        batch=batch.name if batch else "",
        all_cells=lambda: history.all_cells(state.runs) if history else new.cells,
        keep_days=keep_days,
    )


def _runs_sha256(runs: DataFrame) -> str:
    """Hash the kept runs: sorted lines, each with the hash of `run.json`, two spaces and the run id."""
    line = "array_sort(collect_list(concat(run_json_sha256, '  ', run_id, '\n')))"
    hashed: str = runs.where("kept").selectExpr(f"sha2(array_join({line}, ''), 256)").collect()[0][0]
    return hashed


def write_tables(tables: Mapping[str, Callable[[], DataFrame]], inputs: Mapping[str, str], out: Storage) -> None:
    """Make each table and write it to its own folder, as one file that carries the hash of its inputs."""

    def write(name: str) -> None:
        path = out.uri(TABLES_FOLDER, f"{name}.parquet")
        first = TABLES[name].fieldNames()[0]
        table = as_table(tables[name](), TABLES[name])
        table = table.withMetadata(first, {INPUTS_SHA256: inputs[name]})
        table.coalesce(1).write.mode("overwrite").parquet(path)

    for_each(write, tables)


def _result(ingested: Ingested) -> RollUpResult:
    """Find out whether any run counts; list refused folders, and notices about the others."""
    notice = changed_clauses(F.col("header"), _catalogue_of_today())
    read = ingested.checked.select(
        "folder", "counts", "refusal", "reason", F.when(F.col("counts"), notice).alias("notice")
    )
    # Only folders with a refusal or a notice are collected on the driver: a few, even out of many.
    listed = F.when(F.expr("refusal IS NOT NULL OR notice IS NOT NULL"), F.struct("*"))
    summary = read.agg(F.bool_or("counts").alias("any_new"), F.collect_list(listed).alias("listed")).first()
    assert summary is not None
    named = [(local_path(each.folder), each) for each in sorted(summary.listed, key=lambda r: r.folder)]
    lists = RunLists(
        refused=tuple(
            RefusedRun(folder=folder, refusal=row.refusal, reason=row.reason)
            for folder, row in named
            if row.refusal is not None
        ),
        notices=tuple(NoticedRun(folder=folder, notice=row.notice) for folder, row in named if row.notice is not None),
    )
    return RollUpResult(any_new=bool(summary.any_new), known_again=ingested.known_again, lists=lists)


def _catalogue_of_today() -> Column:
    """Return the `roles` and `level` of each clause by its id."""
    clauses = {
        clause.id: {"roles": [role.value for role in clause.roles], "level": clause.level.value}
        for clause in catalogue()
    }
    return F.from_json(F.lit(json.dumps(clauses)), _CATALOGUE)


def shown(state: State) -> tuple[State, DataFrame]:
    """Choose the run that the grid shows in each column; see `run_selection.shown_runs`.

    Returns:
        The state, checkpointed, because several tables use it, and because the next roll-up removes the files of the
        state
        from which this one was made; and the chosen runs.
    """
    often_used = checkpointed_together(
        {
            **state.by_name(),
            "chosen": shown_runs(state.columns, state.runs),
        },
        whole=True,
    )
    chosen = often_used.pop("chosen")
    return replace(state, **often_used), chosen


def roll_up(state: State, chosen: DataFrame, facts: Facts) -> Mapping[str, Callable[[], DataFrame]]:
    """Make the tables that come from runs; `given_reports` makes the others.

    Args:
        state: the cumulative state of all runs.
        chosen: as `shown` returns them.
        facts: those of at least the runs that the grid shows.

    Returns:
        The tables by name, with the columns that `table_schemas.TABLES` names and others. Each is made when its
        function is
        called. Making one takes as long as writing it, and several can be made at once.
    """
    often_used = checkpointed_together(
        {
            "cells": grid_tables.grid_cells(facts.cells, chosen, cell_ages(state.transitions)),
            "targets": grid_tables.grid_targets(facts.headers, chosen),
        },
        whole=True,
    )
    cells, targets = often_used["cells"], often_used["targets"]
    kept = state.runs.where("kept")
    return {
        "cells": lambda: cells,
        "targets": lambda: targets,
        "clauses": lambda: grid_tables.grid_clauses(facts.headers, chosen),
        "runs": lambda: grid_tables.grid_runs(state.runs, chosen),
        "transitions": lambda: state.transitions,
        "release_steps": lambda: grid_tables.release_steps(cells, targets),
        "flakes": lambda: count_tables.flake_rates(state.flaky, state.columns, state.runs),
        "coverage": lambda: count_tables.coverage(chosen, facts.reached),
        "latency": lambda: count_tables.latency(chosen, facts.latencies),
        "speed": lambda: state.speed.join(kept.select("run_id"), on="run_id", how="left_semi"),
        "failures": lambda: shown_failures(cells, facts.failures),
        "machines": lambda: shown_machines(facts.machines, targets),
        "neighbours": lambda: neighbours(cells, facts.examples, targets),
        "inputs": lambda: kept,
    }
