"""A small site with every kind of page, every verdict and hostile names.

The hostile names try to break out of their place.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from reports.site.build import build_site, read_tables
from reports.site.rendering import Site
from tests.reports.roll_up_tables import (
    RUN_ID,
    cell_row,
    clause_row,
    failure_row,
    run_row,
    target_row,
    write_tables,
)

NEW, MIDDLE, OLD = "apache-kafka-4.4.0", "apache-kafka-3.9.2", "apache-kafka-2.8.2"
OTHER = "other-1.0"
HOSTILE = "<script>alert(1)</script>\"'& {{ 7*7 }}"
TARGETS = (NEW, MIDDLE, OLD, OTHER, HOSTILE)
NAMES, KEYS, ORDER, WIDE = "KIP-511.names", "KIP-35.keys", "KIP-35.order", "PROTOCOL.wide"
CLAUSES = (KEYS, ORDER, NAMES, WIDE)
SIGNATURE, KNOWN_SIGNATURE, FLAKY_SIGNATURE = "0123456789abcdef", "fedcba9876543210", "a" * 16
NAMED, FALLS_BACK = "KIP-35.client-asks-first", "KIP-511.client-falls-back"
NEW_CLIENT, OLD_CLIENT = "librdkafka-2.12.1", "librdkafka-2.4.0"
CLIENT_SIGNATURE, NOTE = "b" * 16, "c" * 16
DECLARED = "It is so on purpose. (https://issues.example/browse/KAFKA-1)"
BUILD = {"like": NEW, "commit": HOSTILE, "ready_ms": 2345, "until_ready": f"{HOSTILE} (3)"}
"""What is known about a build in a folder; it says itself of which commit it was made."""
BEFORE = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


def site_tables() -> dict[str, list[dict[str, Any]]]:
    """Return all tables of the small site."""
    return {
        "runs": [run_row()],
        "targets": [
            *(target_row(target) for target in TARGETS[:-1]),
            target_row(NEW, listener="ssl"),
            target_row(HOSTILE, implementation="hostile", release="1", release_order=[1], **BUILD),
        ],
        "clauses": [
            clause_row(KEYS, 0),
            clause_row(ORDER, 1, level="SHOULD"),
            clause_row(NAMES, 2, statement=HOSTILE, meaning=HOSTILE),
            clause_row(WIDE, 3, level="PIN"),
        ],
        "cells": _cells(),
        "failures": [
            failure_row(SIGNATURE, NAMES, HOSTILE, message=HOSTILE, example=HOSTILE, pcap=b"pcap"),
            failure_row(KNOWN_SIGNATURE, NAMES, NEW, known_violation=DECLARED),
            failure_row(FLAKY_SIGNATURE, ORDER, MIDDLE),
            failure_row(NOTE, ORDER, HOSTILE, verdict="informational"),
        ],
        **_history(),
    }


def _cells() -> list[dict[str, Any]]:
    return [
        *(cell_row(KEYS, target) for target in TARGETS),
        cell_row(ORDER, NEW, "inconclusive", reason="it kept us waiting"),
        cell_row(ORDER, MIDDLE, "flaky", failures=[FLAKY_SIGNATURE]),
        cell_row(ORDER, OLD, "not_run", examples=0),
        cell_row(ORDER, OTHER, "unexpected_pass", known_violation="declared, but gone"),
        cell_row(ORDER, HOSTILE, "informational", failures=[(NOTE, "informational")]),
        cell_row(
            NAMES,
            NEW,
            "known_violation",
            known_violation=DECLARED,
            failures=[KNOWN_SIGNATURE],
            first_seen=NOW - timedelta(days=30),
            last_changed=NOW,
            previous_verdict="violates",
        ),
        cell_row(NAMES, NEW, listener="ssl"),
        cell_row(NAMES, MIDDLE),
        cell_row(NAMES, OLD, "not_applicable", reason="no v3 is advertised"),
        cell_row(NAMES, OTHER),
        cell_row(NAMES, HOSTILE, "violates", failures=[SIGNATURE], reason=HOSTILE),
        cell_row(WIDE, NEW, listener="ssl"),
    ]


def cells_with(clause: str, target: str, listener: str = "plaintext", **changes: Any) -> list[dict[str, Any]]:
    """Return the cells of the small site, with some columns of one cell replaced."""
    key = (clause, target, listener)
    return [cell | changes if (cell["clause"], cell["target"], cell["listener"]) == key else cell for cell in _cells()]


def failures_with(changed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the failures of the small site, with the one of the same signature replaced."""
    signature = changed["signature"]
    return [row for row in site_tables()["failures"] if row["signature"] != signature] + [changed]


def _history() -> dict[str, list[dict[str, Any]]]:
    cell = {"clause": NAMES, "target": NEW, "listener": "plaintext"}
    step = {"from_verdict": "violates", "to_verdict": "known_violation"}
    return {
        "transitions": [
            {**cell, **step, "at": NOW, "run_id": RUN_ID, "kind": "changed"},
            {**cell, "from_verdict": "conforms", "to_verdict": "violates", "at": BEFORE}
            | {"run_id": "20261120T143000Z-00000000", "kind": "regressed"},
        ],
        "release_steps": [
            {"clause": NAMES, "implementation": "apache-kafka", "listener": "plaintext"}
            | {"from_target": MIDDLE, "to_target": NEW}
            | {"from_verdict": "conforms", "to_verdict": "known_violation"}
        ],
        "flakes": [
            {"clause": ORDER, "target": MIDDLE, "listener": "plaintext", "failed": 3}
            | {"repeats": 20, "runs": 1, "rate": 0.15, "low": 0.05, "high": 0.36}
        ],
        "coverage": [
            {"clause": NAMES, "property": "test_x", "listener": "plaintext", "request": request}
            | {"targets": 5, "examples": 500, "answered": 470, "closed": 20, "ignored": 10}
            | {"silent": 0, "none": 0, "error_codes": [0, 42]}
            for request in ("v3", "unknown-broken")
        ],
        "latency": [
            {"target": NEW, "listener": "plaintext", "bucket": bucket, "examples": 10} for bucket in (32, 36, 40)
        ],
        "speed": [
            {"run_id": RUN_ID, "target": NEW, "tier": "standard", "launcher": "process"}
            | {"started_at": NOW, "duration_s": 10.0, "examples": 1000, "examples_per_s": 100.0}
        ],
        "mutation": [
            {"clause": NAMES, "defect": "names-are-not-checked", "seeds": 30, "killed": 30}
            | {"certain": True, "median_examples": 1.0, "p95_examples": 2.0}
        ],
        "release_changes": [
            {"listener": "plaintext", "clause": clause, "from_release": "3.9.2", "inputs": 3}
            | {"to_release": "4.4.0", "predicted": False, "shortest": "00120003"}
            | {"before": "closed", "after": "INVALID_REQUEST"}
            for clause in (NAMES, "KIP-9.of-another-grid")
        ],
        "inputs_left_out": [
            {
                "listener": "ssl",
                "release": release,
                "inputs": 2,
                "names": "a-half-frame, two-of-them",
            }
            | {"reason": "TLS cannot end only one side of the stream"}
            for release in ("3.9.2", "4.4.0")
        ],
        "neighbours": [
            {"signature": SIGNATURE, "target": target, "listener": "plaintext", "outcome": "answer"}
            | {
                "verdict": verdict,
                "answer_sha256": None,
                "release_order": order,
                "error_code": code,
            }
            for target, verdict, order, code in (
                (NEW, "conforms", [4, 4, 0], 42),
                (MIDDLE, "conforms", [3, 9, 2], 42),
                (HOSTILE, "violates", [1], 0),
            )
        ],
    }


def write_small_tables(out_dir: Path, **changes: list[dict[str, Any]]) -> Path:
    """Write the tables of the small site, with the given ones replaced, and return their folder."""
    refused = [{"folder": f"/runs/{HOSTILE}", "refusal": "cut_off", "reason": "it was cut off"}]
    notices = [{"folder": f"/runs/2-{HOSTILE}", "notice": "not in the catalogue: C.gone"}]
    return write_tables(out_dir, refused=refused, notices=notices, **{**site_tables(), **changes})


def write_small_site(out_dir: Path, **changes: list[dict[str, Any]]) -> Path:
    """Write the small site, with the given tables replaced, and return its folder."""
    write_small_tables(out_dir, **changes)
    build_site(*read_tables(out_dir), out_dir)
    return out_dir


def write_small_pages(out_dir: Path, *writers: Callable[[Site], None], **changes: list[dict[str, Any]]) -> Path:
    """Write only some pages of the small site, and no exports: much faster than the entire site."""
    return write_pages(write_small_tables(out_dir, **changes), *writers)


def write_pages(out_dir: Path, *writers: Callable[[Site], None]) -> Path:
    """Write only some pages of a folder with tables, and return the folder."""
    grid, history = read_tables(out_dir)
    site = Site(folded=FoldedGrid(grid), history=history, out_dir=out_dir)
    for write in writers:
        write(site)
    return out_dir


def write_site_with_clients(out_dir: Path) -> Path:
    """Write the small site with clauses for clients and two clients added, and return its folder."""
    tables = site_tables()
    return write_small_site(
        out_dir,
        targets=[
            *tables["targets"],
            *(target_row(client, role="client") for client in (NEW_CLIENT, OLD_CLIENT)),
        ],
        clauses=[
            *tables["clauses"],
            clause_row(NAMED, 4, role="client"),
            clause_row(FALLS_BACK, 5, role="client"),
        ],
        cells=[
            *tables["cells"],
            *(cell_row(NAMED, client) for client in (NEW_CLIENT, OLD_CLIENT)),
            # A clause may bind both roles.
            cell_row(KEYS, NEW_CLIENT),
            cell_row(FALLS_BACK, NEW_CLIENT, "violates", failures=[CLIENT_SIGNATURE]),
        ],
        failures=[*tables["failures"], failure_row(CLIENT_SIGNATURE, FALLS_BACK, NEW_CLIENT)],
    )


def write_site_with_operations(out_dir: Path) -> Path:
    """Write the small site with client operations tried on two of its releases, and return its folder."""
    tables = site_tables()
    run = {"run_id": "20261121T150000Z-0a0b0c0d"}
    works, fails = "librdkafka-2.12.1.produce", "librdkafka-2.12.1.idempotent-produce"
    loses = "librdkafka-2.12.1.headers"
    return write_small_site(
        out_dir,
        runs=[*tables["runs"], run_row(**run)],
        targets=[
            *tables["targets"],
            *(target_row(target, role="operation", **run) for target in (NEW, OLD)),
        ],
        clauses=[
            *tables["clauses"],
            *(
                clause_row(clause, index, role="operation", source="librdkafka 2.12.1")
                for index, clause in enumerate((works, fails, loses))
            ),
        ],
        cells=[
            *tables["cells"],
            *(cell_row(works, target, **run) for target in (NEW, OLD)),
            cell_row(fails, NEW, **run),
            cell_row(fails, OLD, "not_applicable", reason="0.10 has no producer ids", **run),
            cell_row(loses, NEW, **run),
            cell_row(loses, OLD, "inconclusive", reason="the release ended", **run),
        ],
    )


def write_large_site(out_dir: Path) -> Path:
    """Write a grid of 120 clauses and 40 targets: a fifth of the cells do not apply, 2 in 100 are known violations."""
    targets = [f"apache-kafka-{4 - number // 10}.{9 - number % 10}.2" for number in range(40)]
    clauses = [f"KIP-{number // 20}11.clause-of-usual-length-{number}" for number in range(120)]
    cells = []
    for row, clause in enumerate(clauses):
        for column, target in enumerate(targets):
            if (row * 40 + column) % 50 == 0:
                declared = {"known_violation": "KAFKA-1", "failures": [SIGNATURE]}
                cells.append(cell_row(clause, target, Verdict.KNOWN_VIOLATION.value, **declared))
            elif (row * 7 + column) % 5 == 0:
                cells.append(cell_row(clause, target, "not_applicable", reason="no v3"))
            else:
                cells.append(cell_row(clause, target))
    write_tables(
        out_dir,
        targets=[target_row(target) for target in targets],
        clauses=[clause_row(clause, index) for index, clause in enumerate(clauses)],
        cells=cells,
    )
    build_site(*read_tables(out_dir), out_dir)
    return out_dir
