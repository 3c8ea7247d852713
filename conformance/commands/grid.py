"""`grid`: roll run folders up with Spark, and write the grid in all its forms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from reports.errors import StatementWithoutEvidence


@click.command()
@click.argument("runs", nargs=-1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="folder that gets the tables, the pages, and the exports below exports/",
)
@click.option("--history", help="add the runs to the history in this folder (any Hadoop URI)")
@click.option("--rebuild", is_flag=True, help="make the history anew from the runs given")
@click.option("--keep-days", type=click.IntRange(1), help="keep no more days of runs than these")
@click.option("--mutation", help="the mutation.json that `mutation --out` writes")
@click.option("--changes", help="the changes.json that `changes --out` writes")
def grid(runs: tuple[str, ...], out: Path, **asked: str | int | bool | None) -> None:
    """Roll up run folders (or folders of them) into one grid.

    With --history the grid also shows the runs of earlier times, and runs that are known are left out.
    """
    # A process of its own: the roll-up brings a JVM along, and on a cluster it is submitted instead.
    job = [sys.executable, "-m", "spark_aggregation.job", *runs, "--out", str(out)]
    with (
        _status_line("rolling up with Spark"),
        subprocess.Popen([*job, *_as_options(asked)]) as roll_up,
    ):
        # Half a second of imports, which the roll-up need not wait for and this process has time for.
        from reports.grid_page import write_grid  # noqa: PLC0415
        from reports.hash_list import write_hash_list  # noqa: PLC0415
    if roll_up.returncode != 0:
        raise SystemExit(roll_up.returncode)
    with _status_line("writing pages and exports"):
        try:
            summary = write_grid(out)
        except StatementWithoutEvidence as error:
            raise click.ClickException(str(error)) from error
        write_hash_list(out)
    click.echo(summary.sentence)
    click.echo(f"grid: {out / 'index.html'}")


def _status_line(words: str) -> Progress:
    """Say what takes its time, and for how long; nothing where output is not a terminal."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    line.add_task(words, total=None)
    return line


def _as_options(asked: dict[str, str | int | bool | None]) -> list[str]:
    """Hand over what was given, and nothing else."""
    options = []
    for name, value in asked.items():
        if value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            options += [option] if value is True else [option, str(value)]
    return options
