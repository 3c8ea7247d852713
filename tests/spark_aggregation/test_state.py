"""The cumulative state of all runs does not depend on the order in which they arrived."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_aggregation.history.facts import Facts, facts_of
from spark_aggregation.history.ingest import ingest
from spark_aggregation.history.state import State, empty_state, fold
from spark_aggregation.history.tables_from_facts import shown
from spark_aggregation.reading.frames import checkpointed
from tests.spark_aggregation.histories import (
    FEW_AND_SLOW,
    FOLDED_HISTORIES,
    SmallRun,
    Tables,
    nights_of,
    small_runs,
    values_of,
)


def _facts(spark: SparkSession, runs: Sequence[SmallRun]) -> Facts:
    with TemporaryDirectory() as folder:
        for run in runs:
            run.write(Path(folder) / "runs")
        read = ingest(spark, [folder], empty_state(spark).known)
        return _all_settled(facts_of(read))


def _all_settled(facts: Facts) -> Facts:
    return Facts(**{name: checkpointed(frame) for name, frame in facts.by_name().items()})


def _facts_of(facts: Facts, run_ids: Sequence[str]) -> Facts:
    chosen = F.col("run_id").isin(list(run_ids))
    return Facts(**{name: frame.where(chosen) for name, frame in facts.by_name().items()})


def _known_after(state: State) -> Tables:
    frames = {**state.by_name(), "runs": state.runs.drop("batch"), "shown": shown(state)[1]}
    return values_of(frames)


@pytest.mark.nightly
@pytest.mark.slow  # Folds many histories
@given(data=st.data())
@settings(FEW_AND_SLOW, max_examples=FOLDED_HISTORIES)
def test_nights_in_any_order_come_to_what_all_runs_at_once_come_to(
    spark: SparkSession, data: st.DataObject
) -> None:
    """Nights may be shuffled and repeated, runs late, corrected or cut off, with or without retention."""
    nights = data.draw(small_runs().flatmap(nights_of))
    keep_days = data.draw(st.sampled_from([None, 2, 14]))
    runs = {run.number: run for night in nights for run in night}
    facts = _facts(spark, list(runs.values()))
    state, known = empty_state(spark), set[str]()
    for night in nights:
        # Known runs are left out when folders are read.
        new = [run.run_id for run in night if run.run_id not in known]
        before = _facts_of(facts, sorted(known)).cells
        batch = _facts_of(facts, new)
        folded = fold(
            state,
            batch,
            checkpointed(state.columns_with(batch, since=state.first_change(batch))),
            batch="",
            all_cells=lambda before=before: before,  # type: ignore[misc]
            keep_days=keep_days,
        )
        state = State(**{name: checkpointed(frame) for name, frame in folded.by_name().items()})
        known.update(new)
    nothing = empty_state(spark)
    at_once = fold(
        nothing,
        facts,
        checkpointed(nothing.columns_with(facts)),
        batch="",
        all_cells=lambda: facts.cells,
        keep_days=keep_days,
    )
    assert _known_after(state) == _known_after(at_once)
