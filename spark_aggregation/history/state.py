"""Cumulative state of all runs, small enough to read and rewrite every night."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_aggregation.history.facts import RUNS, Facts, describe_runs
from spark_aggregation.reading.frames import as_table, checkpointed, empty_frame
from spark_aggregation.reading.schema import schema, texts
from spark_aggregation.tables.count_tables import flaky_cells, speed
from spark_aggregation.tables.run_selection import (
    COLUMN,
    columns_of_runs,
    of_columns,
    supplying_columns,
)
from spark_aggregation.tables.table_schemas import TABLES
from spark_aggregation.tables.transitions import (
    append_transitions,
    reopened_columns,
    transitions_between,
)

STATE: Mapping[str, StructType] = MappingProxyType(
    {
        "runs": StructType([*RUNS, StructField("kept", BooleanType())]),
        "columns": schema(
            {},
            {
                **texts("run_id", *COLUMN, "role", "client"),
                "started_at": TimestampType(),
                "run_class": IntegerType(),
                "corrects": StringType(),
                "supplies": BooleanType(),
            },
        ),
        "transitions": TABLES["transitions"],
        "flaky": schema(
            {},
            {
                **texts("run_id", "clause", *COLUMN),
                "failed": IntegerType(),
                "repeats": IntegerType(),
            },
        ),
        "speed": TABLES["speed"],
    }
)
"""Columns of the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything known in addition to the facts; `STATE` lists the columns of each frame.

    Attributes:
        runs: one row per run ever; `kept` says whether retention still keeps its facts.
        columns: one row per run and column that it planned; `supplies` as `run_selection.supplying_columns` returns it.
        transitions: as `transitions.transitions_between` returns them.
        flaky: as `count_tables.flaky_cells` returns them.
        speed: as `count_tables.speed` returns it.
    """

    runs: DataFrame
    columns: DataFrame
    transitions: DataFrame
    flaky: DataFrame
    speed: DataFrame

    def by_name(self) -> Mapping[str, DataFrame]:
        """Return the frames by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def first_change(self, new: Facts) -> int | None:
        """Return the earliest start of a batch's runs and of the runs that they correct, in seconds since 1970."""
        started = F.try_to_timestamp("header.started_at").alias("started_at")
        starts = new.headers.select(started, "header.corrects")
        names = starts.where("corrects IS NOT NULL").select(F.col("corrects").alias("run_id"))
        corrected = self.runs.join(names, on="run_id", how="left_semi")
        both = starts.select("started_at").unionByName(corrected.select("started_at"))
        first = both.agg(F.min(F.unix_seconds("started_at"))).first()
        return None if first is None else first[0]

    def columns_with(self, new: Facts, *, since: int | None = None) -> DataFrame:
        """Return the columns of all runs, including those of a batch.

        `supplied_before` says whether a run supplied its column before the batch; it is null for the batch's own runs.
        `fold` uses the returned frame more than once, so settle it first.

        Args:
            new: the batch.
            since: the batch's `first_change`; None to check all columns again.
        """
        before = self.columns.withColumnRenamed("supplies", "supplied_before")
        after = columns_of_runs(new.headers).withColumn("supplied_before", F.lit(None).cast("boolean"))
        return supplying_columns(before.unionByName(after), since=since)

    @property
    def known(self) -> DataFrame:
        """The runs in the form that `facts.ingest` expects."""
        return self.runs.select(
            "run_id",
            F.col("folder").alias("known_folder"),
            F.col("run_json_sha256").alias("known_sha256"),
        )


def empty_state(spark: SparkSession) -> State:
    """Return the state before the first run."""
    return State(**{name: empty_frame(spark, schema) for name, schema in STATE.items()})


def fold(
    state: State,
    new: Facts,
    columns: DataFrame,
    *,
    batch: str,
    all_cells: Callable[[], DataFrame],
    keep_days: int | None = None,
) -> State:
    """Add a batch of runs to the state.

    Args:
        state: the state so far.
        new: facts of the new runs.
        columns: as `State.columns_with` returns them.
        batch: the batch's name.
        all_cells: reads the cells of all earlier runs; called only if a column's past changes.
        keep_days: how many days of runs are kept, including that of the newest run; None for all.

    Returns:
        The state with the batch. It does not depend on how runs are divided into batches, or on their order.
    """
    described = describe_runs(new.headers, batch).withColumn("kept", F.lit(True))
    frames = {
        "runs": _with_kept(state.runs.unionByName(described), keep_days),
        "columns": columns,
        "transitions": _transitions(state.transitions, new.cells, columns, all_cells),
        "flaky": state.flaky.unionByName(flaky_cells(new.headers)),
        "speed": state.speed.unionByName(speed(new.headers, new.cells)),
    }
    return State(**{name: as_table(frame, STATE[name]) for name, frame in frames.items()})


def _with_kept(runs: DataFrame, keep_days: int | None) -> DataFrame:
    if keep_days is None:
        return runs
    newest = runs.agg(F.max("day").alias("newest_day"))
    # Dropped runs do not come back when more days are kept later.
    kept = F.col("kept") & (F.date_diff("newest_day", "day") < keep_days)
    return runs.crossJoin(F.broadcast(newest)).withColumn("kept", kept)


def _transitions(
    known: DataFrame, new_cells: DataFrame, columns: DataFrame, all_cells: Callable[[], DataFrame]
) -> DataFrame:
    supplying = columns.where("supplies")
    reopened = reopened_columns(columns)
    added = of_columns(new_cells, supplying)
    if reopened.isEmpty():
        return known.unionByName(append_transitions(known, added))
    reopened = checkpointed(reopened, whole=True)
    unchanged = known.join(reopened, on=list(COLUMN), how="left_anti")
    appended = append_transitions(unchanged, added.join(reopened, on=list(COLUMN), how="left_anti"))
    past = all_cells().unionByName(new_cells)
    redone = of_columns(past.join(reopened, on=list(COLUMN), how="left_semi"), supplying)
    return unchanged.unionByName(appended).unionByName(transitions_between(redone))
