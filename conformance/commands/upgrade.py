"""`upgrade`: shows what changes from one release of Apache Kafka to another."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.commands.errors import UnknownName, reported_as
from conformance.commands.options import FOLDER, form_option
from conformance.commands.output_console import output_console
from conformance.commands.results import read_results
from reports.escaping import one_line
from reports.grid.grid_view import FoldedGrid
from reports.upgrade.texts import sections_of, upgrade_document, upgrade_markdown
from reports.upgrade.upgrade import UnknownRelease, Upgrade, ends_named, upgrade_between

WIDTH_OF_TEXTS = 80
"""Columns if the output is piped."""


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
    found = upgrade_between(*ends, grid)
    if form == "json":
        click.echo(json.dumps(upgrade_document(found), indent=1))
    elif form == "markdown":
        click.echo(upgrade_markdown(found), nl=False)
    else:
        _print_upgrade(found)


def _print_upgrade(found: Upgrade) -> None:
    console = output_console(piped_width=WIDTH_OF_TEXTS)
    console.print(found.title, style="bold")
    console.print(found.in_short)
    for section in sections_of(found):
        console.print()
        console.print(section.title, style="bold")
        for line in section.lines:
            console.print(one_line(str(line)))
