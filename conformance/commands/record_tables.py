"""`record-tables`: records what releases advertise, once, when they are added."""

from __future__ import annotations

import click

from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName, reported_as
from conformance.commands.output_console import status_line
from conformance.releases.advertised_tables import record_default_answers
from conformance.releases.advertised_tables import record_tables as record
from fixtures.errors import HarnessError, InvalidTargetFile, UnknownTarget
from fixtures.registry.targets import select_targets


@click.command("record-tables")
@click.argument("patterns", metavar="ID...", nargs=-1, required=True)
@click.option("--launcher", type=click.Choice(("auto", "container", "process")), default="auto")
def record_tables(patterns: tuple[str, ...], launcher: str) -> None:
    """Record what releases advertise, for the reference model."""
    with (
        reported_as(CouldNotTell, HarnessError),
        reported_as(InvalidFile, InvalidTargetFile),
        reported_as(UnknownName, UnknownTarget),
    ):
        targets = select_targets(patterns)
        for target in targets:
            with status_line(f"recording the version table and default responses of {target.id}"):
                record(target, launcher)
        with status_line("writing default responses"):
            record_default_answers()
    click.echo(f"recorded: {', '.join(target.id for target in targets)}")
