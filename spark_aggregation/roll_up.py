"""From a state and the facts of the runs that the grid shows to every table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from spark_aggregation import grid, measures
from spark_aggregation.columns import shown_runs
from spark_aggregation.evidence import neighbours, shown_failures
from spark_aggregation.facts import Facts
from spark_aggregation.frames import as_table, settled
from spark_aggregation.ranges import range_statements
from spark_aggregation.state import State
from spark_aggregation.tables import TABLES
from spark_aggregation.transitions import cell_ages


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenReports:
    """Tables that do not come from runs; see `given_reports`.

    Attributes:
        mutation: the mutation score.
        release_changes: the log of changes between releases.
    """

    mutation: DataFrame
    release_changes: DataFrame


def shown(state: State) -> DataFrame:
    """Choose the run that the grid shows in each column; see `columns.shown_runs`."""
    return settled(shown_runs(state.columns, state.runs))


def roll_up(
    state: State, chosen: DataFrame, facts: Facts, given: GivenReports
) -> Mapping[str, DataFrame]:
    """Make the tables.

    Args:
        state: what is known of all runs.
        chosen: as `shown` gives them.
        facts: those of at least the runs that the grid shows.
        given: tables that are taken over.

    Returns:
        The tables by name, as `tables.TABLES` describes them.
    """
    partials = facts.partials.join(chosen, on="run_id", how="left_semi")
    cells = settled(grid.grid_cells(facts.cells, chosen, cell_ages(state.transitions)))
    targets = settled(grid.grid_targets(facts.headers, chosen))
    runs = grid.grid_runs(state.runs, chosen)
    kept = state.runs.where("kept")
    frames = {
        "cells": cells,
        "ranges": range_statements(cells, targets),
        "targets": targets,
        "clauses": grid.grid_clauses(facts.headers, chosen),
        "runs": runs,
        "transitions": state.transitions,
        "release_steps": grid.release_steps(cells, targets),
        "flakes": measures.flake_rates(state.flaky, state.columns, state.runs),
        "coverage": measures.coverage(chosen, partials),
        "latency": measures.latency(chosen, partials),
        "speed": state.speed.join(kept.select("run_id"), on="run_id", how="left_semi"),
        "mutation": given.mutation,
        "release_changes": given.release_changes,
        "failures": shown_failures(cells, facts.failures),
        "neighbours": neighbours(cells, facts.examples, targets),
        "inputs": kept,
    }
    return {name: as_table(frame, TABLES[name]) for name, frame in frames.items()}
