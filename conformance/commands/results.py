"""`summary`, `diff` and `upgrade`: what was found, and what changed.

The commands show a run or a grid, the changes from one to another, and the changes between releases.

Users name run folders and folders of grids; if one cannot be read, this says why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow as pa

from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.commands.options import FOLDER, PAGES_OPTION, form_option
from conformance.commands.output_console import output_console
from reports.command_line.suite_command import DISK_FAULTS
from reports.exports.comparison import ChangeKind, GridComparison, compare
from reports.exports.comparison_texts import (
    comparison_document,
    comparison_markdown,
    comparison_tables,
    release_lines,
)
from reports.exports.issues import ViolatedClause, violation_documents, violations_of
from reports.exports.single_run import grid_of_run
from reports.exports.single_run_failures import failures_of_run
from reports.exports.summary_markdown import summary_markdown
from reports.grid.addresses import HOME
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import KeptFailure, read_history_tables
from reports.records import HEADER_FILE, TABLES_FOLDER
from reports.run.exit_status import ExitStatus
from reports.run_folders.refused_runs import RunRefused
from reports.upgrade.texts import sections_of, upgrade_document, upgrade_markdown
from reports.upgrade.upgrade import UnknownRelease, Upgrade, ends_named, upgrade_between
from reports.wording.escaping import one_line, printable

WIDTH_OF_TABLES = 200
"""Columns if the output is piped."""
_WORSE = (ChangeKind.REGRESSED, ChangeKind.NEWLY_FLAKY, ChangeKind.NEW)
SUMMARY_SCHEMA_VERSION = 1
"""Version of the JSON document's layout."""
WIDTH_OF_TEXTS = 80
"""Columns if the output is piped."""


@contextmanager
def blaming_grid(folder: Path) -> Iterator[None]:
    """Say of errors in the block that a grid cannot be read, unless a disk or folder is at fault.

    Raises:
        InvalidFile: there was such an error.
    """
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OSError,
        pa.ArrowException,
    ) as error:
        if isinstance(error, OSError) and error.errno in DISK_FAULTS:
            raise
        raise InvalidFile(f"{folder} cannot be read as a grid: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A grid, read from a run folder or a grid's folder.

    Attributes:
        name: the run's id, or the folder's name.
        grid: the grid.
        failures: the stored failures.
        has_pages: whether there are pages to link to.
    """

    name: str
    grid: Grid
    failures: Sequence[KeptFailure]
    has_pages: bool


def links_before(results: Results, pages: str | None) -> str | None:
    """Return the prefix of page addresses; None if there are no pages."""
    return pages if pages is not None else ("" if results.has_pages else None)


def read_results(path: Path) -> Results:
    """Read a run folder or a grid's folder.

    Raises:
        InvalidFile: the folder is neither, or is damaged; the message says which.
    """
    try:
        if (path / TABLES_FOLDER).is_dir():
            return _results_of_grid(path)
        if (path / HEADER_FILE).is_file():
            return _results_of_run(path)
    except RunRefused as error:
        raise InvalidFile(str(error)) from error
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno in DISK_FAULTS:
            raise
        raise InvalidFile(f"{path} is incomplete or damaged: {type(error).__name__}: {error}") from error
    raise InvalidFile(_neither(path))


def _results_of_grid(path: Path) -> Results:
    failures = read_history_tables(path).failures
    return Results(name=path.name or str(path), grid=read_grid(path), failures=failures or (), has_pages=True)


def _results_of_run(path: Path) -> Results:
    grid = grid_of_run(path)
    failures = failures_of_run(path, grid)
    return Results(name=grid.runs[0].run_id, grid=grid, failures=failures, has_pages=False)


def _neither(path: Path) -> str:
    runs = [entry.parent for entry in sorted(path.glob(f"*/{HEADER_FILE}"))]
    if len(runs) == 1:
        return f"{path} is not a run folder, but holds one: {runs[0]}"
    if runs:
        return f"{path} holds {len(runs)} run folders: give one of them, or roll them up first (kafka-conformance grid)"
    return f"{path} is neither a run folder (no {HEADER_FILE}) nor a grid's folder (no {TABLES_FOLDER}/)"


@click.command()
@click.argument("before", metavar="A", type=FOLDER)
@click.argument("after", metavar="B", type=FOLDER)
@form_option(
    *("text", "markdown", "json"),
    meaning="json also lists the new violations, each with the text for an issue",
)
@PAGES_OPTION
def diff(before: Path, after: Path, form: str, pages: str | None) -> None:
    """Show what changed from run or grid A to B.

    Changes are cells that are fixed, regressed, newly flaky, new or gone, and other reasons.

    A and B are run folders, or folders that `grid` wrote. If each has one release of a product that the other lacks,
    the two releases are compared with each other. The exit status is 1 if a clause whose violation fails a run (MUST,
    or PIN if it binds the target) regressed or became flaky, 10 if one could be judged in A and not in B or if no cell
    is in both, and otherwise 0.
    """
    old, new = read_results(before), read_results(after)
    names = (printable(old.name), printable(new.name))
    comparison = compare(old.grid, new.grid)
    if form == "json":
        document = comparison_document(comparison, names, _new_violations(comparison, new, links_before(new, pages)))
        click.echo(json.dumps(document, indent=1))
    elif form == "markdown":
        click.echo(comparison_markdown(comparison, names), nl=False)
    else:
        _print_comparison(comparison, names)
    raise SystemExit(_status_of(comparison))


def _status_of(comparison: GridComparison) -> int:
    """Return the exit status of a comparison of grids.

    It is 1 for a regression. It is 10 if a cell can no longer be judged or if no cell is in both grids. Otherwise it is
    0.
    """
    if comparison.regressed:
        return 1
    return ExitStatus.HARNESS_ERROR if comparison.no_longer_judged or not comparison.cells else 0


def _new_violations(comparison: GridComparison, new: Results, pages: str | None) -> list[ViolatedClause]:
    """List what is violated now but was not before, including on targets that are new."""
    worse = {(change.clause, change.target) for kind in _WORSE for change in comparison.of_kind(kind)}
    return violations_of(
        FoldedGrid(new.grid),
        new.failures,
        pages=pages,
        chosen=lambda cell: (cell.clause, cell.target) in worse,
    )


def _print_comparison(comparison: GridComparison, names: tuple[str, str]) -> None:
    """Print the comparison; the most serious table comes last, where a terminal user looks first."""
    console = output_console(piped_width=WIDTH_OF_TABLES)
    click.echo(f"from {names[0]} to {names[1]}")
    for line in release_lines(comparison):
        click.echo(printable(line))
    for table in reversed(list(comparison_tables(comparison, width=console.width))):
        console.print()
        console.print(table)
    click.echo("")
    click.echo(printable(comparison.sentence))


@click.command()
@click.argument("path", metavar="GRID_OR_RUN", type=FOLDER)
@form_option("markdown", "json", meaning="json lists every violation with the text for an issue")
@PAGES_OPTION
def summary(path: Path, form: str, pages: str | None) -> None:
    """Show on one page what a run or a grid found.

    The worst comes first, details are folded, and the page has at most 65,536 bytes.

    GRID_OR_RUN is a run folder, or a folder that `grid` wrote. Nothing is judged again: the exit status is 0.
    """
    results = read_results(path)
    folded = FoldedGrid(results.grid)
    said = summarise(folded, path / HOME, results.failures)
    before = links_before(results, pages)
    if form == "markdown":
        click.echo(summary_markdown(folded, said, results.failures, pages=before), nl=False)
        return
    document = {
        "summary_schema_version": SUMMARY_SCHEMA_VERSION,
        "sentence": said.sentence,
        "verdict": said.verdict,
        "counts": said.cells,
        "clauses": said.clauses,
        "targets": said.targets,
        "violations": violation_documents(violations_of(folded, results.failures, pages=before)),
    }
    click.echo(json.dumps(document, indent=1))


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--grid",
    "grid_folder",
    metavar="FOLDER",
    type=FOLDER,
    help="a folder that `grid` wrote: adds clients that were tried with both releases, and rules whose verdict differs",
)
@form_option("text", "markdown", "json", meaning="how it is printed")
def upgrade(before: str, after: str, grid_folder: Path | None, form: str) -> None:
    """Show what changes from release A of Apache Kafka to B.

    That is requests, features, clients, and what stands in between.

    A and B are releases such as 2.3.1, lines such as 2.3, or ids such as apache-kafka-2.3.1; 3.9.2-zookeeper is the
    last release with ZooKeeper. The versions of requests are recorded; no broker is started. The exit status is 0, and
    4 for a name that is unknown.
    """
    with reported_as(UnknownName, UnknownRelease):
        ends = ends_named(before, after)
    grid = None if grid_folder is None else FoldedGrid(read_results(grid_folder).grid)
    found = upgrade_between(*ends, grid)
    if form == "json":
        click.echo(json.dumps(upgrade_document(found), indent=1))
    elif form == "markdown":
        click.echo(upgrade_markdown(found), nl=False)
    else:
        _print_upgrade(found)


def _print_upgrade(found: Upgrade) -> None:
    console = output_console(piped_width=WIDTH_OF_TEXTS)
    console.print(found.title, style="bold")
    console.print(found.in_short)
    for section in sections_of(found):
        console.print()
        console.print(section.title, style="bold")
        for line in section.lines:
            console.print(one_line(str(line)))
