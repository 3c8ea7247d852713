"""The roll-up as a command: run folders in, the grid's tables out.

    python -m spark_aggregation.job RUN... --out DIR

Exit status: 0 when at least one run was valid, 1 when none was, 2 on wrong usage, 3 when Spark does not
start here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote

import click
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from reports.records import REFUSED_FILE, TABLES_FOLDER
from spark_aggregation.grid import (
    grid_cells,
    grid_clauses,
    grid_runs,
    grid_targets,
    latest_runs,
)
from spark_aggregation.ingest import (
    count_exchanges,
    planned_cells,
    read_examples,
    read_headers,
    refusals,
)
from spark_aggregation.partials import partial_aggregates
from spark_aggregation.ranges import range_statements
from spark_aggregation.session import SparkUnavailable, start_session

_SMALL_BYTES = 20_000_000
"""Some 5 * 10^6 rows, at the 4 bytes a row that real runs take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRun:
    """A run folder that does not count.

    Attributes:
        folder: where it lies: a path where it is local, else its URI.
        refusal: a value of `reports.records.Refusal`.
        reason: the same as a sentence.
    """

    folder: str
    refusal: str
    reason: str


class PathNotFound(Exception):
    """A path does not exist."""


def roll_up(accepted: DataFrame, partials: DataFrame) -> Mapping[str, DataFrame]:
    """Make the grid's tables.

    Args:
        accepted: headers as `ingest.read_headers` gives them, without those of refused folders.
        partials: as `partials.partial_aggregates` gives them; those of other folders do not count.

    Returns:
        The tables by name: cells, ranges, targets, clauses, runs.
    """
    planned = planned_cells(accepted)
    latest = latest_runs(planned).cache()
    cells = grid_cells(planned, latest, partials).cache()
    targets = grid_targets(accepted, latest)
    return {
        "cells": cells,
        "ranges": range_statements(cells, targets),
        "targets": targets,
        "clauses": grid_clauses(accepted, latest),
        "runs": grid_runs(accepted, latest),
    }


def aggregate(
    spark: SparkSession, roots: Sequence[str], out: Path
) -> tuple[bool, list[RefusedRun]]:
    """Read the runs under `roots` and write the tables into `out`.

    Returns:
        Whether any run was accepted (if not, no table is written), and those that were not.

    Raises:
        PathNotFound: a path of `roots` does not exist.
    """
    try:
        headers = read_headers(spark, roots).cache()
        partials = partial_aggregates(read_examples(spark, roots)).cache()
        refused = refusals(headers, partials, count_exchanges(spark, roots)).cache()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise PathNotFound(error.getMessage()) from error
    refused_runs = [
        RefusedRun(folder=local_path(row.folder), refusal=row.refusal, reason=row.reason)
        for row in refused.orderBy("folder").collect()
    ]
    accepted = headers.join(refused, on="folder", how="left_anti").cache()
    if accepted.isEmpty():
        return False, refused_runs
    for name, table in roll_up(accepted, partials).items():
        path = str(out / TABLES_FOLDER / f"{name}.parquet")
        table.coalesce(1).write.mode("overwrite").parquet(path)
    return True, refused_runs


def is_small(roots: Sequence[str]) -> bool:
    """Tell whether the runs are so few that starting costs more than computing.

    Runs on another file system are not looked at and count as many.
    """
    if any("://" in root for root in roots):
        return False
    sizes = (path.stat().st_size for root in roots for path in Path(root).rglob("*.parquet"))
    return sum(sizes) <= _SMALL_BYTES


def local_path(uri: str) -> str:
    """Show a folder as a person typed it: local ones as a path, others as their URI."""
    return unquote(uri.removeprefix("file:")) if uri.startswith("file:") else uri


@click.command(name="spark_aggregation.job")
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the tables and refused.json.",
)
def command(runs: tuple[str, ...], out: Path) -> None:
    """Roll run folders, or folders of run folders, up into the tables of the grid."""
    try:
        accepted, refused = aggregate(start_session(quick=is_small(runs)), runs, out)
    except SparkUnavailable as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(3)
    except PathNotFound as error:
        raise click.UsageError(str(error)) from error
    out.mkdir(parents=True, exist_ok=True)
    listed = json.dumps([asdict(run) for run in refused], indent=2, ensure_ascii=False)
    (out / REFUSED_FILE).write_text(listed + "\n", encoding="utf-8")
    for run in refused:
        click.echo(f"refused {run.folder}: {run.reason}", err=True)
    if not accepted:
        click.echo("Error: no valid run among those given", err=True)
        sys.exit(1)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; `argv` is without the program's name, None means this process's own."""
    command.main(args=None if argv is None else list(argv))


if __name__ == "__main__":
    main()
