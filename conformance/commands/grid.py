"""`grid`: roll run folders up with Spark, and write the grid in all its forms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from reports.grid_page import write_grid


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="folder that gets the tables, the page, JSON, CSV and Markdown",
)
def grid(runs: tuple[str, ...], out: Path) -> None:
    """Roll up run folders (or folders of them) into one grid."""
    # A process of its own: the roll-up brings a JVM along, and on a cluster it is submitted instead.
    job = [sys.executable, "-m", "spark_aggregation.job", *runs, "--out", str(out)]
    finished = subprocess.run(job, check=False)
    if finished.returncode != 0:
        raise SystemExit(finished.returncode)
    summary = write_grid(out)
    click.echo(summary.sentence)
    click.echo(f"grid: {out / 'index.html'}")
