"""The option for the address at which pages are published, so that links in exports work wherever these are read."""

from __future__ import annotations

import click

PAGES_OPTION = click.option(
    "--pages",
    metavar="URL",
    callback=lambda context, parameter, value: parse_pages(value),
    help="address at which the grid's pages are published; default: links relative to the grid's folder",
)


def parse_pages(value: str | None) -> str | None:
    """Parse the address that links begin with; add a trailing slash if it has none."""
    if value is None:
        return None
    if not value.startswith(("https://", "http://")) or any(sign in value for sign in ' "<>()\\'):
        raise click.BadParameter(f"{value!r} is not the address of a web page")
    return value if value.endswith("/") else f"{value}/"
