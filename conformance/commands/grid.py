"""`grid`: rolls run folders up with Spark, and writes the grid in all its formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from conformance.commands.options import PAGES_OPTION
from conformance.commands.output_console import status_line
from conformance.commands.packed_runs import packs_taken_in
from conformance.commands.spark_jobs import running, spark_job


@click.command()
@click.argument("runs", nargs=-1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="folder for the tables, the pages, and the exports (in exports/)",
)
@click.option("--history", help="folder of the history to which the runs are added (any Hadoop URI)")
@click.option("--rebuild", is_flag=True, help="discard the history and build it from the given runs")
@click.option(
    "--keep-days",
    type=click.IntRange(1),
    help="number of days of runs to keep; older runs are deleted from the history",
)
@click.option("--mutation", help="mutation.json, as written by `mutation --out`")
@click.option("--changes", help="changes.json, as written by `changes --out`")
@PAGES_OPTION
def grid(runs: tuple[str, ...], out: Path, pages: str | None, **options: str | int | bool | None) -> None:
    """Roll up run folders (or folders of them) into one grid.

    A file that `pack` wrote is taken like a run folder, after it was judged again.

    With --history the grid also shows earlier runs, and runs that the history already has are not added again.
    """
    with packs_taken_in(runs) as at_hand:
        job = spark_job("job", *at_hand.arguments, "--out", str(out), *as_options(options))
        with status_line("rolling up with Spark"), running(job) as roll_up:
            # Half a second of imports, done while the roll-up runs.
            from conformance.commands.site import write_site  # noqa: PLC0415
            from reports.site.build import read_tables  # noqa: PLC0415
    if roll_up.returncode != 0:
        raise SystemExit(roll_up.returncode)
    write_site(out, *read_tables(out, pages=pages or ""))


def as_options(asked: Mapping[str, str | int | bool | None]) -> list[str]:
    """Return the options that were given as command-line arguments."""
    options = []
    for name, value in asked.items():
        if value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            options += [option] if value is True else [option, str(value)]
    return options
