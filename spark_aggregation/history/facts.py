"""Reads run folders, refuses invalid ones, and makes facts of the others.

Tables are made from facts alone. Facts do not include the example rows.

A batch of runs becomes eight frames of facts. `cells` are kept for good, because the transitions of a cell must stay
correct when a run arrives late. The others are stored by day and kept until retention drops the day.

Three rules:

1. A folder counts completely or not at all. If one row is wrong or missing, none of its rows reaches a cell; the
   folder is listed with the reason instead. A copy of a run that already counts (its `run.json` is the same byte for
   byte) is left out and not listed.
2. `reports.run_folders.run_rules` says which folders are wrong.
3. Nothing that is wrong with a folder fails the job; see `run_files`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from reports.records import OPERATION
from reports.run_folders.file_contents import CELL, LATENCY_KEYS, PARTIAL_KEYS, REACHED_KEYS
from spark_aggregation.reading.checked_folders import checked_folders, read_headers
from spark_aggregation.reading.frames import as_table, checkpointed
from spark_aggregation.reading.run_files import (
    counted_apart,
    list_files,
    partial_aggregates,
    planned_cells,
    read_tables,
)
from spark_aggregation.reading.schema import EXAMPLES, HEADER, schema, texts
from spark_aggregation.session import fit_partitions
from spark_aggregation.tables.evidence import first_examples, read_failures, read_machines
from spark_aggregation.tables.judged_cells import judged_cells
from spark_aggregation.tables.table_schemas import JUDGED_CELLS, TABLES

_OF_HOST = ("system", "machine", "cpus", "load_at_start", "highest_load")
_DESCRIBED_OTHERWISE = ("run_id", "folder", "in_grid")
RUNS = StructType(
    [
        *schema({}, {**texts("run_id", "batch", "folder", "run_json_sha256"), "day": DateType()}),
        *(
            StructField(column.name, column.dataType)
            for column in TABLES["runs"]
            if column.name not in _DESCRIBED_OTHERWISE
        ),
    ]
)
"""One row per run, kept for good: the columns of the table `runs`, and what the history needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What was read from run folders.

    Attributes:
        headers: as `read_headers` returns them, without those of known runs.
        checked: as `checked_folders.checked_folders` returns them, for all folders that were read.
        partials: partial aggregates of all rows, including those of refused folders.
        reached, latencies: as `run_files.counted_apart` returns them, of the same rows.
        contents: as `run_files.read_tables` returns them, of the same folders.
        failures: as `evidence.read_failures` returns them.
        machines: as `evidence.read_machines` returns them.
        known_again: whether a known run was given again.
    """

    headers: DataFrame
    checked: DataFrame
    partials: DataFrame
    reached: DataFrame
    latencies: DataFrame
    contents: DataFrame
    failures: DataFrame
    machines: DataFrame
    known_again: bool

    @property
    def accepted(self) -> DataFrame:
        """`folder`, `sha256` and `header` of runs that count."""
        return self.checked.where("counts").select("folder", "sha256", "header")


def ingest(spark: SparkSession, roots: Sequence[str], known: DataFrame) -> Ingested:
    """Read run folders, and decide which of them count.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.
        known: runs that already count: `run_id`, `known_folder`, `known_sha256`. If they are given
            again, they are not read.
    """
    files = list_files(spark, roots)
    all_headers = checkpointed(read_headers(files))
    same = (F.col("run_id") == F.col("header.run_id")) & (F.col("known_sha256") == F.col("sha256"))
    headers = all_headers.join(known, on=same, how="left_anti")
    new, again, pinned_examples = _asked_of_headers(all_headers.join(known, on=same, how="left"))
    fit_partitions(spark, len(new))
    read = read_tables(files, runs=new, without=again, pinned_examples=pinned_examples)
    # One row per file, holding lists of rows. Shuffled here by folder, they need no shuffle for grouping and joins.
    contents = checkpointed(read.repartition("folder"))
    partials = checkpointed(partial_aggregates(contents))
    checked = checkpointed(checked_folders(headers, contents, known))
    return Ingested(
        headers=headers,
        checked=checked,
        partials=partials,
        reached=counted_apart(contents, "reached"),
        latencies=counted_apart(contents, "latencies"),
        contents=contents,
        failures=read_failures(files),
        machines=read_machines(files),
        known_again=bool(again),
    )


def _asked_of_headers(headers: DataFrame) -> tuple[Sequence[str], Sequence[str], Mapping[str, int]]:
    """Find out from the headers how to read the tables. Collects a few names and numbers, never rows.

    Args:
        headers: as `read_headers` returns them, with the columns of the same run among the known ones.

    Returns:
        The folders of runs that are not known; those of the known ones, whose files Spark then leaves out when it
        lists files; and the largest number of examples written down with each property.
    """
    known = F.col("known_sha256").isNotNull()
    row = headers.agg(
        F.collect_set(F.when(~known, F.col("folder"))).alias("new"),
        F.collect_set(F.when(known, F.col("folder"))).alias("again"),
        F.flatten(F.collect_set(F.map_entries("header.pinned_examples"))).alias("pinned_examples"),
    ).collect()[0]
    most: dict[str, int] = {}
    for name, examples in row.pinned_examples:
        most[name] = max(most.get(name, 0), examples or 0)
    return row.new, row.again, most


def changed_clauses(header: Column, today: Column) -> Column:
    """Name a run's clauses that today's catalogue does not have, or has with another role or level.

    The run still counts. Its cells were judged by the clause as it was then, and a clause removed since keeps its past.

    Args:
        header: of a run that counts.
        today: `roles` and `level` of each clause of today's catalogue by its id.

    Returns:
        A sentence for readers; null if there is no such clause.
    """

    def differs(clause: Column) -> Column:
        known = F.try_element_at(today, clause["id"])
        other_role = ~F.array_contains(known["roles"], clause["role"])
        return other_role | (clause["level"] != known["level"])

    def is_unknown(clause: Column) -> Column:
        is_clause = clause["role"] != OPERATION
        return is_clause & F.try_element_at(today, clause["id"]).isNull()

    def named(words: str, clauses: Column) -> Column:
        names = F.array_join(F.array_sort(F.array_distinct(clauses["id"])), ", ")
        return F.when(F.size(clauses) > 0, F.concat(F.lit(words), names))

    differing, unknown = (F.filter(header["clauses"], rule) for rule in (differs, is_unknown))
    sentences = F.concat_ws(
        "; ",
        named("role or level differs from the current catalogue: ", differing),
        named("not in the current catalogue: ", unknown),
    )
    return F.when(sentences != "", sentences)


def _facts(columns: Mapping[str, DataType]) -> StructType:
    """Return the schema of facts that are stored by day."""
    return schema({}, {**columns, "day": DateType()})


def _of_rows(*names: str) -> dict[str, DataType]:
    """Return columns of the example rows, by name."""
    return {name: EXAMPLES[name].dataType for name in names}


FACTS: Mapping[str, StructType] = MappingProxyType(
    {
        "headers": _facts({**texts("run_id", "folder", "sha256"), "header": HEADER}),
        "cells": StructType([*JUDGED_CELLS, *_facts({"started_at": TimestampType()})]),
        "partials": _facts(
            {
                **_of_rows(*(name for name in PARTIAL_KEYS if name != "run_date")),
                "examples": LongType(),
                "smallest_example": IntegerType(),
                "first_seen": DateType(),
                "last_seen": DateType(),
            }
        ),
        "reached": _facts({**_of_rows("run_id", *REACHED_KEYS), "examples": LongType()}),
        "latencies": _facts({**_of_rows("run_id", *LATENCY_KEYS), "examples": LongType()}),
        "examples": _facts(
            {
                **_of_rows("run_id", *CELL, "property", "example_number"),
                "pinned": BooleanType(),
                **_of_rows("outcome", "error_code", "verdict", "failure_signature"),
                **texts("sent_sha256", "answer_sha256"),
            }
        ),
        "failures": _facts(
            {
                **texts("run_id", "signature", "facts", "hex_dump", "reproducer"),
                "pcap": BinaryType(),
            }
        ),
        "machines": _facts(texts("run_id", "target", "listener", "machine")),
    }
)
"""Columns of the facts; `day` is the day on which the run started, in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of runs; `FACTS` lists the columns of each frame.

    Attributes:
        headers: one row per run: its folder, the SHA-256 of its `run.json`, and the content of that file.
        cells: one row per run and planned cell, as `judged_cells.judged_cells` returns them.
        partials: one row per distinct value of `file_contents.PARTIAL_KEYS`.
        reached: one row per run, cell, property, kind of request, outcome and error code.
        latencies: one row per run, column of the grid and latency bucket.
        examples: as `evidence.first_examples` returns them.
        failures: as `evidence.read_failures` returns them, by run.
        machines: as `evidence.read_machines` returns them, by run.
    """

    headers: DataFrame
    cells: DataFrame
    partials: DataFrame
    reached: DataFrame
    latencies: DataFrame
    examples: DataFrame
    failures: DataFrame
    machines: DataFrame

    def by_name(self) -> Mapping[str, DataFrame]:
        """Return the frames by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def facts_of(ingested: Ingested) -> Facts:
    """Make the facts of the accepted runs."""
    headers = ingested.accepted.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        "sha256",
        "header",
        F.to_date(F.try_to_timestamp("header.started_at")).alias("day"),
    )
    # One row per run, joined to frames that may have many rows.
    names = F.broadcast(headers.select("folder", "run_id", "day"))
    partials = ingested.partials.join(names.drop("run_id"), on="folder", how="inner")
    cells = judged_cells(planned_cells(headers), partials)
    frames = {
        "headers": headers,
        "cells": cells.withColumn("day", F.to_date("started_at")),
        "partials": partials,
        "reached": ingested.reached.join(names, on="folder", how="inner"),
        "latencies": ingested.latencies.join(names, on="folder", how="inner"),
        "examples": first_examples(ingested.contents, headers),
        "failures": ingested.failures.join(names, on="folder", how="inner"),
        "machines": ingested.machines.join(names, on="folder", how="inner"),
    }
    return Facts(**{name: as_table(frame, FACTS[name]) for name, frame in frames.items()})


def describe_runs(headers: DataFrame, batch: str) -> DataFrame:
    """Describe each run in one row, which is kept for good, with the name of the batch that it came with."""
    described = headers.select(
        "run_id",
        F.lit(batch).alias("batch"),
        "folder",
        F.col("sha256").alias("run_json_sha256"),
        "day",
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.try_to_timestamp("header.footer.finished_at").alias("finished_at"),
        *(f"header.footer.{name}" for name in ("exit_status", "example_rows", "exchange_rows")),
        "header.tier",
        F.coalesce("header.whole", F.lit(True)).alias("whole"),
        "header.corrects",
        "header.seed",
        F.col("header.suite.version").alias("suite_version"),
        F.col("header.suite.commit").alias("suite_commit"),
        *(f"header.suite.{name}" for name in ("catalogue_sha256", "python", "hypothesis")),
        *(f"header.host.{name}" for name in _OF_HOST),
        "header.clause_set",
    )
    return as_table(described, RUNS)
