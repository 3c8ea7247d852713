"""Rolls up run folders without writing tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.history.facts import Facts, facts_of
from spark_aggregation.history.ingest import Ingested, ingest
from spark_aggregation.history.state import State, empty_state, fold
from spark_aggregation.history.tables_from_facts import roll_up, shown
from spark_aggregation.reading.frames import checkpointed
from spark_aggregation.reading.screening import screened
from spark_aggregation.reading.storage import local_path
from spark_aggregation.tables.given_reports import given_tables


def ingested(spark: SparkSession, root: Path) -> Ingested:
    """Read all runs under `root`, with no history."""
    return ingest(spark, [str(root)], empty_state(spark).known)


class JudgedFolder(NamedTuple):
    """Whether a run folder counts, and otherwise why not; a copy of another one has no refusal."""

    counts: bool
    refusal: str | None
    reason: str | None


def judged_folders(spark: SparkSession, root: Path) -> Mapping[str, JudgedFolder]:
    """Return what is decided about each folder under `root`, by folder name."""
    given = screened([str(root)])
    rows = ingest(spark, given.roots, empty_state(spark).known).judged.collect()
    found = {
        local_path(row.folder): JudgedFolder(row.counts, row.refusal, row.reason) for row in rows
    }
    found |= {run.folder: JudgedFolder(False, run.refusal, run.reason) for run in given.refused}
    return {Path(folder).name: judged for folder, judged in found.items()}


def refused_folders(spark: SparkSession, root: Path) -> Mapping[str, str]:
    """Return the refusal of each refused folder under `root`, by folder name."""
    judged = judged_folders(spark, root)
    return {name: each.refusal for name, each in judged.items() if each.refusal}


def tables_of(spark: SparkSession, root: Path) -> Mapping[str, DataFrame]:
    """Return the grid's tables, made from all runs under `root` that count."""
    state, facts = state_of(spark, root)
    state = State(**{name: checkpointed(frame) for name, frame in state.by_name().items()})
    state, chosen = shown(state)
    tables = {**roll_up(state, chosen, facts), **given_tables(spark).tables}
    return {name: made() for name, made in tables.items()}


def state_of(spark: SparkSession, root: Path) -> tuple[State, Facts]:
    """Return the state after all runs under `root` that count, and their facts."""
    new = facts_of(ingested(spark, root))
    facts = Facts(**{name: checkpointed(frame) for name, frame in new.by_name().items()})
    before = empty_state(spark)
    columns = before.columns_with(facts)
    return fold(before, facts, columns, batch="", all_cells=lambda: facts.cells), facts
