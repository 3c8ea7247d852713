"""`verify`: checks that a published grid follows from its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from conformance.commands.errors import InvalidFile
from conformance.commands.grid import as_options
from conformance.commands.output_console import status_line
from conformance.commands.packed_runs import packs_taken_in
from conformance.commands.results import blaming_grid
from conformance.commands.spark_jobs import spark_job, status_of
from fixtures.cleanup.temporary_folder import temporary_folder
from reports.records import TABLES_FOLDER
from reports.verify.verification import (
    GIVEN_TABLES,
    GridDifference,
    differing_files,
    differing_lists,
    differing_rows,
    differing_runs,
    run_folders,
)
from reports.wording.verdict_labels import counted

NO_RUN = GridDifference("run", "none of the given runs is valid, so no table and no page follows from them")
# Whether it can be read is not click's question: that would be wrong usage.
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False, readable=False)


@click.command()
@click.argument("published", metavar="SITE_OR_TABLES", type=_FOLDER)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, readable=False))
@click.option(
    "--keep-days",
    type=click.IntRange(1),
    help="the value with which the published grid was made, if any",
)
@click.option(
    "--with-history",
    is_flag=True,
    help="the published grid has a history, so it lists only the runs that its last roll-up refused",
)
@click.option("--mutation", help="mutation.json with which the published grid was made")
@click.option("--changes", help="changes.json with which the published grid was made")
def verify(published: Path, runs: tuple[Path, ...], with_history: bool, **options: str | int | None) -> None:
    """Check that a published grid follows from its runs.

    The grid is computed again, and every difference is listed.

    SITE_OR_TABLES is the folder that `grid` wrote, or the folder of tables in it. Runs may be packs. Files are
    compared with the list of hashes next to them, runs with those that the grid names, every row of every table with
    the one computed from the runs, and every page and export, byte by byte, with the one rendered from those rows. The
    tables of the mutation score and of the changes between releases are compared if those files are given. The exit
    status is 0 if the published grid is correct, and 1 if it is not.
    """
    site = _site(published)
    # The tables that are taken over as they are published.
    taken_over = [table for table, option in GIVEN_TABLES.items() if options[option] is None]
    with blaming_grid(published), packs_taken_in([*map(str, runs)]) as at_hand:
        differences = list(differing_files(site))
        folders = run_folders(map(Path, at_hand.roots))
        differences += differing_runs(site, folders)
        with temporary_folder() as scratch:
            again, rendered = scratch / "grid", scratch / "site"
            if _rolled_up(at_hand.arguments, again, options):
                differences += differing_rows(site, again, taken_over)
                differences += differing_lists(site, again, of_last_roll_up=with_history)
                differences += _differing_pages(site, again, rendered, taken_over)
            else:
                differences.append(NO_RUN)
    for line in _lines(differences, taken_over, len(folders)):
        click.echo(line)
    raise SystemExit(1 if differences else 0)


def _differing_pages(site: Path, again: Path, rendered: Path, taken_over: list[str]) -> list[GridDifference]:
    with status_line("rendering pages and exports again"):
        # Half a second of imports that nothing else needs.
        from reports.verify.page_verification import differing_pages  # noqa: PLC0415

        rendered.mkdir()
        return list(differing_pages(site, again, rendered, taken_over))


def _site(published: Path) -> Path:
    for site in (published, published.parent):
        if (site / TABLES_FOLDER / "cells.parquet").exists() and published in (
            site,
            site / TABLES_FOLDER,
        ):
            return site
    raise InvalidFile(f"{published} was not written by `grid`: it has no table of cells")


def _rolled_up(runs: Iterable[str], out: Path, options: Mapping[str, str | int | None]) -> bool:
    job = spark_job("job", *runs, "--out", str(out), *as_options(options))
    status = status_of(job, "rolling up with Spark")
    if status not in (0, 1):
        raise SystemExit(status)
    return status == 0


def _lines(differences: list[GridDifference], taken_over: list[str], runs: int) -> Iterator[str]:
    yield from (f"{difference.part}: {difference.sentence}" for difference in differences)
    for option in dict.fromkeys(GIVEN_TABLES[table] for table in taken_over):
        tables = ", ".join(table for table in taken_over if GIVEN_TABLES[table] == option)
        yield f"not compared, because --{option} is missing: {tables}"
    yield (
        f"not verified, but trusted: the {counted(runs, 'given run')} (that they are what a broker or client did, and where "
        "their folders lay), the pictures of machines, and this suite, which computes the grid again"
    )
    if not differences:
        yield "the published grid is correct: every compared file, run, row and page matches"
        return
    counts = Counter(difference.part for difference in differences)
    parts = ", ".join(f"{count} in {part}" for part, count in counts.items())
    yield f"the published grid does not match its runs: {counted(len(differences), 'difference')} ({parts})"
