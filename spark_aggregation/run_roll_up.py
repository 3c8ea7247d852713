"""The roll-up: reads run folders and the history, and writes the tables of the grid."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from clauses.catalogue import catalogue
from reports.records import INPUTS_SHA256, TABLES_FOLDER
from reports.refused_runs import NoticedRun, RefusedRun, RunLists
from spark_aggregation.concurrency import checkpointed_together, for_each
from spark_aggregation.history.facts import Facts, facts_of
from spark_aggregation.history.history import History, batches_of
from spark_aggregation.history.ingest import Ingested, changed_clauses, ingest
from spark_aggregation.history.state import State, empty_state, fold
from spark_aggregation.history.tables_from_facts import roll_up, shown
from spark_aggregation.history.writer_lock import only_writer
from spark_aggregation.reading.frames import checkpointed
from spark_aggregation.reading.given_runs import local_path
from spark_aggregation.reading.storage import Storage
from spark_aggregation.tables.given_reports import GivenTables, given_tables
from spark_aggregation.tables.table_schemas import TABLES

_CATALOGUE = "map<string, struct<roles: array<string>, level: string>>"


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


def aggregate(spark: SparkSession, asked: RollUpRequest) -> RollUpResult:
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
    given = given_tables(spark, mutation=asked.mutation, changes=asked.changes)
    if asked.history is None:
        return _rolled_up(spark, asked, None, given)
    # One that adds and removes nothing needs no lock, and may read a history that it cannot write to.
    writes = bool(asked.roots) or asked.keep_days is not None
    with only_writer(asked.history) if writes else nullcontext(False) as alone:
        history = History(spark, asked.history, alone=alone)
        with history.writing():
            return _rolled_up(spark, asked, history, given)


def _rolled_up(
    spark: SparkSession, asked: RollUpRequest, history: History | None, given: GivenTables
) -> RollUpResult:
    state = history.state() if history and not asked.rebuild else empty_state(spark)
    outcome, facts = RollUpResult(), None
    if asked.roots:
        ingested = ingest(spark, asked.roots, state.known)
        outcome = _outcome(ingested)
    outcome = outcome.with_refused(asked.refused)
    if outcome.any_new:
        state, facts = _add_to_history(history, state, ingested, asked)
    if outcome.any_new or not state.runs.isEmpty():
        _write_tables(spark, asked, state, facts, history, given)
    return outcome


def _add_to_history(
    history: History | None, state: State, ingested: Ingested, asked: RollUpRequest
) -> tuple[State, Facts]:
    """Add the accepted runs to the state, and to the history if there is one."""
    new = facts_of(ingested)
    if history is None:
        # Several tables are made from these frames. `columns` is small enough for one partition.
        columns = state.columns_with(new).coalesce(1)
        often_used = checkpointed_together(
            {"cells": new.cells, "examples": new.examples, "columns": columns}
        )
        columns = often_used.pop("columns")
        new = replace(new, **often_used)
        folded = fold(
            state,
            new,
            columns,
            batch="",
            all_cells=lambda: new.cells,
            keep_days=asked.keep_days,
        )
        return folded, new
    batch = history.begin(replaces=asked.rebuild)
    facts = history.write_facts(batch, new)
    folded = fold(
        state,
        facts,
        checkpointed(state.columns_with(facts, since=state.first_change(facts)), whole=True),
        batch=batch.name,
        all_cells=lambda: history.all_cells(state.runs),
        keep_days=asked.keep_days,
    )
    committed = history.commit(batch, folded)
    return committed, facts


def _write_tables(
    spark: SparkSession,
    asked: RollUpRequest,
    state: State,
    facts: Facts | None,
    history: History | None,
    given: GivenTables,
) -> None:
    state, chosen = shown(state)
    if history is not None:
        if asked.keep_days is not None:
            history.drop_days(state)
        facts = history.facts(batches_of(state.runs.join(chosen, on="run_id", how="left_semi")))
    assert facts is not None
    out = Storage(spark, asked.out)
    inputs = {**dict.fromkeys(TABLES, _runs_sha256(state.runs)), **given.inputs_sha256}
    write_tables({**roll_up(state, chosen, facts), **given.tables}, inputs, out)


def _runs_sha256(runs: DataFrame) -> str:
    """Hash the kept runs: sorted lines, each with the hash of `run.json`, two spaces and the run id."""
    line = "array_sort(collect_list(concat(run_json_sha256, '  ', run_id, '\n')))"
    hashed: str = (
        runs.where("kept").selectExpr(f"sha2(array_join({line}, ''), 256)").collect()[0][0]
    )
    return hashed


def write_tables(
    tables: Mapping[str, Callable[[], DataFrame]], inputs: Mapping[str, str], out: Storage
) -> None:
    """Make each table and write it to its own folder, as one file that carries the hash of its inputs."""

    def write(name: str) -> None:
        path = out.uri(TABLES_FOLDER, f"{name}.parquet")
        first = TABLES[name].fieldNames()[0]
        table = tables[name]().withMetadata(first, {INPUTS_SHA256: inputs[name]})
        table.coalesce(1).write.mode("overwrite").parquet(path)

    for_each(write, tables)


def _outcome(ingested: Ingested) -> RollUpResult:
    """Find out whether any run counts; list refused folders, and notices about the others."""
    notice = changed_clauses(F.col("header"), _catalogue_of_today())
    read = ingested.judged.select(
        "folder", "counts", "refusal", "reason", F.when(F.col("counts"), notice).alias("notice")
    )
    # Only folders with a refusal or a notice are collected on the driver: a few, even out of many.
    listed = F.when(F.expr("refusal IS NOT NULL OR notice IS NOT NULL"), F.struct("*"))
    found = read.agg(
        F.bool_or("counts").alias("any_new"), F.collect_list(listed).alias("listed")
    ).first()
    assert found is not None
    named = [
        (local_path(each.folder), each) for each in sorted(found.listed, key=lambda r: r.folder)
    ]
    lists = RunLists(
        refused=tuple(
            RefusedRun(folder=folder, refusal=row.refusal, reason=row.reason)
            for folder, row in named
            if row.refusal is not None
        ),
        notices=tuple(
            NoticedRun(folder=folder, notice=row.notice)
            for folder, row in named
            if row.notice is not None
        ),
    )
    return RollUpResult(any_new=bool(found.any_new), known_again=ingested.known_again, lists=lists)


def _catalogue_of_today() -> Column:
    """Return the `roles` and `level` of each clause by its id."""
    clauses = {
        clause.id: {"roles": [role.value for role in clause.roles], "level": clause.level.value}
        for clause in catalogue()
    }
    return F.from_json(F.lit(json.dumps(clauses)), _CATALOGUE)
