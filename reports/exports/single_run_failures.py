"""The stored failures of one run folder, without Spark."""

from __future__ import annotations

import re
from pathlib import Path

from reports.grid.grid_tables import Grid
from reports.records import CAPTURE_FILE, DUMP_FILE, FACTS_FILE, REPRODUCER_FILE
from reports.run_folders.refusal_reasons import RunRefusal
from reports.run_folders.refused_runs import RunRefused
from reports.tables.cell_rows import CellFailure, GridCell
from reports.tables.failure_rows import KeptFailure
from wire.foreign_json import read_foreign_json

_SIGNATURE = re.compile(r"[0-9a-f]{16}")
_MAX_FILE_BYTES = 1024 * 1024


def failures_of_run(folder: Path, grid: Grid) -> tuple[KeptFailure, ...]:
    """Read the stored failures of a run's cells.

    Raises:
        RunRefused: a stored failure is damaged.
    """
    kept = []
    for cell in grid.cells:
        for failure in cell.failures:
            failure_folder = folder / "failures" / failure.signature
            if _SIGNATURE.fullmatch(failure.signature) and (failure_folder / FACTS_FILE).is_file():
                kept.append(_kept_failure(failure_folder, cell, failure))
    return tuple(kept)


def _kept_failure(failure_folder: Path, cell: GridCell, failure: CellFailure) -> KeptFailure:
    # The complete file, however long: with the bytes of a long input in it, it is longer than what a person reads.
    facts = (failure_folder / FACTS_FILE).read_text(encoding="utf-8", errors="backslashreplace")
    try:
        known = read_foreign_json(facts)
        texts = {name: str(known[name]) for name in ("kind", "message", "example", "verdict")}
        property_name = str(known["property_name"])
        known_violation = str(known.get("known_violation", ""))
    except (ValueError, KeyError, TypeError) as error:
        detail = f"failures/{failure_folder.name}/failure.json is damaged: {error}"
        raise RunRefused(failure_folder.parent.parent, RunRefusal.INVALID_ROWS, detail) from error
    return KeptFailure(
        run_id=cell.run_id,
        signature=failure.signature,
        clause=cell.clause,
        target=cell.target,
        listener=cell.listener,
        property=property_name,
        smallest_example=failure.smallest_example,
        facts=facts,
        hex_dump=_text(failure_folder / DUMP_FILE),
        reproducer=_text(failure_folder / REPRODUCER_FILE),
        pcap=_whole(failure_folder / CAPTURE_FILE),
        known_violation=known_violation,
        **texts,
    )


def _text(path: Path) -> str:
    """Read a text file up to the size limit; empty if missing."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_MAX_FILE_BYTES).decode("utf-8", "backslashreplace")


def _whole(path: Path) -> bytes | None:
    """Read a complete file; None if missing or over the size limit."""
    if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
        return None
    return path.read_bytes()
