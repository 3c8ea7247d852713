"""Writes the tables of a roll-up without Spark, for tests of what renders them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

RUN_ID = "20261121T143000Z-1a2b3c4d"

_INSTANT = pa.timestamp("us", tz="UTC")
_TEXT = pa.string()
_FAILURE = pa.struct(
    [("signature", _TEXT), ("smallest_example", pa.int32()), ("examples", pa.int64())]
)
_SCHEMAS = {
    "cells": pa.schema(
        [
            *((name, _TEXT) for name in ("clause", "target", "listener", "run_id", "verdict")),
            ("applicable", pa.bool_()),
            *((name, _TEXT) for name in ("reason", "known_violation")),
            *((name, pa.int64()) for name in ("examples", "conforms", "violates")),
            *((name, pa.int64()) for name in ("informational", "inconclusive")),
            ("distinct_failures", pa.int64()),
            ("failures", pa.list_(_FAILURE)),
        ]
    ),
    "ranges": pa.schema(
        [
            *((name, _TEXT) for name in ("clause", "implementation", "listener", "statement")),
            *((name, _TEXT) for name in ("first_held", "last_held")),
            ("releases", pa.int32()),
        ]
    ),
    "targets": pa.schema(
        [
            *((name, _TEXT) for name in ("target", "listener", "implementation", "release")),
            ("release_order", pa.list_(pa.int32())),
            ("launcher", _TEXT),
            ("artefacts", pa.map_(_TEXT, _TEXT)),
            ("run_id", _TEXT),
            ("started_at", _INSTANT),
        ]
    ),
    "clauses": pa.schema(
        [
            ("position", pa.int32()),
            *((name, _TEXT) for name in ("clause", "role", "level", "source")),
            *((name, _TEXT) for name in ("statement", "location", "meaning")),
        ]
    ),
    "runs": pa.schema(
        [
            *((name, _TEXT) for name in ("run_id", "folder")),
            ("in_grid", pa.bool_()),
            *((name, _INSTANT) for name in ("started_at", "finished_at")),
            ("exit_status", pa.int32()),
            *((name, pa.int64()) for name in ("example_rows", "exchange_rows")),
            ("tier", _TEXT),
            ("seed", pa.int64()),
            *((name, _TEXT) for name in ("suite_version", "suite_commit", "catalogue_sha256")),
            *((name, _TEXT) for name in ("python", "hypothesis", "system", "machine")),
            ("cpus", pa.int32()),
        ]
    ),
}


def cell_row(clause: str, target: str, verdict: str = "conforms", **changes: Any) -> dict[str, Any]:
    """Give one row of the cells; failures are signatures."""
    failures = changes.pop("failures", ())
    return {
        "clause": clause,
        "target": target,
        "listener": "plaintext",
        "run_id": RUN_ID,
        "verdict": verdict,
        "applicable": verdict != "not_applicable",
        "reason": "",
        "known_violation": "",
        "examples": 100,
        "conforms": 100,
        "violates": 0,
        "informational": 0,
        "inconclusive": 0,
        "distinct_failures": len(failures),
        "failures": [
            {"signature": signature, "smallest_example": 7, "examples": 3} for signature in failures
        ],
    } | changes


def target_row(target: str, **changes: Any) -> dict[str, Any]:
    """Give one row of the targets; implementation and release are read off the id."""
    implementation, _, release = target.rpartition("-")
    numbers = [int(number) for number in release.split(".") if number.isdigit()]
    return {
        "target": target,
        "listener": "plaintext",
        "implementation": implementation,
        "release": release,
        "release_order": numbers,
        "launcher": "process",
        "artefacts": {"org.apache.kafka:kafka_2.13:4.4.0": "ab" * 32},
        "run_id": RUN_ID,
        "started_at": datetime(2026, 11, 21, 14, 30, tzinfo=UTC),
    } | changes


def clause_row(clause: str, position: int = 0, **changes: Any) -> dict[str, Any]:
    """Give one row of the clauses."""
    return {
        "position": position,
        "clause": clause,
        "role": "broker",
        "level": "MUST",
        "source": clause.partition(".")[0],
        "statement": f"What {clause} says.",
        "location": "Proposed Changes",
        "meaning": "What breaks for a user.",
    } | changes


def range_row(clause: str, implementation: str, statement: str, **changes: Any) -> dict[str, Any]:
    """Give one row of the ranges."""
    return {
        "clause": clause,
        "implementation": implementation,
        "listener": "plaintext",
        "statement": statement,
        "first_held": None,
        "last_held": None,
        "releases": 1,
    } | changes


def run_row(folder: str = "file:/nowhere", **changes: Any) -> dict[str, Any]:
    """Give one row of the runs."""
    return {
        "run_id": RUN_ID,
        "folder": folder,
        "in_grid": True,
        "started_at": datetime(2026, 11, 21, 14, 30, tzinfo=UTC),
        "finished_at": datetime(2026, 11, 21, 14, 31, tzinfo=UTC),
        "exit_status": 0,
        "example_rows": 100,
        "exchange_rows": 0,
        "tier": "standard",
        "seed": None,
        "suite_version": "0.1.0",
        "suite_commit": "0123456789abcdef",
        "catalogue_sha256": "cd" * 32,
        "python": "3.11.7",
        "hypothesis": "6.170.15",
        "system": "Linux",
        "machine": "x86_64",
        "cpus": 2,
    } | changes


def write_tables(
    out_dir: Path,
    *,
    refused: Sequence[Mapping[str, str]] = (),
    **tables: Sequence[Mapping[str, Any]],
) -> Path:
    """Write a roll-up's folder and give it back; runs are one default run unless given."""
    given = {"runs": [run_row()], "ranges": [], **tables}
    for name, schema in _SCHEMAS.items():
        folder = out_dir / "tables" / f"{name}.parquet"
        folder.mkdir(parents=True)
        pq.write_table(
            pa.Table.from_pylist(list(given[name]), schema=schema), folder / "part-0.parquet"
        )
    (out_dir / "refused.json").write_text(json.dumps(list(refused)))
    return out_dir
