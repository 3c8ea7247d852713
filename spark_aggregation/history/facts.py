"""Facts of accepted runs: everything that tables are made from, without the example rows themselves.

A batch of runs becomes eight frames of facts. `cells` are kept for good, because the transitions of a cell must stay
correct when a run arrives late. The others are stored by day and kept until retention drops the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from spark_aggregation.history.ingest import Ingested
from spark_aggregation.reading.frames import as_table
from spark_aggregation.reading.run_files import planned_cells
from spark_aggregation.reading.schema import HEADER, schema, texts
from spark_aggregation.tables.cell_tables import judged_cells
from spark_aggregation.tables.evidence import first_examples
from spark_aggregation.tables.table_schemas import JUDGED_CELLS


def _facts(columns: Mapping[str, DataType]) -> StructType:
    """Return the schema of facts that are stored by day."""
    return schema({}, {**columns, "day": DateType()})


FACTS: Mapping[str, StructType] = MappingProxyType(
    {
        "headers": _facts({**texts("run_id", "folder", "sha256"), "header": HEADER}),
        "cells": StructType([*JUDGED_CELLS, *_facts({"started_at": TimestampType()})]),
        "partials": _facts(
            {
                **texts("run_id", "clause", "target", "listener", "phase"),
                **texts("verdict", "failure_signature"),
                "examples": LongType(),
                "smallest_example": IntegerType(),
                "first_seen": DateType(),
                "last_seen": DateType(),
            }
        ),
        "reached": _facts(
            {
                **texts("run_id", "clause", "target", "listener", "property"),
                **texts("request", "outcome"),
                "error_code": ShortType(),
                "examples": LongType(),
            }
        ),
        "latencies": _facts(
            {
                **texts("run_id", "target", "listener"),
                "latency_bucket": ShortType(),
                "examples": LongType(),
            }
        ),
        "examples": _facts(
            {
                **texts("run_id", "clause", "target", "listener", "property"),
                "example_number": IntegerType(),
                "pinned": BooleanType(),
                **texts("outcome"),
                "error_code": ShortType(),
                **texts("verdict", "failure_signature", "sent_sha256", "answer_sha256"),
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
        cells: one row per run and planned cell, as `cell_tables.judged_cells` returns them.
        partials: one row per distinct value of `partials.PARTIAL_KEYS` except the folder.
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


_OF_HOST = ("system", "machine", "cpus", "load_at_start", "highest_load")
RUNS = schema(
    {},
    {
        **texts("run_id", "batch", "folder", "run_json_sha256"),
        "day": DateType(),
        "started_at": TimestampType(),
        "finished_at": TimestampType(),
        "exit_status": IntegerType(),
        "example_rows": LongType(),
        "exchange_rows": LongType(),
        "tier": StringType(),
        "whole": BooleanType(),
        "corrects": StringType(),
        "seed": LongType(),
        **texts("suite_version", "suite_commit", "catalogue_sha256", "python", "hypothesis"),
        **texts("system", "machine"),
        "cpus": IntegerType(),
        "load_at_start": DoubleType(),
        "highest_load": DoubleType(),
    },
)


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
    )
    return as_table(described, RUNS)
