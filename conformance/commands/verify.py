"""`verify`: is a published grid what its runs make it?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pyarrow as pa

from conformance.commands.errors import InvalidFile
from reports.hash_list import InvalidHashList
from reports.records import TABLES_FOLDER
from reports.verification import (
    Difference,
    differing_files,
    differing_rows,
    differing_runs,
    run_folders,
)

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.argument("published", metavar="SITE_OR_TABLES", type=_FOLDER)
@click.argument("runs", nargs=-1, required=True, type=_FOLDER)
@click.option(
    "--keep-days", type=click.IntRange(1), help="as the published grid was made, if it was"
)
def verify(published: Path, runs: tuple[Path, ...], keep_days: int | None) -> None:
    """Compute a grid again from its runs, and name everything in which the published one differs.

    SITE_OR_TABLES is the folder that `grid` wrote, or the folder of tables in it. Files are compared with the
    list of hashes beside them, runs with those that the grid names, and every row of every table with what
    the runs make of it. Ends with 0 where the published grid is true, and with 1 where it is not.
    """
    site = _site(published)
    try:
        found = list(differing_files(site))
        found += differing_runs(site, run_folders(runs))
        with tempfile.TemporaryDirectory(prefix="kafka-conformance-verify-") as scratch:
            again = Path(scratch)
            # With no valid run there is nothing to compare, and every published run is named above.
            if _rolled_up(runs, again, keep_days):
                found += differing_rows(site, again)
    except (InvalidHashList, UnicodeDecodeError, OSError, pa.ArrowException, KeyError) as error:
        raise InvalidFile(f"{published} cannot be read as a grid: {error}") from error
    for line in _lines(found):
        click.echo(line)
    raise SystemExit(1 if found else 0)


def _site(published: Path) -> Path:
    for site in (published, published.parent):
        if (site / TABLES_FOLDER / "cells.parquet").exists() and published in (
            site,
            site / TABLES_FOLDER,
        ):
            return site
    raise InvalidFile(f"{published} is no folder that `grid` wrote: it has no table of cells")


def _rolled_up(runs: Iterable[Path], out: Path, keep_days: int | None) -> bool:
    kept = [] if keep_days is None else ["--keep-days", str(keep_days)]
    job = [sys.executable, "-m", "spark_aggregation.job", *map(str, runs), "--out", str(out), *kept]
    finished = subprocess.run(job, check=False)
    if finished.returncode not in (0, 1):
        raise SystemExit(finished.returncode)
    return finished.returncode == 0


def _lines(found: list[Difference]) -> Iterator[str]:
    yield from (f"{difference.place}: {difference.sentence}" for difference in found)
    if not found:
        yield "the published grid is true: every file, run and row is as it must be"
        return
    counts = Counter(difference.place for difference in found)
    parts = ", ".join(f"{count} in {place}" for place, count in counts.items())
    yield f"the published grid is not what its runs make it: {len(found)} differences ({parts})"
