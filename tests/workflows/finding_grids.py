"""A grid with findings: of brokers, of clients and of operations."""

from __future__ import annotations

import json
from pathlib import Path

from reports.grid.bugs import Evidence
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_table
from reports.tables.failure_rows import KeptFailure
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables
from workflows.compatibility.collecting import Collected, collect
from workflows.compatibility.data import Finding

MUST, SHOULD, KNOWN = (
    "KIP-35.keys-unique",
    "KIP-35.outside-range-not-served",
    "KIP-35.trailing-bytes",
)
CLIENTS = "KIP-511.client-errors-on-42"
SHARE = "libone-1.0.share-group"
SILENT = "the target fell silent instead of answering"
LOOPS = "the client loops on one connection: {} ApiVersions requests\n1 request in 0.1 s"
PLAY = {"nodes": [], "recorded": [], "tables": [], "sasl": False}
STEPS = [{"connection": 0, "listener": "plaintext", "pieces": ["00"], "recorded": ["silent"]}]
SCRIPT = f"import sys\nSTEPS = {STEPS!r}\n"


def write_grid(folder: Path) -> Path:
    """Write a grid: a broker that crashes, one with a declared violation, and two versions of a client with one bug."""
    example = {"example": "{'script': Script(nodes=(), timeout_ms=3000)}", "message": ""}
    return write_tables(
        folder,
        cells=[
            cell_row(MUST, "mybroker-2.0", "violates", failures=["aa"]),
            cell_row(SHOULD, "mybroker-2.0", "violates", failures=["bb"]),
            cell_row(KNOWN, "mybroker-1.0", "known_violation", failures=["cc"], known_violation="On purpose. (https://example.org/1)"),
            cell_row(MUST, "mybroker-1.0"),
            cell_row(MUST, "fine-1.0"),
            cell_row(MUST, "absent-1.0", "inconclusive", reason="it cannot be installed"),
            cell_row(CLIENTS, "libone-1.0", "violates", failures=["dd"]),
            cell_row(CLIENTS, "libone-0.9", "violates", failures=["ee"]),
            cell_row(SHARE, "apache-kafka-2.3.1", "violates"),
            cell_row(SHARE, "apache-kafka-4.4.0"),
        ],
        targets=[
            *(target_row(each) for each in ("mybroker-2.0", "mybroker-1.0", "fine-1.0", "absent-1.0")),
            *(target_row(each, role="client", language="Python") for each in ("libone-1.0", "libone-0.9")),
            *(target_row(each, role="operation") for each in ("apache-kafka-2.3.1", "apache-kafka-4.4.0")),
        ],
        clauses=[
            clause_row(MUST),
            clause_row(SHOULD, 1, level="SHOULD"),
            clause_row(KNOWN, 2),
            clause_row(CLIENTS, 3, role="client"),
            clause_row(SHARE, 4, role="operation", source="libone-1.0"),
        ],
        failures=[
            failure_row("aa", MUST, "mybroker-2.0", kind="TargetEnded", message="this request crashes the target", reproducer=SCRIPT),
            failure_row("bb", SHOULD, "mybroker-2.0", message=SILENT, reproducer=SCRIPT),
            failure_row("cc", KNOWN, "mybroker-1.0", message=SILENT, reproducer=SCRIPT),
            *(
                failure_row(
                    signature,
                    CLIENTS,
                    f"libone-{release}",
                    message=LOOPS.format(number),
                    facts=json.dumps({**example, "target": f"libone-{release}", "message": LOOPS.format(number), "play": PLAY}),
                )
                for signature, release, number in (("dd", "1.0", 20), ("ee", "0.9", 30))
            ),
        ],
    )  # fmt: skip


def collected_from(grid: Path) -> Collected:
    """Return what is collected from a grid's tables."""
    return collect(FoldedGrid(read_grid(grid)), read_history_table(grid, "failures") or ())


def found_in(grid: Path, words: str) -> tuple[Collected, Finding, Evidence, KeptFailure]:
    """Return what is collected from a grid, and the finding whose title has some words, with what shows it."""
    collected = collected_from(grid)
    finding = next(finding for finding in collected.data.findings if words in finding.title)
    evidence = collected.evidence[finding.id]
    assert evidence.failure is not None
    return collected, finding, evidence, evidence.failure
