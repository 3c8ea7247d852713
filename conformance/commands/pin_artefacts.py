"""`pin-artefacts`: writes the hashes of a target's artefacts to its file, once."""

from __future__ import annotations

import click

from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName, reported_as
from conformance.commands.output_console import status_line
from fixtures.artefacts.pinning import pin
from fixtures.errors import HarnessError, InvalidTargetFile
from fixtures.registry.targets import BROKERS_FOLDER


@click.command("pin-artefacts")
@click.argument("target_id", metavar="ID")
def pin_artefacts(target_id: str) -> None:
    """Write the hashes of a target's artefacts to its file."""
    path = BROKERS_FOLDER / f"{target_id}.toml"
    if not path.exists():
        raise UnknownName(f"{path} does not exist; copy the file of a similar release and change it")
    with (
        reported_as(CouldNotTell, HarnessError),
        reported_as(InvalidFile, InvalidTargetFile),
        status_line(f"resolving the artefacts of {target_id}"),
    ):
        pinned = pin(path)
    click.echo(f"{path.name}: {pinned}")
