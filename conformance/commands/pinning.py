"""`pin-artefacts` and `record-tables`: what is done once when a release is added."""

from __future__ import annotations

import click

from conformance.advertised_tables import record_tables as record
from conformance.commands.errors import UnknownName
from fixtures.errors import HarnessError, UnknownTarget
from fixtures.pinning import pin
from fixtures.targets import BROKERS_FOLDER, select_targets


@click.command("pin-artefacts")
@click.argument("target_id", metavar="ID")
def pin_artefacts(target_id: str) -> None:
    """Resolve a target's artefacts and write their SHA-256 into its file."""
    path = BROKERS_FOLDER / f"{target_id}.toml"
    if not path.exists():
        raise UnknownName(f"{path} does not exist; copy that of a near release and change it")
    try:
        jars = pin(path)
    except HarnessError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{path.name}: {len(jars)} jars pinned")


@click.command("record-tables")
@click.argument("patterns", metavar="ID...", nargs=-1, required=True)
@click.option("--launcher", type=click.Choice(("auto", "container", "process")), default="auto")
def record_tables(patterns: tuple[str, ...], launcher: str) -> None:
    """Start Apache Kafka releases and record what they advertise for the reference model."""
    try:
        targets = select_targets(patterns)
        record(targets, launcher)
    except UnknownTarget as error:
        raise UnknownName(str(error)) from error
    except HarnessError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"recorded: {', '.join(target.id for target in targets)}")
