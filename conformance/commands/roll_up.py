"""`roll-up`: the Spark job of `grid` by itself."""

from __future__ import annotations

import click

from conformance.commands.options import PASSES_ON
from conformance.commands.spark_jobs import pass_on


@click.command("roll-up", context_settings=PASSES_ON, options_metavar="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
def roll_up(arguments: tuple[str, ...]) -> None:
    """Roll up runs into the tables of a grid, without its pages.

    `--help` lists the options.
    """
    pass_on("job", arguments)
