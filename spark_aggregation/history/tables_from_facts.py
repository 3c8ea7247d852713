"""Makes every table from a state and the facts of the runs that the grid shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from spark_aggregation.history.facts import Facts
from spark_aggregation.history.state import State
from spark_aggregation.reading.frames import as_table, checkpointed_together
from spark_aggregation.tables import cell_tables, count_tables
from spark_aggregation.tables.evidence import neighbours, shown_failures, shown_machines
from spark_aggregation.tables.run_selection import shown_runs
from spark_aggregation.tables.table_schemas import TABLES
from spark_aggregation.tables.transitions import cell_ages


def shown(state: State) -> tuple[State, DataFrame]:
    """Choose the run that the grid shows in each column; see `run_selection.shown_runs`.

    Returns:
        The state, checkpointed, because several tables use it, and because the next roll-up removes the files of the state
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
        The tables by name, as `table_schemas.TABLES` describes them. Each is made when its function is called. Making one
        takes as long as writing it, and several can be made at once.
    """
    often_used = checkpointed_together(
        {
            "cells": cell_tables.grid_cells(facts.cells, chosen, cell_ages(state.transitions)),
            "targets": cell_tables.grid_targets(facts.headers, chosen),
        },
        whole=True,
    )
    cells, targets = often_used["cells"], often_used["targets"]
    kept = state.runs.where("kept")
    frames: Mapping[str, Callable[[], DataFrame]] = {
        "cells": lambda: cells,
        "targets": lambda: targets,
        "clauses": lambda: cell_tables.grid_clauses(facts.headers, chosen),
        "runs": lambda: cell_tables.grid_runs(state.runs, chosen),
        "transitions": lambda: state.transitions,
        "release_steps": lambda: cell_tables.release_steps(cells, targets),
        "flakes": lambda: count_tables.flake_rates(state.flaky, state.columns, state.runs),
        "coverage": lambda: count_tables.coverage(chosen, facts.reached),
        "latency": lambda: count_tables.latency(chosen, facts.latencies),
        "speed": lambda: state.speed.join(kept.select("run_id"), on="run_id", how="left_semi"),
        "failures": lambda: shown_failures(cells, facts.failures),
        "machines": lambda: shown_machines(facts.machines, targets),
        "neighbours": lambda: neighbours(cells, facts.examples, targets),
        "inputs": lambda: kept,
    }
    return {name: partial(_table, name, frame) for name, frame in frames.items()}


def _table(name: str, frame: Callable[[], DataFrame]) -> DataFrame:
    return as_table(frame(), TABLES[name])
