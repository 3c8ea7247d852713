"""`py-files`: writes the files that a cluster needs for the roll-up."""

from __future__ import annotations

import click

from conformance.commands.options import PASSES_ON
from conformance.commands.spark_jobs import pass_on


@click.command("py-files", context_settings=PASSES_ON, options_metavar="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="FOLDER")
def py_files(arguments: tuple[str, ...]) -> None:
    """Write the files that spark-submit needs for the roll-up."""
    pass_on("py_files", arguments)
