"""Schemas of the tables that the roll-up writes and the report reads; `frames.as_table` applies them to frames.

A column that is not nullable here is never null in the file. `reports.grid.grid_tables` and `reports.grid.history_tables` have a
class for each table; a test checks that the columns match.
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
    StructField,
    StructType,
    TimestampType,
)

_TEXT, _FLAG, _INSTANT = StringType(), BooleanType(), TimestampType()
_COUNT, _NUMBER, _RATIO = LongType(), IntegerType(), DoubleType()
_CELL: Mapping[str, DataType] = {"clause": _TEXT, "target": _TEXT, "listener": _TEXT}


def _schema(
    columns: Mapping[str, DataType], optional: Mapping[str, DataType] | None = None
) -> StructType:
    return StructType(
        [
            *(StructField(name, type_, nullable=False) for name, type_ in columns.items()),
            *(StructField(name, type_, nullable=True) for name, type_ in (optional or {}).items()),
        ]
    )


FAILURES_OF_A_CELL = ArrayType(
    _schema(
        {"signature": _TEXT, "verdict": _TEXT, "smallest_example": _NUMBER, "examples": _COUNT}
    ),
    containsNull=False,
)

JUDGED_CELLS = _schema(
    {
        **_CELL,
        "run_id": _TEXT,
        "verdict": _TEXT,
        "applicable": _FLAG,
        "reason": _TEXT,
        "known_violation": _TEXT,
        "examples": _COUNT,
        "conforms": _COUNT,
        "violates": _COUNT,
        "informational": _COUNT,
        "inconclusive": _COUNT,
        "distinct_failures": _COUNT,
        "failures": FAILURES_OF_A_CELL,
    }
)

TABLES: Mapping[str, StructType] = {
    "cells": StructType(
        [
            *JUDGED_CELLS,
            *_schema(
                {"first_seen": _INSTANT, "last_changed": _INSTANT}, {"previous_verdict": _TEXT}
            ),
        ]
    ),
    "targets": _schema(
        {
            "target": _TEXT,
            "listener": _TEXT,
            "implementation": _TEXT,
            "release": _TEXT,
            "release_order": ArrayType(_NUMBER, containsNull=False),
            "launcher": _TEXT,
            "artefacts": MapType(_TEXT, _TEXT, valueContainsNull=False),
            "run_id": _TEXT,
            "started_at": _INSTANT,
            "role": _TEXT,
        },
        {"language": _TEXT, "like": _TEXT, "commit": _TEXT},
    ),
    "clauses": _schema(
        {
            "position": _NUMBER,
            "clause": _TEXT,
            "role": _TEXT,
            "level": _TEXT,
            "source": _TEXT,
            "statement": _TEXT,
            "location": _TEXT,
            "meaning": _TEXT,
        }
    ),
    "runs": _schema(
        {
            "run_id": _TEXT,
            "folder": _TEXT,
            "in_grid": _FLAG,
            "started_at": _INSTANT,
            "finished_at": _INSTANT,
            "exit_status": _NUMBER,
            "example_rows": _COUNT,
            "exchange_rows": _COUNT,
            "tier": _TEXT,
            "whole": _FLAG,
            "suite_version": _TEXT,
            "catalogue_sha256": _TEXT,
            "python": _TEXT,
            "hypothesis": _TEXT,
            "system": _TEXT,
            "machine": _TEXT,
            "cpus": _NUMBER,
        },
        {
            "corrects": _TEXT,
            "seed": _COUNT,
            "suite_commit": _TEXT,
            "load_at_start": _RATIO,
            "highest_load": _RATIO,
        },
    ),
    "transitions": _schema(
        {**_CELL, "at": _INSTANT, "run_id": _TEXT, "to_verdict": _TEXT, "kind": _TEXT},
        {"from_verdict": _TEXT},
    ),
    "release_steps": _schema(
        {
            "clause": _TEXT,
            "implementation": _TEXT,
            "listener": _TEXT,
            "from_target": _TEXT,
            "to_target": _TEXT,
            "from_verdict": _TEXT,
            "to_verdict": _TEXT,
        }
    ),
    "flakes": _schema(
        {
            **_CELL,
            "failed": _COUNT,
            "repeats": _COUNT,
            "rate": _RATIO,
            "low": _RATIO,
            "high": _RATIO,
            "runs": _COUNT,
        }
    ),
    "coverage": _schema(
        {
            "clause": _TEXT,
            "property": _TEXT,
            "listener": _TEXT,
            "request": _TEXT,
            "targets": _COUNT,
            "examples": _COUNT,
            "answered": _COUNT,
            "closed": _COUNT,
            "ignored": _COUNT,
            "silent": _COUNT,
            "none": _COUNT,
            "error_codes": ArrayType(ShortType(), containsNull=False),
        }
    ),
    "latency": _schema(
        {"target": _TEXT, "listener": _TEXT, "bucket": ShortType(), "examples": _COUNT}
    ),
    "speed": _schema(
        {
            "run_id": _TEXT,
            "target": _TEXT,
            "tier": _TEXT,
            "launcher": _TEXT,
            "started_at": _INSTANT,
            "duration_s": _RATIO,
            "examples": _COUNT,
            "examples_per_s": _RATIO,
        }
    ),
    "mutation": _schema(
        {"clause": _TEXT, "defect": _TEXT, "seeds": _NUMBER, "killed": _NUMBER, "certain": _FLAG},
        {"median_examples": _RATIO, "p95_examples": _RATIO},
    ),
    "release_changes": _schema(
        {
            "listener": _TEXT,
            "clause": _TEXT,
            "from_release": _TEXT,
            "to_release": _TEXT,
            "predicted": _FLAG,
            "inputs": _NUMBER,
            "shortest": _TEXT,
            "before": _TEXT,
            "after": _TEXT,
        }
    ),
    "inputs_left_out": _schema(
        {"listener": _TEXT, "release": _TEXT, "reason": _TEXT, "inputs": _NUMBER, "names": _TEXT}
    ),
    "failures": _schema(
        {"run_id": _TEXT, "signature": _TEXT, **_CELL, "smallest_example": _NUMBER},
        {
            "property": _TEXT,
            "kind": _TEXT,
            "message": _TEXT,
            "example": _TEXT,
            "verdict": _TEXT,
            "facts": _TEXT,
            "hex_dump": _TEXT,
            "reproducer": _TEXT,
            "pcap": BinaryType(),
            "known_violation": _TEXT,
        },
    ),
    "neighbours": _schema(
        {
            "signature": _TEXT,
            "target": _TEXT,
            "listener": _TEXT,
            "release_order": ArrayType(_NUMBER, containsNull=False),
            "outcome": _TEXT,
            "verdict": _TEXT,
        },
        {"error_code": ShortType(), "answer_sha256": _TEXT},
    ),
    "machines": _schema({"run_id": _TEXT, "target": _TEXT, "listener": _TEXT, "machine": _TEXT}),
    "inputs": _schema({"run_id": _TEXT, "folder": _TEXT, "run_json_sha256": _TEXT}),
}
"""Every table by name. The function that makes a table documents its rows."""
