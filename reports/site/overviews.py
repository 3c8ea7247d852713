"""Pages about all targets: all findings, all ranges, and how the grid was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from reports.exports.links import BADGE_OF_ALL, badge_of_source
from reports.grid import addresses
from reports.grid.grid_tables import GridCell, GridClause, GridRange, implementation_name
from reports.grid.grid_view import PLAIN, FoldedCell, verdict_text
from reports.records import WORST_FIRST, Verdict
from reports.site.rendering import MOST_RUNS, Site, without_links

_MEANINGS = {
    Verdict.CONFORMS: "Every response follows the clause.",
    Verdict.VIOLATES: "At least one response breaks the clause, and the violation is not declared as known. The number counts distinct failures.",
    Verdict.KNOWN_VIOLATION: "The clause is violated, and the registry declares this violation with a reason and a link.",
    Verdict.UNEXPECTED_PASS: "A violation is declared as known, but the clause was not violated.",
    Verdict.INFORMATIONAL: (
        "The specification is silent: the target differs from Apache Kafka, or the result cannot be ruled right or wrong. "
        "Never fails a run."
    ),
    Verdict.FLAKY: "The violation does not appear every time it is repeated.",
    Verdict.INCONCLUSIVE: "The clause could not be judged: the suite failed, the target took too long to respond, "
    "a failure recurred in no repeat, or the machine was too busy.",
    Verdict.NOT_APPLICABLE: "The clause is about something that the target does not offer.",
    Verdict.NOT_RUN: "The clause was planned, or would be planned now, but was not judged.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One clause and the targets that share a verdict on it: name, full name and address of each."""

    clause: GridClause
    cells: tuple[tuple[str, str, str], ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRow:
    """One range statement.

    Attributes:
        clause: the clause.
        implementation: the implementation's display name.
        listeners: its listeners; empty if the statement is the same on all of them.
        statement: in which releases the clause holds.
        notes: why it does not hold everywhere: text, address and link text.
        absent: why it does not apply in some releases.
    """

    clause: GridClause
    implementation: str
    listeners: str
    statement: str
    notes: tuple[tuple[str, str, str], ...]
    absent: tuple[str, ...]


def write_findings(site: Site) -> None:
    """Write findings.html: what does not plainly conform, by verdict and clause."""
    groups = []
    for state in (verdict for verdict in WORST_FIRST if verdict not in PLAIN):
        found = [_finding(site, clause, state) for clause in site.folded.grid.clauses]
        entries = [entry for entry in found if entry.cells]
        if entries:
            groups.append((state, entries))
    site.render("findings.html", "findings", groups=groups, summary=site.summary)


def _finding(site: Site, clause: GridClause, state: Verdict) -> Finding:
    names = {column.target: column.name for column in site.folded.columns}
    cells = [cell for cell in site.folded.cells[clause.clause] if cell.verdict is state]
    return Finding(
        clause=clause,
        cells=tuple(
            (
                names[cell.target],
                f"{clause.clause} on {names[cell.target]}: {verdict_text(state)}",
                _address(cell),
            )
            for cell in cells
        ),
        # Of reasons that differ only in their link, show the newest release's.
        reasons=tuple(
            {
                without_links(reason): reason
                for cell in reversed(cells)
                for reason in site.why(cell)
            }.values()
        ),
    )


def _address(cell: FoldedCell) -> str:
    return addresses.cell_page(cell.clause, cell.target, cell.worst.listener)


def write_ranges(site: Site) -> None:
    """Write ranges.html: every statement, with equal ones of several listeners shown once."""
    notes = _notes(site)
    sources = [
        (
            source,
            [row for clause in clauses for row in _range_rows(site, clause, notes)],
        )
        for source, clauses in site.folded.sources
    ]
    site.render("ranges.html", "ranges", sources=sources)


NotesByPlace = Mapping[tuple[str, str, str], list[GridCell]]


def _notes(site: Site) -> NotesByPlace:
    """Return the cells that make statements partial, by clause, implementation and listener."""
    families = {entry.target: entry.implementation for entry in site.folded.grid.targets}
    found: dict[tuple[str, str, str], list[GridCell]] = {}
    for cell in site.folded.grid.cells:
        if cell.verdict is not Verdict.CONFORMS:
            place = (cell.clause, families[cell.target], cell.listener)
            found.setdefault(place, []).append(cell)
    return found


def _range_rows(site: Site, clause: GridClause, notes: NotesByPlace) -> Iterator[RangeRow]:
    entries = site.folded.ranges[clause.clause]

    def key(entry: GridRange) -> tuple[str, str]:
        return entry.implementation, entry.statement

    statements: dict[str, set[str]] = {}
    for entry in entries:
        statements.setdefault(entry.implementation, set()).add(entry.statement)
    for (implementation, statement), group in groupby(sorted(entries, key=key), key):
        listeners = [entry.listener for entry in group]
        cells = [
            cell
            for listener in listeners
            for cell in notes.get((clause.clause, implementation, listener), ())
        ]
        yield RangeRow(
            clause=clause,
            implementation=implementation_name(implementation),
            listeners=", ".join(listeners) if len(statements[implementation]) > 1 else "",
            statement=statement,
            notes=tuple(_distinct_notes(site, cells)),
            absent=tuple(
                dict.fromkeys(
                    cell.reason for cell in cells if cell.verdict is Verdict.NOT_APPLICABLE
                )
            ),
        )


def _distinct_notes(site: Site, cells: list[GridCell]) -> Iterator[tuple[str, str, str]]:
    seen = set()
    for cell in cells:
        observed = next(iter(site.seen_in(cell)), "")
        note = cell.why or observed
        if cell.verdict is Verdict.NOT_APPLICABLE or (cell.verdict, without_links(note)) in seen:
            continue
        seen.add((cell.verdict, without_links(note)))
        words = f"{verdict_text(cell.verdict)}: {note}" if note else verdict_text(cell.verdict)
        yield words, addresses.cell_page(cell.clause, cell.target, cell.listener), "Evidence"


def write_about(site: Site) -> None:
    """Write about.html: runs, versions, hashes, seeds, refused runs, and notices about the others."""
    targets_of: dict[str, list[str]] = {run.run_id: [] for run in site.folded.grid.runs}
    for run_id, name in dict.fromkeys(
        (entry.run_id, entry.target_name) for entry in site.folded.grid.targets
    ):
        targets_of.setdefault(run_id, []).append(name)
    meanings = [(verdict, _MEANINGS[verdict]) for verdict in WORST_FIRST]
    badges = [
        ("Everything", BADGE_OF_ALL),
        *((source, badge_of_source(source)) for source, _ in site.folded.sources),
    ]
    # A year of nights is too long for a page: list the runs that the grid shows, and the newest.
    runs = [
        run for place, run in enumerate(site.folded.grid.runs) if run.in_grid or place < MOST_RUNS
    ]
    site.render(
        "about.html",
        "about",
        runs=runs,
        left_out=len(site.folded.grid.runs) - len(runs),
        targets_of=targets_of,
        meanings=meanings,
        badges=[badge for badge in badges if (site.out_dir / f"{badge[1]}.svg").exists()],
    )
