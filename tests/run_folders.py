"""Writes small run folders for tests of code that reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.arrow_schemas import arrow_schema, dictionary_columns
from reports.record_columns import EXAMPLE_FIELDS, EXCHANGE_FIELDS
from reports.records import RECORD_SCHEMA_VERSION

DEFAULT_CLAUSE = "KIP-35.keys-unique"
DEFAULT_TARGET = "apache-kafka-4.4.0"
DEFAULT_CLIENT_CLAUSE = "KIP-35.client-falls-back-on-35"


def clause_entry(id_: str = DEFAULT_CLAUSE, **changes: str) -> dict[str, Any]:
    """Return one entry of a header's `clauses`."""
    return {
        "id": id_,
        "role": "broker",
        "level": "MUST",
        "source": id_.split(".")[0],
        "statement": f"What {id_} says.",
        "location": "Proposed Changes",
        "meaning": "What breaks for a user.",
    } | changes


def target_entry(id_: str = DEFAULT_TARGET, **changes: Any) -> dict[str, Any]:
    """Return one entry of a header's `targets`; the id determines implementation and release."""
    implementation, _, release = id_.rpartition("-")
    return {
        "id": id_,
        "implementation": implementation,
        "release": release,
        "launcher": "process",
        "artefacts": {f"org.apache.kafka:kafka_2.13:{release}": "ab" * 32},
    } | changes


def planned_cell(clause: str = DEFAULT_CLAUSE, target: str = DEFAULT_TARGET, **changes: Any) -> dict[str, Any]:
    """Return one entry of a header's `planned_cells`, applicable unless `changes` say otherwise."""
    return {
        "clause": clause,
        "target": target,
        "listener": "plaintext",
        "applicable": True,
        "reason": "",
        "known_violation": "",
    } | changes


def run_header(planned: Sequence[Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    """Return a complete `run.json` for the planned cells, with a footer that counts no rows.

    Clauses and targets are those that the planned cells name, in order of appearance.
    """
    started_at = changes.get("started_at", "2026-11-21T14:30:00+00:00")
    finished_at = datetime.fromisoformat(started_at) + timedelta(minutes=1)
    clauses = dict.fromkeys(cell["clause"] for cell in planned)
    targets = dict.fromkeys(cell["target"] for cell in planned)
    return {
        "record_schema_version": RECORD_SCHEMA_VERSION,
        "run_id": "20261121T143000Z-1a2b3c4d",
        "started_at": started_at,
        "suite": {
            "version": "0.1.0",
            "catalogue_sha256": "cd" * 32,
            "python": "3.11.7",
            "hypothesis": "6.170.15",
            "commit": None,
        },
        "seed": 0,
        "tier": "standard",
        "host": {"system": "Linux", "machine": "x86_64", "cpus": 2},
        "targets": [target_entry(id_) for id_ in targets],
        "clauses": [clause_entry(id_) for id_ in clauses],
        "planned_cells": [dict(cell) for cell in planned],
        "footer": {
            "finished_at": finished_at.isoformat(),
            "exit_status": 0,
            "example_rows": 0,
            "exchange_rows": 0,
        },
    } | changes


def client_run_header(verdicts: Mapping[str, str], *, language: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return the header of a run that judges clients by one clause; its rows are those of `client_rows`.

    Args:
        verdicts: id of each client to the verdict of its only example; the id determines library and version.
        language: the language of their library; None for a run of a suite that did not record it.
        changes: other entries of the header.
    """
    language_entry = {} if language is None else {"language": language}
    return run_header(
        [planned_cell(DEFAULT_CLIENT_CLAUSE, client) for client in verdicts],
        clauses=[clause_entry(DEFAULT_CLIENT_CLAUSE, role="client")],
        targets=[target_entry(client, artefacts={}, **language_entry) for client in verdicts],
        **changes,
    )


def client_rows(header: Mapping[str, Any], verdicts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one example row per client of such a header."""
    targets = {entry["id"]: entry for entry in header["targets"]}
    return [
        example_row(
            header,
            1,
            target=client,
            client=client,
            **{name: targets[client][name] for name in ("implementation", "release")},
            verdict=verdict,
            latency_bucket=None,
        )
        for client, verdict in verdicts.items()
    ]


def example_row(header: Mapping[str, Any], number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return one example row of the header's first planned cell: it conforms, and names a client if clauses are not
    of brokers."""
    cell = header["planned_cells"][0]
    is_of_broker = any(clause["role"] == "broker" for clause in header["clauses"])
    target = next(entry for entry in header["targets"] if entry["id"] == cell["target"])
    return {
        "run_id": header["run_id"],
        "run_date": header["started_at"][:10],
        "target": cell["target"],
        "implementation": target["implementation"],
        "release": target["release"],
        "launcher": target["launcher"],
        "listener": cell["listener"],
        "client": None if is_of_broker else cell["target"],
        "clause": cell["clause"],
        "property": "test_something",
        "tier": header["tier"],
        "phase": "generate",
        "example_number": number,
        "request": "v3",
        "outcome": "answer",
        "error_code": 0,
        "verdict": "conforms",
        "failure_signature": None,
        "latency_bucket": 36,
    } | changes


def write_run(folder: Path, header: Mapping[str, Any], examples: Sequence[Mapping[str, Any]] = ()) -> Path:
    """Write a run folder whose footer counts the given rows and fits their verdicts, and return the folder."""
    folder.mkdir(parents=True)
    failed = any(row["verdict"] == "violates" for row in examples)
    status = header["footer"]["exit_status"] or int(failed)
    footer = {**header["footer"], "example_rows": len(examples), "exit_status": status}
    write_header(folder, {**header, "footer": footer})
    if examples:
        write_examples(folder / "examples" / "part-0.parquet", rows_table(examples))
    return folder


def write_header(folder: Path, header: Mapping[str, Any]) -> None:
    """Write or overwrite `run.json`."""
    (folder / "run.json").write_text(json.dumps(header, indent=1), encoding="utf-8")


def rows_table(examples: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return example rows as an Arrow table of the record schema."""
    schema = arrow_schema(EXAMPLE_FIELDS)
    columns = {name: [row[name] for row in examples] for name in schema.names}
    columns["run_date"] = pa.array(columns["run_date"]).cast(pa.date32())
    return pa.table(columns, schema=schema)


def write_examples(path: Path, table: pa.Table) -> None:
    """Write one Parquet file of example rows."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table, path, use_dictionary=dictionary_columns(EXAMPLE_FIELDS))


def write_exchanges(folder: Path, sent: Sequence[bytes], *, clause: str = DEFAULT_CLAUSE) -> None:
    """Write one Parquet file of exchange rows into a run folder, one for each frame that was sent."""
    row = {
        "run_id": "20261121T143000Z-1a2b3c4d",
        "target": DEFAULT_TARGET,
        "listener": "plaintext",
        "clause": clause,
        "property": "test_something",
        "example_number": 0,
        "step": 0,
        "outcome": "answer",
        "answer_sha256": None,
    }
    rows = [{**row, "sent": each} for each in sent]
    table = pa.Table.from_pylist(rows, schema=arrow_schema(EXCHANGE_FIELDS))
    (folder / "exchanges").mkdir(exist_ok=True)
    pq.write_table(table, folder / "exchanges" / "part-0.parquet")
