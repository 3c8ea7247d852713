"""`roll-up` and `py-files`: the Spark job of `grid` by itself, and what a cluster needs to run it."""

from __future__ import annotations

import click

from conformance.commands.errors import CouldNotTell
from conformance.commands.passed_on import PASSED_ON
from conformance.commands.spark_jobs import running, spark_job


@click.command("roll-up", context_settings=dict(PASSED_ON), options_metavar="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
def roll_up(arguments: tuple[str, ...]) -> None:
    """Roll up runs into the tables of a grid, without its pages.

    `--help` lists the options.
    """
    _run("job", arguments)


@click.command("py-files", context_settings=dict(PASSED_ON), options_metavar="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="FOLDER")
def py_files(arguments: tuple[str, ...]) -> None:
    """Write the files that spark-submit needs for the roll-up."""
    _run("py_files", arguments)


def _run(program: str, arguments: tuple[str, ...]) -> None:
    with running(spark_job(program, *arguments)) as process:
        pass
    # What a signal ended is not 1.
    raise SystemExit(process.returncode if process.returncode >= 0 else CouldNotTell.exit_code)
