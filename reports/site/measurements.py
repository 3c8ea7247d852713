"""The pages of measurements: the mutation score, and how fast targets respond and runs progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.grid.grid_view import listener_order
from reports.grid.history_tables import Latency, MutationScore, Speed
from reports.site.rendering import MOST_RUNS, Site

_QUANTILES = (0.5, 0.95, 0.99)
_BUCKETS_PER_DOUBLING = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """How fast one listener of a target first responds: quantiles in milliseconds."""

    target: str
    name: str
    listener: str
    examples: int
    quantiles_ms: tuple[float, ...]


def write_mutation(site: Site) -> None:
    """Write mutation.html: every clause and the planted defects that break it."""
    rows = site.history.mutation
    grouped: dict[str, list[MutationScore]] = {}
    for row in rows or ():
        grouped.setdefault(row.clause, []).append(row)
    in_order = [
        (clause, grouped[clause.clause])
        for clause in site.folded.grid.clauses
        if clause.clause in grouped
    ]
    site.render(
        "mutation.html",
        "mutation",
        recorded=rows is not None,
        groups=in_order,
        defects=len({row.defect for row in rows or ()}),
        certain=len({row.defect for row in rows or () if row.certain}),
        without=[clause for clause in site.folded.grid.clauses if clause.clause not in grouped],
    )


def write_speed(site: Site) -> None:
    """Write speed.html."""
    names = {column.target: column.name for column in site.folded.columns}
    speed = sorted(site.history.speed or (), key=lambda row: row.started_at, reverse=True)
    latest: dict[str, Speed] = {}
    for row in speed:
        latest.setdefault(row.target, row)
    shown = [
        (column, latest[column.target]) for column in site.folded.columns if column.target in latest
    ]
    site.render(
        "speed.html",
        "speed",
        latest=None if site.history.speed is None else shown,
        fastest=max((row.examples_per_s for _, row in shown), default=1.0) or 1.0,
        older=speed[:MOST_RUNS] if len(speed) > len(shown) else [],
        kept=len(speed),
        names=names,
        latency=None if site.history.latency is None else latency_rows(site.history.latency, names),
    )


def latency_rows(rows: Iterable[Latency], names: Mapping[str, str]) -> list[LatencyRow]:
    """Compute quantiles from the buckets, with targets in the order of the grid."""
    grouped: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows:
        buckets = grouped.setdefault((row.target, row.listener), {})
        buckets[row.bucket] = buckets.get(row.bucket, 0) + row.examples
    return [
        LatencyRow(
            target=target,
            name=names[target],
            listener=listener,
            examples=sum(buckets.values()),
            quantiles_ms=tuple(quantile_ms(buckets, share) for share in _QUANTILES),
        )
        for target in names
        for (of, listener), buckets in sorted(
            grouped.items(), key=lambda entry: listener_order(entry[0][1])
        )
        if of == target
    ]


def quantile_ms(buckets: Mapping[int, int], share: float) -> float:
    """Return the upper end, in milliseconds, of the bucket in which a share of the examples is reached."""
    wanted = share * sum(buckets.values())
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= wanted:
            break
    return float(2 ** ((bucket + 1) / _BUCKETS_PER_DOUBLING) / 1000)
