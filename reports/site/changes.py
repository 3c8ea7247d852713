"""The pages of changes: verdicts by night, and differences of adjacent releases.

What changes from one release of Apache Kafka to another is on the pages about upgrades; here are the bytes, and the
releases of other products.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from typing import NamedTuple

from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid import addresses
from reports.grid.change_log import by_group
from reports.grid.grid_view import listener_order
from reports.records import VIOLATED_VERDICTS, TransitionKind, Verdict
from reports.site.rendering import Site
from reports.tables.given_rows import ReleaseChange
from reports.tables.history_rows import ReleaseStep, Transition
from reports.tables.target_names import implementation_name

_KINDS = (
    (TransitionKind.REGRESSED, "Regressed"),
    (TransitionKind.NEWLY_FLAKY, "Newly flaky"),
    (TransitionKind.FIXED, "Fixed"),
    (TransitionKind.CHANGED, "Otherwise changed"),
)
_MAX_NIGHTS = 60
_MAX_ROWS = 400
_WIDTH_PX, _HEIGHT_PX, _MARGIN_PX = 120, 20, 2


CLUSTER = "kafka-cluster"
"""The implementation of clusters of several brokers, which may be of different releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """The changes of one day, by kind; `appeared` counts the cells that were judged for the first time."""

    day: date
    kinds: tuple[tuple[str, tuple[Transition, ...]], ...]
    appeared: int

    @property
    def anchor(self) -> str:
        """Its id on the page."""
        return f"night-{self.day}"

    @property
    def changes(self) -> int:
        """How many verdicts changed."""
        return sum(len(rows) for _, rows in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How many MUST rules a target broke at the end of each day with a change, oldest first."""

    target: str
    points: tuple[tuple[date, int], ...]

    @property
    def text(self) -> str:
        """The first and the last point in words."""
        (first, was), (last, is_now) = self.points[0], self.points[-1]
        return f"{was} on {first}, {is_now} on {last}"

    @property
    def line(self) -> str:
        """The points of a line of 120 x 20 px: from the oldest day to the newest, and 0 rules at the bottom."""
        most = max(count for _, count in self.points) or 1
        first, last = self.points[0][0], self.points[-1][0]
        days = max((last - first).days, 1)
        width, height = _WIDTH_PX - 2 * _MARGIN_PX, _HEIGHT_PX - 2 * _MARGIN_PX
        return " ".join(
            f"{_MARGIN_PX + width * (day - first).days / days:.1f},{_MARGIN_PX + height * (1 - count / most):.1f}"
            for day, count in self.points
        )


def nights_of(transitions: Iterable[Transition]) -> list[Night]:
    """Return the days on which a verdict appeared or changed, the newest first."""
    in_time = sorted(transitions, key=lambda row: row.at, reverse=True)
    nights = []
    for day, group in groupby(in_time, key=lambda row: row.at.date()):
        rows = sorted(group, key=lambda row: (row.clause, row.target, row.listener))
        kinds = [(title, tuple(row for row in rows if row.kind == kind.value)) for kind, title in _KINDS]
        nights.append(
            Night(
                day=day,
                kinds=tuple((title, of_kind) for title, of_kind in kinds if of_kind),
                appeared=sum(row.kind == TransitionKind.APPEARED.value for row in rows),
            )
        )
    return nights


def trends_of(transitions: Iterable[Transition], must: Collection[str], targets: Sequence[str]) -> list[Trend]:
    """Return the trend of each target whose number of broken MUST rules has ever changed.

    Args:
        transitions: the changes of all cells, with those that appeared.
        must: the ids of the rules that count.
        targets: the ids of the targets, in the order of the result.
    """
    rows = sorted((row for row in transitions if row.clause in must), key=lambda row: row.at)
    last = rows[-1].at.date() if rows else None
    trends = []
    for target in targets:
        points = _points([row for row in rows if row.target == target])
        if last and points and points[-1][0] < last:
            points.append((last, points[-1][1]))
        if len({count for _, count in points}) > 1:
            trends.append(Trend(target=target, points=tuple(points)))
    return trends


def _points(rows: Sequence[Transition]) -> list[tuple[date, int]]:
    verdicts: dict[tuple[str, str], Verdict] = {}
    points = []
    for day, group in groupby(rows, key=lambda row: row.at.date()):
        for row in group:
            verdicts[row.clause, row.listener] = row.to_verdict
        broken = {clause for (clause, _), verdict in verdicts.items() if verdict in VIOLATED_VERDICTS}
        points.append((day, len(broken)))
    return points


def verdicts_at_end_of(day: date, transitions: Iterable[Transition]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the verdicts at the end of a UTC day, by target, listener and rule.

    Transitions come oldest first.
    """
    verdicts: dict[str, dict[str, dict[str, str]]] = {}
    for row in transitions:
        if row.at.date() <= day:
            of_listener = verdicts.setdefault(row.target, {}).setdefault(row.listener, {})
            of_listener[row.clause] = row.to_verdict.value
    return verdicts


def _write_verdicts(site: Site, nights: Sequence[Night], transitions: Sequence[Transition]) -> None:
    in_time = sorted(transitions, key=lambda row: row.at)
    for night in nights:
        path = site.out_dir / addresses.night_file(night.day)
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"day": f"{night.day}", "verdicts": verdicts_at_end_of(night.day, in_time)}
        path.write_text(json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n", "ascii")


def write_changes(site: Site) -> None:
    """Write changes.html and the verdicts of each night that it lists, if a verdict has ever changed."""
    if not site.has_changes:
        return
    transitions = site.history.transitions or ()
    columns = {column.target: column for column in site.folded.columns}
    nights = nights_of(row for row in transitions if row.target in columns)
    shown: list[Night] = []
    rows = 0
    for night in nights[:_MAX_NIGHTS]:
        rows += night.changes
        if shown and rows > _MAX_ROWS:
            break
        shown.append(night)
    _write_verdicts(site, shown, transitions)
    site.render(
        addresses.CHANGES,
        "changes",
        nights=shown,
        left_out=len(nights) - len(shown),
        trends=trends_of(transitions, site.folded.grid.must_clauses, list(columns)),
        names={target: column.name for target, column in columns.items()},
        titles={clause.clause: clause.title for clause in site.folded.grid.clauses},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A clause with different verdicts on two adjacent releases; listeners with the same change are grouped."""

    clause: str
    listeners: tuple[str, ...]
    before: Verdict
    after: Verdict
    href: str


class ByteChange(NamedTuple):
    """A group of inputs that two adjacent releases treat differently, and all clauses concerned."""

    group: ReleaseChange
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePair:
    """Two adjacent releases and everything that differs between them.

    `upgrade` is the address of the page about this upgrade, empty if there is none.
    """

    anchor: str
    title: str
    rows: tuple[StepRow, ...]
    changes: tuple[ByteChange, ...]
    upgrade: str = ""


def write_releases(site: Site) -> None:
    """Write releases.html."""
    changes = _changes_by_releases(site.history.release_changes or ())
    groups = [change for rows in changes.values() for change in rows]
    tables = (site.history.release_steps, site.history.release_changes)
    site.render(
        "releases.html",
        "releases",
        pairs=None if tables == (None, None) else [*_steps_of_other_products(site), *_pairs_with_bytes(site, changes)],
        changes_recorded=bool(groups),
        unpredicted=sum(not change.group.predicted for change in groups),
        changes=len(groups),
        left_out=by_group(site.history.inputs_left_out or ()),
        clauses=set(site.folded.cells),
    )


def _steps_of_other_products(site: Site) -> Iterator[ReleasePair]:
    """Yield the adjacent releases of products other than Apache Kafka, in column order.

    A cluster has no releases.
    """
    columns = {
        column.target: column for column in site.folded.columns if column.implementation not in (APACHE_KAFKA, CLUSTER)
    }
    indexes = {target: index for index, target in enumerate(columns)}
    steps: dict[tuple[str, str], list[ReleaseStep]] = {}
    for step in site.history.release_steps or ():
        if step.from_target in columns and step.to_target in columns:
            steps.setdefault((step.from_target, step.to_target), []).append(step)
    for older, newer in sorted(steps, key=lambda pair: indexes[pair[1]]):
        yield ReleasePair(
            anchor=addresses.anchor(f"{older}-{newer}"),
            title=f"{columns[older].name} to {columns[newer].name}",
            rows=tuple(_step_rows(steps[older, newer])),
            changes=(),
        )


def _pairs_with_bytes(site: Site, changes: Mapping[tuple[str, str], tuple[ByteChange, ...]]) -> Iterator[ReleasePair]:
    targets = {column.target for column in site.folded.columns}
    for (before, since), rows in changes.items():
        is_shown = {f"{APACHE_KAFKA}-{before}", f"{APACHE_KAFKA}-{since}"} <= targets
        yield ReleasePair(
            anchor=addresses.anchor(f"bytes-{before}-{since}"),
            title=f"{implementation_name(APACHE_KAFKA)} {before} to {since}",
            rows=(),
            changes=rows,
            upgrade=addresses.upgrade_page(before, since) if is_shown else "",
        )


def _changes_by_releases(
    rows: Iterable[ReleaseChange],
) -> dict[tuple[str, str], tuple[ByteChange, ...]]:
    """Fold the table's rows, one per clause, into one per group of inputs."""
    clauses: dict[ReleaseChange, list[str]] = {}
    for row in rows:
        clauses.setdefault(replace(row, clause=""), []).append(row.clause)
    changes: dict[tuple[str, str], tuple[ByteChange, ...]] = {}
    for group, named in clauses.items():
        change = ByteChange(group, tuple(sorted(filter(None, named))))
        releases = tuple(text.removeprefix(f"{APACHE_KAFKA}-") for text in (group.from_release, group.to_release))
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
