"""The console of standard output, and the progress line of slow work.

The console is as wide as the terminal; piped output has one entry per line.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from reports.document.terminal_form import ANY_WIDTH


def output_console() -> Console:
    """Return the console of standard output; texts are printed as they are, without rich's markup.

    Without a terminal, no line is broken: a broken one is hard to search for.
    """
    width = None if sys.stdout.isatty() else ANY_WIDTH
    return Console(width=width, markup=False, highlight=False)


def status_line(words: str) -> Progress:
    """Return a progress line with a description and the elapsed time; it shows nothing outside a terminal."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    line.add_task(words, total=None)
    return line


def borderless_table(first: str, *others: str) -> Table:
    """Return a table with these columns, the first of which is never wrapped."""
    return Table(Column(first, no_wrap=True), *others, box=None, pad_edge=False)
