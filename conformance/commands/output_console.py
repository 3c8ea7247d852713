"""The console of standard output, as wide as a terminal or as wide as what is piped should be."""

from __future__ import annotations

import sys

from rich.console import Console


def output_console(*, piped_width: int, markup: bool = False) -> Console:
    """Return the console of standard output.

    Args:
        piped_width: columns if the output does not go to a terminal, where no width is given and a broken line is
            hard to search for.
        markup: whether texts have rich's markup, and numbers are highlighted; otherwise texts are printed as they are.
    """
    width = None if sys.stdout.isatty() else piped_width
    return Console(width=width, markup=markup, highlight=markup)
