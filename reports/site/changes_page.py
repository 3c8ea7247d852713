"""The page of changes: verdicts that changed by night, and trends of targets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from reports.grid import addresses
from reports.records import VIOLATED_VERDICTS, TransitionKind, Verdict
from reports.site.rendering import Site
from reports.tables.history_rows import Transition

_KINDS = (
    (TransitionKind.REGRESSED, "Regressed"),
    (TransitionKind.NEWLY_FLAKY, "Newly flaky"),
    (TransitionKind.FIXED, "Fixed"),
    (TransitionKind.CHANGED, "Otherwise changed"),
)
_MAX_NIGHTS = 60
_MAX_ROWS = 400
_WIDTH_PX, _HEIGHT_PX, _MARGIN_PX = 120, 20, 2


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
