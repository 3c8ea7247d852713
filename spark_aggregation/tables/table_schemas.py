"""Schemas of the tables that the roll-up writes and the report reads.

`frames.as_table` applies the schemas to frames.

A column that is not nullable here is never null in the file. `reports.grid.grid_tables` and
`reports.grid.history_tables` have a class for each table; a test checks that the columns match.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from spark_aggregation.reading.schema import schema, texts

_TEXT, _FLAG, _INSTANT = StringType(), BooleanType(), TimestampType()
_COUNT, _NUMBER, _RATIO = LongType(), IntegerType(), DoubleType()


_CELL = texts("clause", "target", "listener")
FAILURES_OF_A_CELL = ArrayType(
    schema({**texts("signature", "verdict"), "smallest_example": _NUMBER, "examples": _COUNT}),
    containsNull=False,
)


def _counts(*names: str) -> dict[str, DataType]:
    return dict.fromkeys(names, _COUNT)


def _ratios(*names: str) -> dict[str, DataType]:
    return dict.fromkeys(names, _RATIO)


JUDGED_CELLS = schema(
    {
        **_CELL,
        **texts("run_id", "verdict"),
        "applicable": _FLAG,
        **texts("reason", "known_violation"),
        **_counts("examples", "conforms", "violates", "informational", "inconclusive"),
        "distinct_failures": _COUNT,
        "failures": FAILURES_OF_A_CELL,
    }
)

TABLES: Mapping[str, StructType] = {
    "cells": StructType(
        [
            *JUDGED_CELLS,
            *schema({"first_seen": _INSTANT, "last_changed": _INSTANT}, texts("previous_verdict")),
        ]
    ),
    "targets": schema(
        {
            **texts("target", "listener", "implementation", "release"),
            "release_order": ArrayType(_NUMBER, containsNull=False),
            "launcher": _TEXT,
            "artefacts": MapType(_TEXT, _TEXT, valueContainsNull=False),
            "run_id": _TEXT,
            "started_at": _INSTANT,
            "role": _TEXT,
        },
        texts("language", "like", "commit"),
    ),
    "clauses": schema(
        {
            "position": _NUMBER,
            **texts("clause", "role", "level", "source", "statement", "location", "meaning"),
        }
    ),
    "runs": schema(
        {
            **texts("run_id", "folder"),
            "in_grid": _FLAG,
            "started_at": _INSTANT,
            "finished_at": _INSTANT,
            "exit_status": _NUMBER,
            **_counts("example_rows", "exchange_rows"),
            "tier": _TEXT,
            "whole": _FLAG,
            **texts("suite_version", "catalogue_sha256", "python", "hypothesis"),
            **texts("system", "machine"),
            "cpus": _NUMBER,
        },
        {
            "corrects": _TEXT,
            "seed": _COUNT,
            "suite_commit": _TEXT,
            **_ratios("load_at_start", "highest_load"),
        },
    ),
    "transitions": schema({**_CELL, "at": _INSTANT, **texts("run_id", "to_verdict", "kind")}, texts("from_verdict")),
    "release_steps": schema(
        {
            **texts("clause", "implementation", "listener"),
            **texts("from_target", "to_target", "from_verdict", "to_verdict"),
        }
    ),
    "flakes": schema(
        {
            **_CELL,
            **_counts("failed", "repeats"),
            **_ratios("rate", "low", "high"),
            "runs": _COUNT,
        }
    ),
    "coverage": schema(
        {
            **texts("clause", "property", "listener", "request"),
            **_counts("targets", "examples", "answered", "closed", "ignored", "silent", "none"),
            "error_codes": ArrayType(ShortType(), containsNull=False),
        }
    ),
    "latency": schema({**texts("target", "listener"), "bucket": ShortType(), "examples": _COUNT}),
    "speed": schema(
        {
            **texts("run_id", "target", "tier", "launcher"),
            "started_at": _INSTANT,
            "duration_s": _RATIO,
            "examples": _COUNT,
            "examples_per_s": _RATIO,
        }
    ),
    "mutation": schema(
        {**texts("clause", "defect"), "seeds": _NUMBER, "killed": _NUMBER, "certain": _FLAG},
        _ratios("median_examples", "p95_examples"),
    ),
    "release_changes": schema(
        {
            **texts("listener", "clause", "from_release", "to_release"),
            "predicted": _FLAG,
            "inputs": _NUMBER,
            **texts("shortest", "before", "after"),
        }
    ),
    "inputs_left_out": schema({**texts("listener", "release", "reason"), "inputs": _NUMBER, "names": _TEXT}),
    "failures": schema(
        {**texts("run_id", "signature"), **_CELL, "smallest_example": _NUMBER},
        {
            **texts("property", "kind", "message", "example", "verdict"),
            **texts("facts", "hex_dump", "reproducer"),
            "pcap": BinaryType(),
            "known_violation": _TEXT,
        },
    ),
    "neighbours": schema(
        {
            **texts("signature", "target", "listener"),
            "release_order": ArrayType(_NUMBER, containsNull=False),
            **texts("outcome", "verdict"),
        },
        {"error_code": ShortType(), "answer_sha256": _TEXT},
    ),
    "machines": schema(texts("run_id", "target", "listener", "machine")),
    "inputs": schema(texts("run_id", "folder", "run_json_sha256")),
}
"""Every table by name. The function that makes a table documents its rows."""
