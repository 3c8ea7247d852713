"""Tables in Markdown.

Cells are Markdown. Foreign texts are escaped by their caller, see `reports.wording.escaping.markdown_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_OPEN_PIPE = re.compile(r"(?<!\\)\|")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [*table_head(columns), *map(table_row, rows)]


def table_head(columns: Sequence[str]) -> list[str]:
    """Return the lines above the rows."""
    return [table_row(columns), f"|{'---|' * len(columns)}"]


def table_row(cells: Iterable[str]) -> str:
    """Return the line of a row; a pipe in a cell is escaped, unless it already is."""
    texts = (_OPEN_PIPE.sub(r"\\|", cell) for cell in cells)
    return f"| {' | '.join(texts)} |"
