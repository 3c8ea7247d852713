"""The page of releases: what differs between adjacent ones.

What changes from one release of Apache Kafka to another is on the pages about upgrades; here are the bytes, and the
releases of other products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from reference_model.profiles.profile import APACHE_KAFKA, KAFKA_CLUSTER
from reports.grid import addresses
from reports.grid.change_log import by_group
from reports.grid.grid_view import listener_order
from reports.records import Verdict
from reports.site.rendering import Site
from reports.tables.given_rows import ReleaseChange
from reports.tables.history_rows import ReleaseStep
from reports.tables.target_names import implementation_name


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
        column.target: column
        for column in site.folded.columns
        if column.implementation not in (APACHE_KAFKA, KAFKA_CLUSTER)
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
