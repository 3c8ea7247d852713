"""The page on why to believe the report.

It says what supports the verdicts, what they do not show, and how they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.grid import addresses
from reports.grid.addresses import BADGE_OF_ALL, badge_of_source
from reports.grid.grid_view import FoldedGrid, TargetColumn, listener_order
from reports.records import OPERATION, UNSETTLED_VERDICTS, WORST_FIRST, Verdict
from reports.run.judged_examples import LATENCY_BUCKETS_PER_OCTAVE
from reports.site.drill_down import by_clause
from reports.site.rendering import MAX_RUNS, Site
from reports.tables.history_rows import Latency, Speed

_QUANTILES = (0.5, 0.95, 0.99)
FEW_EXAMPLES = 10
"""A verdict that rests on fewer examples is thin evidence."""
_MEANINGS = {
    Verdict.CONFORMS: "Every response follows the rule, in as many examples as the grid says. Another example might break it.",
    Verdict.VIOLATES: "At least one response breaks the rule, and the violation is not declared as known. The number counts distinct failures.",
    Verdict.KNOWN_VIOLATION: "The rule is broken, and the registry declares this violation with a reason and a link.",
    Verdict.UNEXPECTED_PASS: "A violation is declared as known, but the rule was not broken.",
    Verdict.INFORMATIONAL: (
        "The specification is silent: the target differs from Apache Kafka, or the result cannot be ruled right or wrong. "
        "Never fails a run."
    ),
    Verdict.FLAKY: "The violation does not appear every time it is repeated.",
    Verdict.INCONCLUSIVE: "The rule could not be judged: the suite failed, the target took too long to respond, "
    "a failure recurred in no repeat, or the machine was too busy.",
    Verdict.NOT_APPLICABLE: "The rule is about something that the target does not offer.",
    Verdict.NOT_RUN: "The rule was planned, or would be planned now, but was not judged.",
}


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
    return [(column, latest[column.target]) for column in site.folded.columns if column.target in latest]


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
        for (of, listener), buckets in sorted(grouped.items(), key=lambda entry: listener_order(entry[0][1]))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GridEvidence:
    """What the verdicts of a grid rest on.

    Attributes:
        examples: how many examples its runs recorded.
        kept: how many cells conform, operations left out.
        thin: how many of them rest on fewer than `FEW_EXAMPLES` examples.
        unsettled: how many cells apply but could not be judged.
        machines: the systems that the runs were made on.
        tiers: the tiers of its runs.
        listeners: the listeners that were judged.
    """

    examples: int
    kept: int
    thin: int
    unsettled: int
    machines: tuple[str, ...]
    tiers: tuple[str, ...]
    listeners: tuple[str, ...]


def evidence_of(folded: FoldedGrid) -> GridEvidence:
    """Count what the verdicts of a grid rest on."""
    runs = [run for run in folded.grid.runs if run.in_grid]
    cells = [
        cell
        for role, of_role in folded.by_role.items()
        if role != OPERATION
        for row in of_role.cells.values()
        for cell in row
    ]
    kept = [cell for cell in cells if cell.verdict is Verdict.CONFORMS]
    return GridEvidence(
        examples=sum(run.example_rows for run in runs),
        kept=len(kept),
        thin=sum(sum(entry.row.examples for entry in cell.listeners if entry.row) < FEW_EXAMPLES for cell in kept),
        unsettled=sum(cell.verdict in UNSETTLED_VERDICTS for cell in cells),
        machines=tuple(dict.fromkeys(f"{run.system} {run.machine}" for run in runs)),
        tiers=tuple(dict.fromkeys(run.tier for run in runs)),
        listeners=tuple(dict.fromkeys(entry.listener for entry in folded.grid.targets)),
    )


def write_why(site: Site) -> None:
    """Write why.html."""
    grid = site.folded.grid
    targets_of: dict[str, list[str]] = {run.run_id: [] for run in grid.runs}
    for run_id, name in dict.fromkeys((entry.run_id, entry.target_name) for entry in grid.targets):
        targets_of.setdefault(run_id, []).append(name)
    badges = [
        ("Everything", BADGE_OF_ALL),
        *((source, badge_of_source(source)) for source, _ in site.folded.sources),
    ]
    # A year of nights is too long for a page: list the runs that the grid shows, and the newest.
    runs = [run for index, run in enumerate(grid.runs) if run.in_grid or index < MAX_RUNS]
    names = {column.target: column.name for column in site.folded.columns}
    defects = site.history.mutation or ()
    of_clause = by_clause(defects) or {}
    site.render(
        addresses.WHY,
        "why",
        evidence=evidence_of(site.folded),
        few=FEW_EXAMPLES,
        defects=len({row.defect for row in defects}),
        certain=len({row.defect for row in defects if row.certain}),
        defects_of=[(clause, of_clause[clause.clause]) for clause in grid.clauses if clause.clause in of_clause],
        meanings=[(verdict, _MEANINGS[verdict]) for verdict in WORST_FIRST],
        has_operations=OPERATION in site.folded.by_role,
        runs=runs,
        left_out=len(grid.runs) - len(runs),
        targets_of=targets_of,
        latency=latency_rows(site.history.latency or (), names),
        speed=speed_rows(site),
        badges=[badge for badge in badges if (site.out_dir / f"{badge[1]}.svg").exists()],
        files=[
            (title, address)
            for title, address in (
                ("JUnit XML", addresses.JUNIT),
                ("violations as JSON", addresses.VIOLATIONS),
                ("summary for a pull request", addresses.SUMMARY),
                ("changes as an Atom feed", addresses.FEED),
                ("schema of the JSON tables", addresses.TABLE_SCHEMA),
            )
            if (site.out_dir / address).exists()
        ],
    )
