"""The command of the toy."""

from __future__ import annotations

import click


@click.command()
def ping() -> None:
    """Say pong."""
    click.echo("pong")
