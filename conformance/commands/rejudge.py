"""`rejudge`: stored exchanges under the oracle of today, without a target."""

from __future__ import annotations

import subprocess
import sys

import click

from conformance.commands.progress import status_line


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--out", required=True, help="file for the differences, as JSON lines")
def rejudge(runs: tuple[str, ...], out: str) -> None:
    """Judge what run folders keep of their exchanges again, by the oracle of today.

    Ends with 1 where a target did what the oracle does not allow; the differences say what the run itself said of
    it. Targets that are not Apache Kafka have no profile of their own and are left out.
    """
    # A process of its own, as for the grid: it brings a JVM along.
    job = [sys.executable, "-m", "spark_aggregation.rejudge_job", *runs, "--out", out]
    with status_line("judging again with Spark"):
        finished = subprocess.run(job, check=False)
    raise SystemExit(finished.returncode)
