"""Lines for a terminal: their markup, and how long they may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size

from reports.document.terminal_form import COLOURS
from reports.records import Verdict
from reports.wording.escaping import printable

MARKUP: Mapping[Verdict, Mapping[str, bool]] = {
    verdict: dict.fromkeys(colour.split(), True) for verdict, colour in COLOURS.items()
}
"""Markup of a line by verdict, for pytest's writer, which applies it only in a terminal and honours NO_COLOR."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output, with its markup for terminals with colours."""

    text: str
    markup: Mapping[str, bool] = field(default_factory=dict)


def shortened(text: str, most: int, *, complete_in: str) -> str:
    """Return a text without its line ends, cut to what fits into some columns of a terminal.

    Args:
        text: the text; what does not print is escaped.
        most: how many columns it may take, over all rows.
        complete_in: the file that has the complete text; a text that was cut names it.
    """
    shown = " ".join(printable(text[: most + 1]).split("\n"))
    if cell_len(shown) <= most:
        return shown
    end = f"… (complete in {complete_in})"
    return set_cell_size(shown, most - cell_len(end)).rstrip() + end


def rows_of(text: str, width: int) -> int:
    """Return how many rows a line takes in a terminal of some width."""
    return max(1, math.ceil(cell_len(text) / width))
