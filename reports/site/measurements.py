"""How fast targets respond, and how fast runs progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.grid.grid_view import TargetColumn, listener_order
from reports.grid.history_tables import Latency, Speed
from reports.run.judged_examples import LATENCY_BUCKETS_PER_OCTAVE
from reports.site.rendering import Site

_QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """How fast one listener of a target first responds: quantiles in milliseconds."""

    target: str
    name: str
    listener: str
    examples: int
    quantiles_ms: tuple[float, ...]


def speed_rows(site: Site) -> list[tuple[TargetColumn, Speed]]:
    """Return the latest run of each target with its speed, in the order of the grid."""
    latest: dict[str, Speed] = {}
    for row in sorted(site.history.speed or (), key=lambda row: row.started_at, reverse=True):
        latest.setdefault(row.target, row)
    return [
        (column, latest[column.target]) for column in site.folded.columns if column.target in latest
    ]


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
    return float(2 ** ((bucket + 1) / LATENCY_BUCKETS_PER_OCTAVE) / 1000)
