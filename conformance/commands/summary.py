"""`summary`: shows on one page what a run or a grid found."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.commands.options import PAGES_OPTION, RUN_OR_GRID, form_option
from conformance.commands.results import links_before, read_results
from reports.exports.annotations import annotation_lines, newer_lines
from reports.exports.issues import violation_documents, violations_of
from reports.exports.junit import junit_text
from reports.exports.summary_markdown import summary_markdown
from reports.grid.addresses import HOME
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.grid.products import products_of

SUMMARY_SCHEMA_VERSION = 1
"""Version of the JSON document's layout."""


@click.command()
@click.argument("path", metavar="GRID_OR_RUN", type=RUN_OR_GRID)
@form_option(
    *("markdown", "json", "junit", "annotations"),
    meaning="json lists every violation with the text for an issue; junit has a case per clause and listener; annotations "
    "are lines that GitHub shows in a pull request",
)
@PAGES_OPTION
def summary(path: Path, form: str, pages: str | None) -> None:
    """Show on one page what a run or a grid found.

    The worst comes first, details are folded, and the page has at most 65,536 bytes.

    GRID_OR_RUN is a run folder, a pack, or a folder that `grid` wrote. Only a pack is judged again: the exit
    status is 0.
    """
    results = read_results(path)
    folded = FoldedGrid(results.grid)
    overview = summarise(folded, path / HOME, results.failures)
    before = links_before(results, pages)
    if form == "markdown":
        click.echo(summary_markdown(folded, overview, results.failures, pages=before), nl=False)
        return
    if form == "junit":
        products = products_of(folded, results.failures)
        click.echo(junit_text(results.grid, products, results.failures))
        return
    violations = violations_of(folded, results.failures, pages=before)
    if form == "annotations":
        for line in (*annotation_lines(violations, folded), *newer_lines(folded)):
            click.echo(line)
        return
    document = {
        "summary_schema_version": SUMMARY_SCHEMA_VERSION,
        "sentence": overview.sentence,
        "verdict": overview.verdict,
        "counts": overview.cells,
        "clauses": overview.clauses,
        "targets": overview.targets,
        "violations": violation_documents(violations),
    }
    click.echo(json.dumps(document, indent=1))
