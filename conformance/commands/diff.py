"""`diff`: shows what changed from one run or grid to another."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.commands.options import PAGES_OPTION, RUN_OR_GRID, form_option
from conformance.commands.output_console import output_console
from conformance.commands.results import Results, links_before, read_results
from reports.document.markdown_form import MAX_COMMENT_BYTES, bounded_markdown
from reports.document.terminal_form import show
from reports.exports.comparison import ChangeKind, GridComparison, compare
from reports.exports.comparison_texts import comparison_document, comparison_report, pull_request_report
from reports.exports.issues import ViolatedClause, violations_of
from reports.grid.grid_view import FoldedGrid
from reports.run.exit_status import ExitStatus
from reports.wording.escaping import printable

_WORSE = (ChangeKind.REGRESSED, ChangeKind.NEWLY_FLAKY, ChangeKind.NEW)


@click.command()
@click.argument("before", metavar="A", type=RUN_OR_GRID)
@click.argument("after", metavar="B", type=RUN_OR_GRID)
@form_option(
    *("text", "markdown", "json", "pull-request"),
    meaning="json also lists the new violations, each with the text for an issue; pull-request has three lists in Markdown: "
    "new red, gone, changed",
)
@PAGES_OPTION
def diff(before: Path, after: Path, form: str, pages: str | None) -> None:
    """Show what changed from run or grid A to B.

    Changes are cells that are fixed, regressed, newly flaky, new or gone, and other reasons.

    A and B are run folders, packs, or folders that `grid` wrote. If each has one release of a product that the other
    lacks, the two releases are compared with each other. The exit status is 1 if a clause whose violation fails a run
    (MUST, or PIN if it binds the target) regressed or became flaky, 10 if one could be judged in A and not in B or if
    no cell is in both, and otherwise 0.
    """
    old, new = read_results(before), read_results(after)
    names = (printable(old.name), printable(new.name))
    comparison = compare(old.grid, new.grid)
    if form == "json":
        document = comparison_document(comparison, names, _new_violations(comparison, new, links_before(new, pages)))
        click.echo(json.dumps(document, indent=1))
    elif form in ("markdown", "pull-request"):
        report = (comparison_report if form == "markdown" else pull_request_report)(comparison, names)
        click.echo(bounded_markdown(report, level=3, max_bytes=MAX_COMMENT_BYTES), nl=False)
    else:
        console = output_console()
        show(console, *comparison_report(comparison, names, width=console.width).blocks)
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
