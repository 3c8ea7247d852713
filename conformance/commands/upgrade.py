"""`upgrade`: what changes from one release of Apache Kafka to another."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.commands.errors import UnknownName, reported_as
from conformance.commands.options import FOLDER, form_option
from conformance.commands.output_console import output_console
from conformance.commands.results import read_results
from reports.grid.grid_view import FoldedGrid
from reports.release_changes.sections import sections_of
from reports.release_changes.upgrade import Upgrade, upgrade_between
from reports.wording.escaping import one_line
from upgrade.planning.json_document import upgrade_document
from upgrade.planning.markdown_text import upgrade_markdown
from upgrade.planning.release_names import UnknownRelease, ends_named

WIDTH_WHEN_PIPED = 80
"""Columns."""


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--grid",
    "grid_folder",
    metavar="FOLDER",
    type=FOLDER,
    help="a folder that `grid` wrote: adds clients that were tried with both releases, and rules whose verdict differs",
)
@form_option("text", "markdown", "json", meaning="how it is printed")
def upgrade(before: str, after: str, grid_folder: Path | None, form: str) -> None:
    """Show what changes from release A of Apache Kafka to B.

    That is requests, features, clients, and what stands in between.

    A and B are releases such as 2.3.1, lines such as 2.3, or ids such as apache-kafka-2.3.1; 3.9.2-zookeeper is the
    last release with ZooKeeper. The versions of requests are recorded; no broker is started. The exit status is 0, and
    4 for a name that is unknown.
    """
    with reported_as(UnknownName, UnknownRelease):
        ends = ends_named(before, after)
    grid = None if grid_folder is None else FoldedGrid(read_results(grid_folder).grid)
    changes = upgrade_between(*ends, grid)
    if form == "json":
        click.echo(json.dumps(upgrade_document(changes), indent=1))
    elif form == "markdown":
        click.echo(upgrade_markdown(changes), nl=False)
    else:
        _print_upgrade(changes)


def _print_upgrade(changes: Upgrade) -> None:
    console = output_console(piped_width=WIDTH_WHEN_PIPED)
    console.print(changes.title, style="bold")
    console.print(changes.in_short)
    for section in sections_of(changes):
        console.print()
        console.print(section.title, style="bold")
        for line in section.lines:
            console.print(one_line(str(line)))
