"""`rejudge`: judges stored exchanges again, by the current oracle."""

from __future__ import annotations

import click

from conformance.commands.spark_jobs import spark_job, status_of


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--out", required=True, help="file for the differences, in JSON Lines format")
def rejudge(runs: tuple[str, ...], out: str) -> None:
    """Judge stored exchanges again, by the current oracle.

    The exit status is 1 if a target did something that the oracle does not allow. The differences include the verdict
    of the run itself. Targets that are not Apache Kafka have no profile of their own and are left out.
    """
    job = spark_job("rejudge_job", *runs, "--out", out)
    raise SystemExit(status_of(job, "judging again with Spark"))
