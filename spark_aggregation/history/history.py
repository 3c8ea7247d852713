"""The history of runs at a Hadoop URI.

It has batches of facts, and the cumulative state after each batch.

::

    commits/00000007.json                            names the newest batch, and thereby the newest state
    states/00000007-1a2b3c4d/{runs,columns,...}      the complete state: everything that grows slowly (`State`)
    facts/{headers,cells,...}/batch=00000007-1a2b3c4d/day=2026-11-21/

Rules:

1. Written files never change. A batch and the state after it are written under a unique name; then the commit
   appears atomically. A roll-up that is killed before its commit leaves folders that no one reads. One that is killed
   after its commit only lacks its tables and the removal of what it replaced. The next commit removes all leftovers,
   but none of the same number if it did not hold the lock: they may be those of a roll-up that still runs.
2. A commit's number follows that of the state it was made from, and there is one file per number. On a local disk, one
   roll-up at a time may write (`only_writer`). Elsewhere, of two concurrent writers the slower one fails with
   `HistoryMoved`, also if files that it reads were removed in the meantime.
3. A night reads the state and its own batch. It reads other batches only if the grid shows one of their runs, and
   their cells only if a late or corrected run changes a column's past.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from spark_aggregation.errors import ForeignHistory, HistoryMoved
from spark_aggregation.history.facts import FACTS, Facts
from spark_aggregation.history.state import STATE, State, empty_state
from spark_aggregation.reading.frames import empty_frame
from spark_aggregation.reading.storage import AlreadyThere, Storage

_COMMITS, _STATES, _FACTS = "commits", "states", "facts"
_KEPT_FOR_GOOD = "cells"
_MOVED = "another roll-up added to the history at the same time; run this one again"
LAYOUT = 5
"""Layout number in each commit. Increase it when a table of the facts or of the state gets other columns."""
_OTHER_NAMES: Mapping[int, Mapping[str, str]] = {3: {"supplies": "gives"}, 4: {}, LAYOUT: {}}
"""Every layout that can be read, with the columns of a state that have another name there.

A column that a layout does not have yet is null: before 5, a run's set of clauses was not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch that is being written.

    Attributes:
        number: number of its commit.
        name: name of its folders.
        replaces: whether it replaces everything in the history.
    """

    number: int
    name: str
    replaces: bool = False


class RunHistory:
    """A history as it was when it was opened; empty if nothing was ever committed."""

    def __init__(self, spark: SparkSession, uri: str, *, alone: bool = False) -> None:
        """Find the newest commit.

        Args:
            spark: the session.
            uri: folder of the history.
            alone: whether no other roll-up can write to it, so that all that is uncommitted is left over.
        """
        self._spark = spark
        self._storage = Storage(spark, uri)
        self._alone = alone
        self._newest = self._newest_commit()

    def _newest_commit(self) -> str | None:
        commits = [name for name in self._storage.names(_COMMITS) if name.endswith(".json")]
        return commits[-1] if commits else None

    def check_unmoved(self) -> None:
        """Check that the newest commit is still the one that was found when the history was opened.

        Raises:
            HistoryMoved: another roll-up committed in the meantime.
        """
        if self._newest_commit() != self._newest:
            raise HistoryMoved(_MOVED)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Explain an error in the block if another roll-up is its cause, because it removed what this one reads.

        Raises:
            HistoryMoved: the block failed, and another roll-up committed in the meantime.
        """
        try:
            yield
        except Exception:
            self.check_unmoved()
            raise

    def state(self) -> State:
        """Read the state after the newest commit.

        Raises:
            ForeignHistory: the history has a different layout.
        """
        if self._newest is None:
            return empty_state(self._spark)
        commit = json.loads(self._storage.read_text(f"{_COMMITS}/{self._newest}"))
        layout = commit.get("layout", 1)
        if layout not in _OTHER_NAMES:
            raise ForeignHistory(
                f"the history was written in layout {layout}, but this version of the suite reads only "
                f"{', '.join(map(str, _OTHER_NAMES))}: build it again with --rebuild and all runs that you have"
            )
        batch, names = commit["batch"], _OTHER_NAMES[layout]
        return State(**{name: self._table(batch, name, names) for name in STATE})

    def _table(self, batch: str, name: str, other_names: Mapping[str, str]) -> DataFrame:
        """Read a table of the state after a batch; its columns may have other names in the file."""
        columns = [StructField(other_names.get(f.name, f.name), f.dataType) for f in STATE[name]]
        schema = StructType(columns)
        table = self._spark.read.schema(schema).parquet(self._storage.uri(_STATES, batch, name))
        return table.toDF(*STATE[name].fieldNames())

    def begin(self, *, replaces: bool = False) -> Batch:
        """Name the next batch; with `replaces` it replaces everything in the history."""
        number = 1 if self._newest is None else _number(self._newest) + 1
        return Batch(number=number, name=f"{number:08}-{secrets.token_hex(4)}", replaces=replaces)

    def write_facts(self, batch: Batch, facts: Facts) -> Facts:
        """Write a batch's facts, and return them as read back."""
        for name, frame in facts.by_name().items():
            folder = self._storage.uri(_FACTS, name, f"batch={batch.name}")
            # One file per day: every later night that shows one of the batch's runs opens all of them.
            frame.repartition("day").write.partitionBy("day").parquet(folder)
        return self.facts([batch.name])

    def facts(self, batches: Iterable[str]) -> Facts:
        """Read the facts of the named batches, without those that retention dropped."""
        names = sorted(batches)
        return Facts(**{table: self._facts_table(table, names) for table in FACTS})

    def _facts_table(self, table: str, batches: list[str]) -> DataFrame:
        base = self._storage.uri(_FACTS, table)
        there = set(self._storage.names(f"{_FACTS}/{table}"))
        folders = [f"{base}/batch={name}" for name in batches if f"batch={name}" in there]
        if not folders:
            return empty_frame(self._spark, FACTS[table])
        reader = self._spark.read.schema(FACTS[table]).option("basePath", base)
        return reader.parquet(*folders).select(FACTS[table].fieldNames())

    def all_cells(self, runs: DataFrame) -> DataFrame:
        """Read the cells of all runs ever, given `State.runs`."""
        return self._facts_table("cells", batches_of(runs))

    def commit(self, batch: Batch, state: State) -> None:
        """Write the state after a batch, and make both the newest.

        Raises:
            HistoryMoved: another roll-up committed in the meantime.
        """
        for name, frame in state.by_name().items():
            frame.coalesce(1).write.parquet(self._storage.uri(_STATES, batch.name, name))
        self.check_unmoved()
        entry = {"layout": LAYOUT, "batch": batch.name, "replaces": batch.replaces}
        text = json.dumps(entry) + "\n"
        commit = f"{batch.number:08}.json"
        try:
            self._storage.publish_text(f"{_COMMITS}/{commit}", text, draft=f"drafts/{batch.name}.json")
        except AlreadyThere as error:
            raise HistoryMoved(_MOVED) from error
        self._newest = commit
        self._remove_leftovers(batch, state.runs)

    def _remove_leftovers(self, batch: Batch, runs: DataFrame) -> None:
        """Remove what no later roll-up reads: failed attempts at a commit, old states, and replaced batches."""
        named = batches_of(runs)
        for name in self._storage.names(_STATES):
            # Keep the previous state for a reader that has already started with it.
            if _number(name) < batch.number - 1 or (self._alone and _is_attempt(name, batch)):
                self._storage.delete(f"{_STATES}/{name}")
        for table in FACTS:
            for folder in self._storage.names(f"{_FACTS}/{table}"):
                name = folder.removeprefix("batch=")
                attempt = _number(name) < batch.number or (self._alone and _is_attempt(name, batch))
                if attempt and name not in named:
                    self._storage.delete(f"{_FACTS}/{table}/{folder}")

    def drop_days(self, state: State) -> None:
        """Remove the facts, except cells, of all days before the first day with a kept run."""
        oldest = state.runs.where("kept").agg(F.min("day")).first()
        if oldest is None or oldest[0] is None:
            return
        first_day = f"day={oldest[0].isoformat()}"
        for table in FACTS:
            if table == _KEPT_FOR_GOOD:
                continue
            for folder in self._storage.names(f"{_FACTS}/{table}"):
                path = f"{_FACTS}/{table}/{folder}"
                days = self._storage.names(path)
                for day in days:
                    if day.startswith("day=") and day < first_day:
                        self._storage.delete(f"{path}/{day}")
                if not any(day >= first_day for day in days if day.startswith("day=")):
                    self._storage.delete(path)


def batches_of(runs: DataFrame) -> list[str]:
    """Return the names of the batches that runs came with. Only these few names reach the driver, never rows."""
    return [row.batch for row in runs.select("batch").distinct().collect()]


def _number(name: str) -> int:
    number = name.removesuffix(".json").partition("-")[0]
    return int(number) if number.isdigit() else 0


def _is_attempt(name: str, batch: Batch) -> bool:
    return _number(name) == batch.number and name != batch.name
