"""Opens an issue for each violation on the grid that has none yet.

There is one issue per clause and target, never two.

    python -m workflows.new_issues SITE --repository OWNER/NAME --page URL

Issues depend on what is violated now, not on what changed this night: if a night fails to open its issues, the next one
does. A closed issue stays closed, unless the violation was gone and came back this night.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import click

from reports.command_line.suite_command import SuiteCommand
from reports.exports.issues import ViolatedClause, marker, violations_of
from reports.grid.grid_reading import read_grid
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from reports.records import VIOLATED_VERDICTS
from reports.tables.history_rows import Transition
from workflows.github import gh, gh_json, write_summary

LABEL = "violation"
MAX_KNOWN = 1000
"""How many issues with the label are read, the newest first."""
_MARKER = re.compile(r"<!-- kafka-conformance: (.+?) -->")

Key = tuple[str, str]
"""Clause and target."""


def keys_that_came_back(grid: Grid, transitions: Sequence[Transition]) -> set[Key]:
    """Return the clauses and targets that held before and are violated since the very run that the grid shows."""
    shown = {(cell.clause, cell.target, cell.listener, cell.run_id) for cell in grid.cells}
    return {
        (each.clause, each.target)
        for each in transitions
        if each.from_verdict is not None
        and each.from_verdict not in VIOLATED_VERDICTS
        and each.to_verdict in VIOLATED_VERDICTS
        and (each.clause, each.target, each.listener, each.run_id) in shown
    }


def known_issues(repository: str) -> Mapping[str, tuple[int, str]]:
    """Return number and state of each violation's issue, by the violation's marker; an open issue takes precedence."""
    listed = gh_json(
        *("issue", "list", "--repo", repository, "--label", LABEL, "--state", "all"),
        *("--limit", str(MAX_KNOWN), "--json", "number,state,body"),
    )
    issues: dict[str, tuple[int, str]] = {}
    for issue in sorted(listed, key=lambda issue: (issue["state"] == "OPEN", issue["number"])):
        marked = _MARKER.search(issue["body"] or "")
        if marked:
            issues[marked[1]] = issue["number"], issue["state"]
    return issues


def open_issues(
    violations: Sequence[ViolatedClause], came_back: Collection[Key], repository: str, most: int
) -> Iterator[str]:
    """Open and reopen issues as needed, and yield a line of Markdown for each."""
    known = known_issues(repository)
    missing = [violation for violation in violations if marker(violation.key) not in known]
    if missing:
        about = ("--description", "A clause that a target violates", "--color", "B60205")
        gh("label", "create", LABEL, "--repo", repository, "--force", *about)
    for violation in missing[:most]:
        url = gh(
            *("issue", "create", "--repo", repository, "--label", LABEL),
            *("--title", violation.title, "--body", violation.body),
        )
        yield f"- opened [{violation.key}]({url.strip()})"
    for violation in missing[most:]:
        yield f"- not opened yet, because a night opens at most {most}: {violation.key}"
    for violation in violations:
        number, state = known.get(marker(violation.key), (0, ""))
        cells = {(violation.clause, column) for column in violation.columns}
        if state == "CLOSED" and not cells.isdisjoint(came_back):
            words = "The violation had disappeared, and the newest run shows it again."
            gh("issue", "reopen", str(number), "--repo", repository, "--comment", words)
            yield f"- opened again: #{number} {violation.key}"


@click.command(cls=SuiteCommand, name="workflows.new_issues")
@click.argument("site", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--repository", required=True, metavar="OWNER/NAME")
@click.option("--page", required=True, metavar="URL", help="address of the published site")
@click.option("--most", type=click.IntRange(1), default=20, show_default=True)
def main(site: Path, repository: str, page: str, most: int) -> None:
    """Open the issues of a night."""
    grid, history = read_grid(site), read_history_tables(site)
    pages = page.rstrip("/") + "/"
    violations = violations_of(FoldedGrid(grid), history.failures or (), pages=pages)
    came_back = keys_that_came_back(grid, history.transitions or ())
    lines = list(open_issues(violations, came_back, repository, most))
    write_summary("\n".join([f"{len(violations)} violations, by clause and target.", "", *lines]))


if __name__ == "__main__":
    main()
