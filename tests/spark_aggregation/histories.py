"""Generated histories of small runs, and helpers that roll them up.

Run folders are rolled up without writing tables. The tables of a grid are available as plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.history.facts import Facts, Ingested, facts_of, ingest
from spark_aggregation.history.state import State, empty_state, fold
from spark_aggregation.reading.frames import as_table, checkpointed
from spark_aggregation.reading.run_files import screened
from spark_aggregation.reading.storage import local_path
from spark_aggregation.run_roll_up import RollUpRequest, aggregate, roll_up, shown
from spark_aggregation.tables.given_reports import given_tables
from spark_aggregation.tables.table_schemas import TABLES
from tests.run_folders import example_row, planned_cell, run_header, write_run

FEW_AND_SLOW = settings(
    deadline=None,
    # A failing history is already small, and shrinking it takes minutes.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For properties whose examples are histories that Spark rolls up. The profile decides about everything else."""
WRITTEN_HISTORIES = max(1, settings().max_examples // 50)
"""Each is rolled up night by night, and again all at once, which takes half a minute."""

FIRST_DAY = datetime(2026, 3, 1, 4, tzinfo=UTC)
CLAUSES = ("C.a", "C.b")
TARGETS = ("apache-kafka-3.9.2", "apache-kafka-4.4.0")
FLAKE_RATE = {"failed": 3, "repeats": 10, "rate": 0.3, "low": 0.1078, "high": 0.6032}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRun:
    """A run of one or two cells.

    Attributes:
        number: its number among the generated runs, used in its id.
        day: the day on which it started.
        target: the target that it judged.
        tier: its tier.
        whole: whether it is a complete run.
        verdicts: the verdict of each cell's only example; None for a cell that no example reached.
        flaky: whether failures occurred only in some of the repeats.
        corrects: number of the run that it replaces, if any.
        broken: whether it was cut off.
    """

    number: int
    day: int
    target: str = TARGETS[0]
    tier: str = "standard"
    whole: bool | None = True
    verdicts: tuple[str | None, ...] = ("conforms",)
    flaky: bool = False
    corrects: int | None = None
    broken: bool = False

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return f"run-{self.number}"

    def write(self, root: Path) -> Path:
        """Write the run folder."""
        planned = [
            planned_cell(clause, self.target, flaky=FLAKE_RATE if self.flaky else None)
            for clause, _ in zip(CLAUSES, self.verdicts, strict=False)
        ]
        started_at = FIRST_DAY + timedelta(days=self.day)
        header = run_header(
            planned,
            run_id=self.run_id,
            started_at=started_at.isoformat(),
            tier=self.tier,
            whole=self.whole,
            corrects=None if self.corrects is None else f"run-{self.corrects}",
        )
        rows = [
            example_row(
                header,
                1,
                clause=clause,
                verdict=verdict,
                failure_signature=f"{self.target}-{clause}" if verdict == "violates" else None,
            )
            for clause, verdict in zip(CLAUSES, self.verdicts, strict=False)
            if verdict is not None
        ]
        folder = write_run(root / self.run_id, header, rows)
        if self.broken:
            (folder / "run.json").write_text('{"record_schema_version": 1')
        return folder


_DAYS = st.sampled_from([0, 1, 2, 13, 14, 15, 30])
_VERDICTS = st.sampled_from(["conforms", "violates", "informational", None])


@st.composite
def small_runs(draw: st.DrawFn) -> list[SmallRun]:
    """Draw runs that collide on purpose: few targets, and few days around the limits of the rules.

    The first run is older than the second, and neither of them is broken.
    """
    first, second = sorted(draw(st.lists(_DAYS, min_size=2, max_size=2, unique=True)))
    days = [first, second, *draw(st.lists(_DAYS, max_size=5))]
    return [
        SmallRun(
            number=number,
            day=day,
            target=draw(st.sampled_from(TARGETS)),
            tier=draw(st.sampled_from(["standard", "smoke"])),
            whole=draw(st.sampled_from([True, True, False, None])),
            verdicts=tuple(draw(st.lists(_VERDICTS, min_size=1, max_size=2))),
            flaky=draw(st.booleans()),
            corrects=draw(st.sampled_from([None, None, *range(len(days))])),
            broken=number > 1 and draw(st.sampled_from([False, False, False, True])),
        )
        for number, day in enumerate(days)
    ]


@st.composite
def nights_of(draw: st.DrawFn, runs: Sequence[SmallRun]) -> list[list[SmallRun]]:
    """Divide all runs into two to four nights, in any order. The first run comes after the second; one comes twice."""
    late, newer, *others = runs
    given = draw(st.permutations(others))
    cuts = draw(st.lists(st.integers(0, len(given)), min_size=1, max_size=3, unique=True))
    bounds = [0, *sorted(cuts), len(given)]
    nights = [list(given[start:end]) for start, end in pairwise(bounds)]
    nights[0].append(newer)
    nights[draw(st.integers(1, len(nights) - 1))].append(late)
    again = draw(st.sampled_from([run for night in nights[:-1] for run in night]))
    nights[-1].append(again)
    return [draw(st.permutations(night)) for night in nights if night]


Tables = Mapping[str, list[str]]


def values_of(tables: Mapping[str, DataFrame]) -> Tables:
    """Return the rows of tables as sorted texts, with columns in the order of the schema."""
    return {name: sorted(str(row.asDict(True)) for row in table.collect()) for name, table in tables.items()}


def roll_up_into(spark: SparkSession, out: Path, *roots: Path, **asked: Any) -> Tables | None:
    """Roll up runs and return the tables that are written; None if none are."""
    aggregate(spark, RollUpRequest(roots=[str(root) for root in roots], out=str(out), **asked))
    written = out / "tables"
    if not written.exists():
        return None
    return values_of({name: spark.read.parquet(str(written / f"{name}.parquet")) for name in TABLES})


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
    rows = ingest(spark, given.roots, empty_state(spark).known).checked.collect()
    found = {local_path(row.folder): JudgedFolder(row.counts, row.refusal, row.reason) for row in rows}
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
    return {name: as_table(made(), TABLES[name]) for name, made in tables.items()}


def state_of(spark: SparkSession, root: Path) -> tuple[State, Facts]:
    """Return the state after all runs under `root` that count, and their facts."""
    new = facts_of(ingested(spark, root))
    facts = Facts(**{name: checkpointed(frame) for name, frame in new.by_name().items()})
    before = empty_state(spark)
    columns = before.columns_with(facts)
    return fold(before, facts, columns, batch="", all_cells=lambda: facts.cells), facts
