"""Writer of roll-up tables without Spark, for tests of code that renders them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.arrow_schemas import table_schemas
from reports.run.conversation import ConversationPart
from reports.run.frame_rows import answer_rows, request_rows
from reports.run.hex_dump import conversation_text

INPUTS_SHA256 = "5" * 64
"""The hash of its inputs that every table carries."""
RUN_ID = "20261121T143000Z-1a2b3c4d"
REFUSED_REQUEST = bytes.fromhex("00000020001200030000000700116b61666b612d636f6e666f726d616e63650001023100")
"""ApiVersions v3 with an empty name."""
WRONG_ANSWER = bytes.fromhex("0000001300000007000002001200000003000000000000")
"""ApiVersions v3 response with NONE and a version table of one API."""

_OF_A_NIGHT = ("cells", "targets", "clauses", "runs")
"""Tables that every roll-up has here; the others are written only if they are given."""


@cache
def _schema(table: str) -> pa.Schema:
    """Return a table's columns as Spark writes them, but let rows leave some out."""
    return pa.schema([column.with_nullable(True) for column in table_schemas()[table]])


def cell_row(clause: str, target: str, verdict: str = "conforms", **changes: Any) -> dict[str, Any]:
    """Return one row of the cells; `failures` are signatures, or (signature, verdict) if not "violates"."""
    failures = [(each, "violates") if isinstance(each, str) else each for each in changes.pop("failures", ())]
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
        "distinct_failures": sum(sentence == "violates" for _, sentence in failures),
        "failures": [
            {"signature": signature, "verdict": sentence, "smallest_example": 7, "examples": 3}
            for signature, sentence in failures
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
        "source": clause.rpartition(".")[0],
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
        "hex_dump": conversation_text(
            (
                ConversationPart(connection=0, what="sent", rows=request_rows(REFUSED_REQUEST)),
                ConversationPart(
                    connection=0, what="answer", rows=answer_rows(WRONG_ANSWER, api_version=3), ends_step=True
                ),
                ConversationPart(connection=0, what="closed by us"),
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
        "whole": True,
    } | changes


def write_tables(
    out_dir: Path,
    *,
    refused: Sequence[Mapping[str, str]] = (),
    notices: Sequence[Mapping[str, str]] = (),
    **tables: Sequence[Mapping[str, Any]],
) -> Path:
    """Write a roll-up's folder and return it.

    Without `runs` there is one default run.
    """
    given = {"runs": [run_row()], **tables}
    for name in {**dict.fromkeys(_OF_A_NIGHT), **given}:
        schema = _schema(name)
        folder = out_dir / "tables" / f"{name}.parquet"
        folder.mkdir(parents=True)
        rows = pa.Table.from_pylist(list(given[name]), schema=schema)
        first = {"name": schema.names[0], "metadata": {"inputs_sha256": INPUTS_SHA256}}
        sentence = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"fields": [first]})}
        pq.write_table(rows.replace_schema_metadata(sentence), folder / "part-0.parquet")
    (out_dir / "refused.json").write_text(json.dumps(list(refused)))
    (out_dir / "notices.json").write_text(json.dumps(list(notices)))
    return out_dir
