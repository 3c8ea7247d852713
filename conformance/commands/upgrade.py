"""`upgrade`: what changes from one release of Apache Kafka to another."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.commands.options import FOLDER, form_option
from conformance.commands.output_console import output_console
from fixtures.registry.given_tables import given_table
from reference_model.profiles.removals import InvalidTable
from reports.command_line.extras import REPORTS, check_extra
from reports.document.markdown_form import markdown
from reports.document.terminal_form import show_document
from reports.grid.grid_view import FoldedGrid
from reports.release_changes.sections import upgrade_report
from reports.release_changes.upgrade import upgrade_between
from upgrade.planning.json_document import upgrade_document
from upgrade.planning.release_names import UnknownRelease, ends_named, stand_in_notes, with_given_table


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@click.option(
    "--to",
    "table",
    metavar="TABLE",
    help="in place of B, a release that does not exist yet: see below",
)
@click.option(
    "--grid",
    "grid_folder",
    metavar="FOLDER",
    type=FOLDER,
    help="a folder that `grid` wrote: adds clients that were tried with both releases, and rules whose verdict differs",
)
@form_option("text", "markdown", "json", meaning="how it is printed")
def upgrade(before: str, after: str | None, table: str | None, grid_folder: Path | None, form: str) -> None:
    """Show what changes from release A of Apache Kafka to B.

    That is requests, features, clients, and what stands in between.

    A and B are releases such as 2.3.1, lines such as 2.3, or ids such as apache-kafka-2.3.1; 3.9.2-zookeeper is the
    last release with ZooKeeper. The versions of requests are recorded; no broker is started. For a patch release that
    was not recorded one of its line stands, and a sentence says so. The exit status is 0, and 4 for a name that is
    unknown.

    A TABLE is a file that `api-versions --json` wrote, or what A would lose, in a file or as 'JoinGroup 5+, Fetch 4-12,
    no DescribeCluster'.
    """
    if (after is None) == (table is None):
        raise click.UsageError("give the newer release B, or --to with a table")
    with reported_as(UnknownName, UnknownRelease), reported_as(InvalidFile, InvalidTable):
        ends = ends_named(before, after or "") if table is None else with_given_table(before, given_table(table))
    grid = None if grid_folder is None else _grid_in(grid_folder)
    changes = upgrade_between(*ends, grid, stand_in_notes(before, *filter(None, [after])))
    if form == "json":
        click.echo(json.dumps(upgrade_document(changes), indent=1))
    elif form == "markdown":
        click.echo(markdown(upgrade_report(changes), level=2), nl=False)
    else:
        show_document(output_console(), upgrade_report(changes))


def _grid_in(folder: Path) -> FoldedGrid:
    """Read a grid.

    Raises:
        InvalidFile: there is none.
        MissingExtra: what reads it is not installed.
    """
    check_extra(REPORTS, "upgrade --grid")
    from conformance.commands.results import read_results  # noqa: PLC0415

    return FoldedGrid(read_results(folder).grid)
