"""The home page: the verdict, the filters and the grid, within 150 kB for 120 clauses and 40 targets.

To stay that small, a cell that conforms or does not apply has no link, and a conforming one no class either. Optional
end tags are omitted. The label that a narrow screen needs in front of each cell is one CSS rule per column. Filters
are CSS rules as well, so that they work without a script; the script only keeps them in the address and counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clauses.catalogue import Role
from reference_model.listeners import PLAINTEXT
from reports.grid import addresses
from reports.grid.grid_tables import Grid, GridCell, GridClause, implementation_name
from reports.grid.grid_view import (
    PLAIN,
    FoldedCell,
    FoldedGrid,
    TargetColumn,
    role_title,
    verdict_text,
)
from reports.records import WORST_FIRST, Verdict
from reports.site.rendering import Site
from reports.verdict_labels import percent

RELEASES = "Release"
"""Title of the filter by groups of columns."""
_MOST_DAYS = 12
_NOT_IN_CSS_STRINGS = re.compile(r"[^A-Za-z0-9 .,+_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeCell:
    """One cell of the grid: its CSS class, its text and, if it has a page, the link and its full name."""

    style: str
    text: str
    href: str = ""
    name: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeRow:
    """One row; `changed` is the day on which the verdict of one of its cells last changed."""

    clause: GridClause
    range: str
    cells: tuple[HomeCell, ...]
    changed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeGrid:
    """The grid of one role.

    Attributes:
        place: its index among the grids, from 0, used in HTML ids.
        role: the role.
        title: its heading, shown if there are several grids.
        folded: the cells that it shows.
        sources: its rows, by the source of the clauses.
        wholes: the summary cell of each target.
    """

    place: int
    role: str
    title: str
    folded: FoldedGrid
    sources: list[tuple[str, list[HomeRow]]]
    wholes: tuple[HomeCell, ...]

    @property
    def caption(self) -> str:
        """Which runs it shows."""
        return caption_of(self.folded.grid)

    @property
    def range_of(self) -> str:
        """The implementation whose ranges are shown next to the clauses; empty if none are."""
        return implementation_name(self.folded.main_implementation)

    @property
    def first_column(self) -> int:
        """The column of the first target, counted from 1."""
        return 3 if self.range_of else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option of a filter: its name and value in the address, and the text next to its checkbox."""

    name: str
    value: str
    text: str
    style: str = ""
    count: int | None = None

    @property
    def id(self) -> str:
        """Its id on the page."""
        return addresses.anchor(f"{self.name}-{self.value}")


def write_home(site: Site) -> None:
    """Write index.html."""
    grids = [
        _grid(place, role, folded)
        for place, (role, folded) in enumerate(site.folded.by_role.items())
    ]
    choices = _choices(site, grids)
    changes = {row.changed for grid in grids for _, rows in grid.sources for row in rows}
    days = sorted(changes - {""}, reverse=True)[:_MOST_DAYS]
    site.render(
        addresses.HOME,
        "home",
        summary=site.summary,
        grids=grids,
        has_clients=any(grid.role == Role.CLIENT for grid in grids),
        choices=choices,
        source_ids={choice.value: choice.id for choice in choices["Source"]},
        days=days,
        rules="\n".join(_rules(grids, choices, days)),
    )


def _grid(place: int, role: str, folded: FoldedGrid) -> HomeGrid:
    return HomeGrid(
        place=place,
        role=role,
        title=role_title(role),
        folded=folded,
        sources=[
            (source, [_row(folded, clause) for clause in clauses])
            for source, clauses in folded.sources
        ],
        wholes=tuple(_summary_cell(folded, column) for column in range(len(folded.columns))),
    )


def caption_of(grid: Grid) -> str:
    """Return one line with the runs, days and suite versions that a grid shows."""
    shown = [run for run in grid.runs if run.in_grid]
    days = sorted({f"{run.started_at:%Y-%m-%d}" for run in shown})
    names = f"Run {shown[0].run_id}" if len(shown) == 1 else f"{len(shown)} runs"
    period = " to ".join(dict.fromkeys((days[0], days[-1])))
    suites = sorted({f"suite {run.suite_version}{_commit(run.suite_commit)}" for run in shown})
    return f"{names}, {period}, {'; '.join(suites)}"


def _commit(commit: str | None) -> str:
    return f", commit {commit[:12]}" if commit else ""


def _row(folded: FoldedGrid, clause: GridClause) -> HomeRow:
    cells = folded.cells[clause.clause]
    days = [_day_of_change(cell.row) for each in cells for cell in each.listeners if cell.row]
    return HomeRow(
        clause=clause,
        range=_main_range(folded, clause.clause),
        cells=tuple(
            _cell(cell, column) for cell, column in zip(cells, folded.columns, strict=True)
        ),
        changed=max(days, default=""),
    )


def _main_range(folded: FoldedGrid, clause: str) -> str:
    """Return the plaintext listener's statement, else the first listener's that has one; the clause's page has all."""
    statements = {
        entry.listener: entry.statement
        for entry in folded.ranges[clause]
        if entry.implementation == folded.main_implementation
    }
    return statements.get(PLAINTEXT) or next(iter(statements.values()), "")


def _day_of_change(cell: GridCell) -> str:
    changed = cell.previous_verdict is not None and cell.last_changed is not None
    return f"{cell.last_changed:%Y-%m-%d}" if changed else ""


def _cell(cell: FoldedCell, column: TargetColumn) -> HomeCell:
    text = cell.worst.text
    if cell.verdict is Verdict.CONFORMS:
        return HomeCell(style="", text=text)
    if cell.verdict is Verdict.NOT_APPLICABLE:
        return HomeCell(style="na", text=text)
    return HomeCell(
        style=cell.verdict.value,
        text=text,
        href=addresses.cell_page(cell.clause, cell.target, cell.worst.listener),
        name=f"{cell.clause} on {column.name}: {_description(cell)}",
    )


def _label(column: TargetColumn) -> str:
    """Return the name of a column, as shown before each of its cells on a narrow screen."""
    return column.name.removeprefix("Apache ")


def _description(cell: FoldedCell) -> str:
    parts = [cell.verdict.value.replace("_", " ")]
    if cell.verdict is Verdict.FLAKY and cell.worst.flake_rate is not None:
        parts.append(f"{percent(cell.worst.flake_rate)} of its repeats failed")
    if cell.worst.found:
        parts.append(cell.worst.found)
    if cell.since:
        parts.append(f"first seen {cell.since}")
    return ", ".join(parts)


def _summary_cell(folded: FoldedGrid, place: int) -> HomeCell:
    """Return the summary cell of a target: its worst verdict, and how many clauses have it."""
    column = folded.columns[place]
    counts = Counter(row[place].verdict for row in folded.cells.values())
    worst = next((each for each in WORST_FIRST if counts[each]), Verdict.NOT_APPLICABLE)
    words = worst.value.replace("_", " ")
    return HomeCell(
        style="na" if worst is Verdict.NOT_APPLICABLE else worst.value,
        text=verdict_text(worst) if worst in PLAIN else f"{verdict_text(worst)} {counts[worst]}",
        href=addresses.target_page(column.target),
        name=f"{column.name}, all clauses: {words} in {counts[worst]} of {len(folded.cells)} clauses",
        label=_label(column),
    )


def _choices(site: Site, grids: list[HomeGrid]) -> Mapping[str, list[Choice]]:
    folded = site.folded
    groups = dict.fromkeys(name for grid in grids for name, _ in grid.folded.column_groups)
    counts = site.summary.cells
    levels = dict.fromkeys(clause.level for clause in folded.grid.clauses)
    return {
        "State": [
            Choice(
                name="state",
                value=verdict.value,
                text=verdict_text(verdict),
                style="na" if verdict is Verdict.NOT_APPLICABLE else verdict.value,
                count=counts[verdict],
            )
            for verdict in WORST_FIRST
            if verdict in counts
        ],
        "Level": [Choice(name="level", value=level, text=level) for level in levels],
        "Source": [
            Choice(name="source", value=source, text=source) for source, _ in folded.sources
        ],
        RELEASES: [Choice(name="release", value=group, text=group) for group in groups],
    }


def _rules(
    grids: list[HomeGrid], choices: Mapping[str, list[Choice]], days: list[str]
) -> Iterator[str]:
    """Yield the CSS rules that hide what the filters exclude, and those that label cells on narrow screens."""
    yield _state_rule(choices["State"])
    for choice in choices["Level"]:
        yield f"{_unless(choice)} tr.{addresses.anchor(choice.value)}{{display:none}}"
    for choice in choices["Source"]:
        yield f"{_unless(choice)} .rows-{_css_id(choice.id)}{{display:none}}"
    releases = {choice.value: choice for choice in choices[RELEASES]}
    for grid in grids:
        own = [releases[name] for name, _ in grid.folded.column_groups]
        yield f"{_unless(*own)} .of-{grid.place}{{display:none}}"
        if grid.range_of and grid.role == Role.CLIENT:
            # On a narrow screen the heading that names the library is not shown.
            said = _css_string(f"{grid.range_of}: ")
            yield f'@media (max-width:40rem){{#g{grid.place} td.range:not(:empty)::before{{content:"{said}"}}}}'
        start = grid.first_column
        for place, (name, columns) in enumerate(grid.folded.column_groups):
            end = start + len(columns) - 1
            cells = f":is(td:nth-child(n+{start}):nth-child(-n+{end}),.c{place})"
            yield f"{_unless(releases[name])} #g{grid.place} {cells}{{display:none}}"
            start = end + 1
    for place, day in enumerate(days):
        kept = ",".join(f'[data-changed="{each}"]' for each in days[: place + 1])
        yield f'body:has(option[value="{day}"]:checked) .clauses tr:not(.source,{kept}){{display:none}}'
    labels = "".join(
        f'#g{grid.place} td:nth-child({place})::before{{content:"{_css_string(_label(column))}"}}'
        for grid in grids
        for place, column in enumerate(grid.folded.columns, start=grid.first_column)
    )
    yield f"@media (max-width:40rem){{{labels}}}"


def _unless(*choices: Choice) -> str:
    """Return a selector for a page on which checkboxes of this name are ticked, but none of these."""
    ticked = ",".join(f"#{_css_id(choice.id)}:checked" for choice in choices)
    return f"body:has([name={choices[0].name}]:checked):not(:has({ticked}))"


def _state_rule(choices: list[Choice]) -> str:
    cells = {Verdict.CONFORMS.value: "td:not([class])", Verdict.NOT_APPLICABLE.value: "td.na"}
    kept = ",".join(
        f"body:has(#{_css_id(choice.id)}:checked) tr:has({cells.get(choice.value, f'td.{choice.value}')})"
        for choice in choices
    )
    return (
        f"body:has([name=state]:checked) .clauses tr:not(.source,{kept}){{display:none}}"
        if choices
        else ""
    )


def _css_id(identifier: str) -> str:
    """Escape an id, which contains only characters of file names, for a selector."""
    return identifier.replace(".", r"\.")


def _css_string(text: str) -> str:
    return _NOT_IN_CSS_STRINGS.sub(lambda found: f"\\{ord(found[0]):x} ", text)
