"""What a command shows on a terminal while something takes its time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def status_line(words: str) -> Progress:
    """Say what takes its time, and for how long; nothing where output is not a terminal."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    line.add_task(words, total=None)
    return line
