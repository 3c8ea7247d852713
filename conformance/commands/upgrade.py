"""`upgrade`: what changes from one release of Apache Kafka to another."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.commands.errors import UnknownName, reported_as
from conformance.commands.options import FOLDER, form_option
from conformance.commands.output_console import output_console
from conformance.commands.results import read_results
from reports.document.markdown_form import markdown
from reports.document.terminal_form import show_document
from reports.grid.grid_view import FoldedGrid
from reports.release_changes.sections import upgrade_report
from reports.release_changes.upgrade import upgrade_between
from upgrade.planning.json_document import upgrade_document
from upgrade.planning.release_names import UnknownRelease, ends_named, stand_in_notes


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
    last release with ZooKeeper. The versions of requests are recorded; no broker is started. For a patch release that
    was not recorded one of its line stands, and a sentence says so. The exit status is 0, and 4 for a name that is
    unknown.
    """
    with reported_as(UnknownName, UnknownRelease):
        ends = ends_named(before, after)
    grid = None if grid_folder is None else FoldedGrid(read_results(grid_folder).grid)
    changes = upgrade_between(*ends, grid, stand_in_notes(before, after))
    if form == "json":
        click.echo(json.dumps(upgrade_document(changes), indent=1))
    elif form == "markdown":
        click.echo(markdown(upgrade_report(changes), level=2), nl=False)
    else:
        show_document(output_console(), upgrade_report(changes))
