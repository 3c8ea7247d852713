"""`expectations`: prints the smallest declarations of known violations for a run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from conformance.commands.errors import UnknownName
from conformance.failures.declaration_entries import entries_for
from conformance.failures.stored_failures import NoStoredFailure
from fixtures.registry.targets import BROKERS_FOLDER
from reports.errors import RunRefused


@click.command()
@click.argument(
    "folder", metavar="RUN-FOLDER", type=click.Path(path_type=Path, exists=True, file_okay=False)
)
def expectations(folder: Path) -> None:
    """Print declarations for the violations that a run saw.

    Fill in reason and link, and append the declarations to the target's file in the registry. The registry refuses a
    declaration without them.
    """
    try:
        entries = entries_for(folder, datetime.now(UTC).date())
    except (RunRefused, NoStoredFailure) as error:
        raise UnknownName(str(error)) from error
    for target, text in entries.items():
        click.echo(f"# for {BROKERS_FOLDER.name}/{target}.toml{text}")
    if not entries:
        click.echo("every violation of this run is already declared")
