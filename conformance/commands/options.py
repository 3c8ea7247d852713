"""Options and types of arguments that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
"""A folder that exists."""
RUN_OR_GRID = click.Path(path_type=Path, exists=True)
"""A run folder, the folder of a grid, or a file that `pack` wrote."""
PAGES_OPTION = click.option(
    "--pages",
    metavar="URL",
    # So that links in exports work wherever these are read.
    callback=lambda context, parameter, value: _parse_pages(value),
    help="address at which the grid's pages are published; default: links relative to the grid's folder",
)
PASSES_ON = {"ignore_unknown_options": True, "help_option_names": []}
"""For click: unknown options are arguments of the program that the command runs, and `--help` is one of them."""


def form_option(*forms: str, meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for the form in which a result is printed; the first one is the default."""
    return click.option(
        *("--format", "form"),
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help=meaning,
    )


def _parse_pages(value: str | None) -> str | None:
    """Parse the address that links begin with; add a trailing slash if it has none."""
    if value is None:
        return None
    if not value.startswith(("https://", "http://")) or any(sign in value for sign in ' "<>()\\'):
        raise click.BadParameter(f"{value!r} is not the address of a web page")
    return value if value.endswith("/") else f"{value}/"
