"""The page about changes between adjacent releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from reports.grid import addresses
from reports.grid.change_log import by_group
from reports.grid.grid_tables import implementation_name
from reports.grid.grid_view import listener_order
from reports.grid.history_tables import ReleaseChange, ReleaseStep
from reports.records import Verdict
from reports.site.rendering import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A clause with different verdicts on two adjacent releases; listeners with the same change are grouped."""

    clause: str
    listeners: tuple[str, ...]
    before: Verdict
    after: Verdict
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteChange:
    """A group of inputs that two adjacent releases treat differently, with all clauses concerned."""

    clauses: tuple[str, ...]
    listener: str
    before: str
    after: str
    predicted: bool
    inputs: int
    shortest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePair:
    """Two adjacent releases and all that differs between them."""

    anchor: str
    title: str
    rows: tuple[StepRow, ...]
    changes: tuple[ByteChange, ...]


def write_releases(site: Site) -> None:
    """Write releases.html."""
    changes = _changes_by_releases(site.history.release_changes or ())
    groups = [change for rows in changes.values() for change in rows]
    tables = (site.history.release_steps, site.history.release_changes)
    site.render(
        "releases.html",
        "releases",
        pairs=None if tables == (None, None) else _pairs(site, changes),
        changes_recorded=bool(groups),
        unpredicted=sum(not change.predicted for change in groups),
        changes=len(groups),
        left_out=by_group(site.history.inputs_left_out or ()),
        clauses=set(site.folded.cells),
    )


def _pairs(
    site: Site, changes: Mapping[tuple[str, str], tuple[ByteChange, ...]]
) -> list[ReleasePair]:
    columns = {column.target: column for column in site.folded.columns}
    places = {column.target: place for place, column in enumerate(site.folded.columns)}
    steps: dict[tuple[str, str], list[ReleaseStep]] = {}
    for step in site.history.release_steps or ():
        if step.from_target in columns and step.to_target in columns:
            steps.setdefault((step.from_target, step.to_target), []).append(step)
    left, pairs = dict(changes), []
    for older, newer in sorted(steps, key=lambda pair: places[pair[1]]):
        releases = tuple(columns[target].listeners[0].release for target in (older, newer))
        title = f"{columns[older].name} to {columns[newer].name}"
        pairs.append(
            ReleasePair(
                anchor=addresses.anchor(f"{older}-{newer}"),
                title=title,
                rows=tuple(_step_rows(steps[older, newer])),
                changes=left.pop((releases[0], releases[1]), ()),
            )
        )
    for (before, since), rows in left.items():
        pairs.append(
            ReleasePair(
                anchor=addresses.anchor(f"bytes-{before}-{since}"),
                title=f"{implementation_name('apache-kafka')} {before} to {since}",
                rows=(),
                changes=rows,
            )
        )
    return pairs


def _changes_by_releases(
    rows: Iterable[ReleaseChange],
) -> dict[tuple[str, str], tuple[ByteChange, ...]]:
    """Fold the table's rows, one per clause, into one per group of inputs."""
    clauses: dict[ReleaseChange, list[str]] = {}
    for row in rows:
        clauses.setdefault(replace(row, clause=""), []).append(row.clause)
    changes: dict[tuple[str, str], tuple[ByteChange, ...]] = {}
    for group, named in clauses.items():
        change = ByteChange(
            clauses=tuple(sorted(filter(None, named))),
            listener=group.listener,
            before=group.before,
            after=group.after,
            predicted=group.predicted,
            inputs=group.inputs,
            shortest=group.shortest,
        )
        releases = tuple(
            text.removeprefix("apache-kafka-") for text in (group.from_release, group.to_release)
        )
        pair = (releases[0], releases[1])
        changes[pair] = (*changes.get(pair, ()), change)
    return changes


def _step_rows(steps: list[ReleaseStep]) -> list[StepRow]:
    grouped: dict[tuple[str, Verdict, Verdict], list[ReleaseStep]] = {}
    for step in steps:
        grouped.setdefault((step.clause, step.from_verdict, step.to_verdict), []).append(step)
    return [
        StepRow(
            clause=clause,
            listeners=tuple(sorted((step.listener for step in rows), key=listener_order)),
            before=before,
            after=after,
            href=addresses.clause_cell(clause, rows[0].to_target),
        )
        for (clause, before, after), rows in sorted(grouped.items())
    ]
