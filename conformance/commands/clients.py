"""`clients`: lists the clients that can be judged."""

from __future__ import annotations

import click

from conformance.commands.errors import InvalidFile, reported_as
from conformance.commands.output_console import borderless_table, output_console
from fixtures.errors import InvalidTargetFile
from fixtures.registry.clients import all_clients


@click.command()
def clients() -> None:
    """List the clients that --client accepts."""
    table = borderless_table("id", "language", "ring", "known violations", "note")
    with reported_as(InvalidFile, InvalidTargetFile):
        listed = all_clients()
    for client in listed:
        note = "speaks KIP-1242" if client.cluster_check else ""
        known = str(len(client.known_violations) or "")
        table.add_row(client.id, client.language, client.ring, known, note)
    output_console().print(table)
