"""The progress line that a command shows on a terminal during slow work."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def status_line(words: str) -> Progress:
    """Return a progress line with a description and the elapsed time; it shows nothing outside a terminal."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    line.add_task(words, total=None)
    return line
