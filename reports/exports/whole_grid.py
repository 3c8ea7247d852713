"""The grid of the home page, for programs and for other documents: grid.json, grid.csv and grid.md.

`grid.json` holds every table of the grid; the other two have a row per clause and a column per target, its listeners
folded into the worst verdict; `grid.md` has such a table for each role. In `grid.csv` a cell that could not be judged has its reason after the verdict.
`table_files` exports each table separately.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from reference_model.listeners import PLAINTEXT
from reports.escaping import csv_text, markdown_text
from reports.exports.table_files import GRID_ROW_TYPES, ExportedTable, rows_text
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import FoldedGrid, ListenerCell, role_title
from reports.records import Verdict

GRID_SCHEMA_VERSION = 1
"""Version of grid.json's layout; the names are those of the dataclasses in `reports.grid.grid_tables`."""


def write_whole_grid(
    folded: FoldedGrid,
    tables: Sequence[ExportedTable],
    summary: GridSummary,
    out_dir: Path,
) -> None:
    """Write grid.json, grid.csv and grid.md into `out_dir`.

    Args:
        folded: the grid.
        tables: its tables, for grid.json.
        summary: its sentence and counts.
        out_dir: the folder.
    """
    _write_json(tables, summary, out_dir / "grid.json")
    _write_csv(folded, out_dir / "grid.csv")
    markdown = "\n".join(markdown_lines(folded, summary))
    (out_dir / "grid.md").write_text(markdown + "\n", encoding="utf-8")


def _write_json(tables: Sequence[ExportedTable], summary: GridSummary, path: Path) -> None:
    """Write one JSON object: its schema version first, then the grid's tables with one row per line."""
    head = {
        "grid_schema_version": GRID_SCHEMA_VERSION,
        "inputs_sha256": next(table.inputs_sha256 for table in tables if table.name == "cells"),
        "sentence": summary.sentence,
        "verdict": summary.verdict,
        "counts": summary.cells,
    }
    rows = (
        f'"{table.name}": {rows_text(table)}' for table in tables if table.name in GRID_ROW_TYPES
    )
    text = ",\n".join([json.dumps(head)[:-1], *rows])
    path.write_text(text + "}\n", encoding="ascii")


def _rows(folded: FoldedGrid, *, with_reasons: bool) -> Iterator[list[str]]:
    """Yield the rows of the table, the header first."""
    yield ["clause", "level", *(column.name for column in folded.columns)]
    for clause in folded.grid.clauses:
        cells = (cell.worst for cell in folded.cells[clause.clause])
        texts = (_text_of(cell, with_reason=with_reasons) for cell in cells)
        yield [clause.clause, clause.level, *texts]


def _text_of(cell: ListenerCell, *, with_reason: bool) -> str:
    if with_reason and cell.verdict is Verdict.INCONCLUSIVE and cell.reason:
        return f"{cell.text}: {cell.reason}"
    return cell.text


def _write_csv(folded: FoldedGrid, path: Path) -> None:
    rows = _rows(folded, with_reasons=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([csv_text(text) for text in row] for row in rows)


def markdown_lines(folded: FoldedGrid, summary: GridSummary) -> Iterator[str]:
    """Yield the grid as GitHub-flavoured Markdown: the sentence, a table per role, the ranges, refused folders."""
    yield f"**{markdown_text(summary.sentence)}**"
    yield ""
    for role, of_role in folded.by_role.items():
        if len(folded.by_role) > 1:
            yield f"## {role_title(role)}"
            yield ""
        yield from _table_lines(of_role)
        yield ""
    yield from _range_lines(folded)
    for run in folded.grid.refused:
        yield ""
        yield f"Refused: {markdown_text(run.folder)}: {markdown_text(run.reason)}"


def _table_lines(folded: FoldedGrid) -> Iterator[str]:
    head, *rows = (
        [markdown_text(text) for text in row] for row in _rows(folded, with_reasons=False)
    )
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _range_lines(folded: FoldedGrid) -> Iterator[str]:
    yield "| clause | implementation | holds |"
    yield "| --- | --- | --- |"
    for statement, group in groupby(
        folded.grid.ranges, lambda entry: (entry.clause, entry.implementation, entry.statement)
    ):
        listeners = [entry.listener for entry in group]
        suffix = "" if listeners == [PLAINTEXT] else f" ({', '.join(listeners)})"
        clause, implementation, words = statement
        texts = (markdown_text(text) for text in (clause, implementation + suffix, words))
        yield f"| {' | '.join(texts)} |"
