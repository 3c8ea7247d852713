"""Writes the tables of a roll-up without Spark, for tests of the code that renders them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.run.hex_dump import dump_answer, dump_request

INPUTS_SHA256 = "5" * 64
"""The hash of its inputs that every table carries."""
RUN_ID = "20261121T143000Z-1a2b3c4d"
REFUSED_REQUEST = bytes.fromhex(
    "00000020001200030000000700116b61666b612d636f6e666f726d616e63650001023100"
)
"""ApiVersions v3 with an empty name."""
WRONG_ANSWER = bytes.fromhex("0000001300000007000002001200000003000000000000")
"""ApiVersions v3 response with NONE and a version table of one API."""

_INSTANT = pa.timestamp("us", tz="UTC")
_TEXT = pa.string()
_FAILURE = pa.struct(
    [
        *((name, _TEXT) for name in ("signature", "verdict")),
        *(("smallest_example", pa.int32()), ("examples", pa.int64())),
    ]
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
            *((name, _INSTANT) for name in ("first_seen", "last_changed")),
            ("previous_verdict", _TEXT),
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
            ("role", _TEXT),
            *((name, _TEXT) for name in ("language", "like", "commit")),
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
            *((name, pa.float64()) for name in ("load_at_start", "highest_load")),
        ]
    ),
}


_VERDICTS = ("from_verdict", "to_verdict")
_CELL = ("clause", "target", "listener")


def _texts(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, _TEXT) for name in names]


_HISTORY_SCHEMAS = {
    "transitions": pa.schema(
        [*_texts(*_CELL), ("at", _INSTANT), *_texts("run_id", *_VERDICTS, "kind")]
    ),
    "release_steps": pa.schema(
        _texts("clause", "implementation", "listener", "from_target", "to_target", *_VERDICTS)
    ),
    "flakes": pa.schema(
        [
            *_texts(*_CELL),
            *((name, pa.int64()) for name in ("failed", "repeats", "runs")),
            *((name, pa.float64()) for name in ("rate", "low", "high")),
        ]
    ),
    "coverage": pa.schema(
        [
            *_texts("clause", "property", "listener", "request"),
            *((name, pa.int64()) for name in ("targets", "examples", "answered", "closed")),
            *((name, pa.int64()) for name in ("ignored", "silent", "none")),
            ("error_codes", pa.list_(pa.int16())),
        ]
    ),
    "latency": pa.schema(
        [*_texts("target", "listener"), ("bucket", pa.int16()), ("examples", pa.int64())]
    ),
    "speed": pa.schema(
        [
            *_texts("run_id", "target", "tier", "launcher"),
            ("started_at", _INSTANT),
            ("duration_s", pa.float64()),
            ("examples", pa.int64()),
            ("examples_per_s", pa.float64()),
        ]
    ),
    "mutation": pa.schema(
        [
            *_texts("clause", "defect"),
            ("seeds", pa.int32()),
            ("killed", pa.int32()),
            ("certain", pa.bool_()),
            ("median_examples", pa.float64()),
            ("p95_examples", pa.float64()),
        ]
    ),
    "release_changes": pa.schema(
        [
            *_texts("listener", "clause", "from_release", "to_release", "shortest"),
            *_texts("before", "after"),
            ("predicted", pa.bool_()),
            ("inputs", pa.int32()),
        ]
    ),
    "inputs_left_out": pa.schema(
        [*_texts("listener", "release", "reason", "names"), ("inputs", pa.int32())]
    ),
    "failures": pa.schema(
        [
            *_texts("run_id", "signature", *_CELL, "property", "kind", "message", "example"),
            *_texts("verdict", "facts", "hex_dump", "reproducer", "known_violation"),
            ("smallest_example", pa.int32()),
            ("pcap", pa.binary()),
        ]
    ),
    "neighbours": pa.schema(
        [
            *_texts("signature", "target", "listener", "outcome", "verdict", "answer_sha256"),
            ("release_order", pa.list_(pa.int32())),
            ("error_code", pa.int16()),
        ]
    ),
    "machines": pa.schema(_texts("run_id", "target", "listener", "machine")),
}


def cell_row(clause: str, target: str, verdict: str = "conforms", **changes: Any) -> dict[str, Any]:
    """Return one row of the cells; `failures` are signatures, or (signature, verdict) if not "violates"."""
    failures = [
        (each, "violates") if isinstance(each, str) else each
        for each in changes.pop("failures", ())
    ]
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
        "distinct_failures": sum(said == "violates" for _, said in failures),
        "failures": [
            {"signature": signature, "verdict": said, "smallest_example": 7, "examples": 3}
            for signature, said in failures
        ],
    } | changes


def target_row(target: str, **changes: Any) -> dict[str, Any]:
    """Return one row of the targets; implementation and release are taken from the id."""
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
        "role": "broker",
        "language": None,
        "like": None,
        "commit": None,
    } | changes


def clause_row(clause: str, position: int = 0, **changes: Any) -> dict[str, Any]:
    """Return one row of the clauses."""
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


def failure_row(signature: str, clause: str, target: str, **changes: Any) -> dict[str, Any]:
    """Return one row of the failures: a response to ApiVersions v3 with NONE instead of INVALID_REQUEST."""
    return {
        "run_id": RUN_ID,
        "signature": signature,
        "clause": clause,
        "target": target,
        "listener": "plaintext",
        "property": "test_illegal_name_is_refused",
        "kind": "AssertionError",
        "message": "assert NONE (0) is INVALID_REQUEST (42)\n +  where NONE (0) = ...",
        "example": "{'name': ''}",
        "verdict": "violates",
        "smallest_example": 7,
        "facts": json.dumps({"sent": [{"connection": 0, "data": REFUSED_REQUEST.hex()}]}),
        "hex_dump": "\n".join(
            (
                "connection 0: sent",
                *dump_request(REFUSED_REQUEST),
                "connection 0: answer",
                *dump_answer(WRONG_ANSWER, api_version=3),
                "",
                "connection 0: closed by us",
            )
        ),
        "reproducer": "print('again')\n",
        "pcap": None,
        "known_violation": None,
    } | changes


def run_row(folder: str = "file:/nowhere", **changes: Any) -> dict[str, Any]:
    """Return one row of the runs."""
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
    notices: Sequence[Mapping[str, str]] = (),
    **tables: Sequence[Mapping[str, Any]],
) -> Path:
    """Write a roll-up's folder and return it.

    Without `runs` there is one default run. Tables of the history are written only if given.
    """
    given = {"runs": [run_row()], **tables}
    history = {name: schema for name, schema in _HISTORY_SCHEMAS.items() if name in given}
    for name, schema in (_SCHEMAS | history).items():
        folder = out_dir / "tables" / f"{name}.parquet"
        folder.mkdir(parents=True)
        rows = pa.Table.from_pylist(list(given[name]), schema=schema)
        first = {"name": schema.names[0], "metadata": {"inputs_sha256": INPUTS_SHA256}}
        said = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"fields": [first]})}
        pq.write_table(rows.replace_schema_metadata(said), folder / "part-0.parquet")
    (out_dir / "refused.json").write_text(json.dumps(list(refused)))
    (out_dir / "notices.json").write_text(json.dumps(list(notices)))
    return out_dir
