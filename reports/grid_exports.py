"""The grid for programs and for other documents: JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from reports.grid_summary import GridSummary
from reports.grid_tables import Grid, GridCell
from reports.grid_view import cell_text
from reports.records import Verdict
from reports.words import SYMBOLS, WORDS

GRID_SCHEMA_VERSION = 1
"""Version of grid.json's layout; the names are those of the dataclasses in `reports.grid_tables`."""

_SYMBOLS_OF_MARKDOWN = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]()#+!|~"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)


def write_exports(grid: Grid, summary: GridSummary, out_dir: Path) -> None:
    """Write grid.json, grid.csv and grid.md into `out_dir`."""
    document = json.dumps(grid_document(grid, summary), indent=1, ensure_ascii=False, default=_text)
    (out_dir / "grid.json").write_text(document + "\n", encoding="utf-8")
    _write_csv(grid.cells, out_dir / "grid.csv")
    markdown = "\n".join(markdown_lines(grid, summary))
    (out_dir / "grid.md").write_text(markdown + "\n", encoding="utf-8")


def grid_document(grid: Grid, summary: GridSummary) -> dict[str, Any]:
    """Give the whole grid as one JSON object, with its schema version first."""
    return {
        "grid_schema_version": GRID_SCHEMA_VERSION,
        "sentence": summary.sentence,
        "verdict": summary.verdict,
        "counts": summary.cells,
        **asdict(grid),
    }


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in grid.json")


def _write_csv(cells: Sequence[GridCell], path: Path) -> None:
    names = [field.name for field in fields(GridCell)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for cell in cells:
            signatures = " ".join(failure.signature for failure in cell.failures)
            writer.writerow(
                signatures if name == "failures" else getattr(cell, name) for name in names
            )


def markdown_lines(grid: Grid, summary: GridSummary) -> Iterator[str]:
    """Give the grid as GitHub-flavoured Markdown: the sentence, one table, the ranges, what was refused."""
    yield f"**{_escaped(summary.sentence)}**"
    yield ""
    yield "| clause | level | " + " | ".join(_escaped(entry.name) for entry in grid.targets) + " |"
    yield "| --- | --- |" + " --- |" * len(grid.targets)
    by_key = {(cell.clause, cell.target, cell.listener): cell for cell in grid.cells}
    for clause in grid.clauses:
        row = [
            _cell(by_key.get((clause.clause, entry.target, entry.listener)))
            for entry in grid.targets
        ]
        yield f"| {_escaped(clause.clause)} | {_escaped(clause.level)} | " + " | ".join(row) + " |"
    yield ""
    yield "| clause | implementation | holds |"
    yield "| --- | --- | --- |"
    for statement, group in groupby(
        grid.ranges, lambda entry: (entry.clause, entry.implementation, entry.statement)
    ):
        listeners = [entry.listener for entry in group]
        suffix = "" if listeners == ["plaintext"] else f" ({', '.join(listeners)})"
        clause_id, implementation, words = statement
        yield f"| {_escaped(clause_id)} | {_escaped(implementation + suffix)} | {_escaped(words)} |"
    for run in grid.refused:
        yield ""
        yield f"Refused: {_escaped(run.folder)}: {_escaped(run.reason)}"


def _cell(cell: GridCell | None) -> str:
    if cell is None:
        return f"{SYMBOLS[Verdict.NOT_RUN]} {WORDS[Verdict.NOT_RUN]}"
    return _escaped(cell_text(cell))


def _escaped(text: str) -> str:
    return text.translate(_SYMBOLS_OF_MARKDOWN)
