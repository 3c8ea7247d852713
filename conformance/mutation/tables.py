"""Formats the mutation score for readers: tables of kills and of tails for the terminal, and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.table import Column, Table

from conformance.mutation.score import Score
from conformance.mutation.tails import Reach

COLUMNS = ("clause", "defect", "seeds", "budget", "median", "95 %", "pinned", "result")
TAIL_COLUMNS = ("dimension", "tail", "pinned", "drawn", "by")
MOST_PROPERTIES = 2
"""How many properties the terminal names for a tail; Markdown and JSON name all."""


def rows(score: Score) -> Iterator[tuple[str, ...]]:
    """Yield a row for each clause and defect that breaks it, in catalogue order."""
    inexact = {blame.defect: blame for blame in score.blames if not blame.is_exact}
    positions = {clause.id: number for number, clause in enumerate(score.clauses)}
    for kill in sorted(score.kills, key=lambda kill: (positions.get(kill.clause, -1), kill.defect)):
        result = "caught"
        if not kill.is_certain:
            result = f"SURVIVED {kill.survived} of {len(kill.examples)} seeds"
        elif kill.defect in inexact:
            blame = inexact[kill.defect]
            result = f"BLAMED {', '.join((*blame.missed, *blame.also, *blame.problems))}"
        pinned = "yes" if kill.pinned else "no"
        yield (
            kill.clause,
            kill.defect,
            str(len(kill.examples)),
            str(kill.cap),
            _number(kill.median, kill.cap),
            _number(kill.percentile_95, kill.cap),
            pinned,
            result,
        )


def _number(examples: float, cap: int) -> str:
    if math.isnan(examples):
        return "not counted"
    return f"> {cap}" if math.isinf(examples) else f"{examples:g}"


def tail_rows(score: Score, *, most: int | None = None) -> Iterator[tuple[str, ...]]:
    """Yield a row for every tail: whether it is pinned, with how many seeds it is drawn, and by which properties.

    Args:
        score: what was measured.
        most: how many properties are named, those first that reach it most often; all if it is None.
    """
    for reach in score.reaches:
        names = _properties_of(reach)
        named = names[:most]
        more = [f"{len(names) - len(named)} more"] if len(names) > len(named) else []
        pinned = "yes" if reach.pinned else "no"
        drawn = f"{reach.reached_seeds} of {reach.seeds} seeds"
        yield reach.dimension, reach.tail, pinned, drawn, ", ".join([*named, *more])


def _properties_of(reach: Reach) -> list[str]:
    """Name the properties that reach a tail, those that have it pinned first."""
    drawn = {name: len(seeds) for name, seeds in reach.drawn.items()}
    names = sorted(
        {*reach.pinned, *drawn},
        key=lambda name: (name not in reach.pinned, -drawn.get(name, 0), name),
    )
    return [
        f"{name} ({'pinned' if name in reach.pinned else f'{drawn[name]} of {reach.seeds}'})"
        for name in names
    ]


def terminal_tables(score: Score) -> Iterator[Table]:
    """Yield the tables for a terminal: kills, and tails where they were measured."""
    yield _table(COLUMNS, rows(score))
    if score.reaches:
        yield _table(TAIL_COLUMNS, tail_rows(score, most=MOST_PROPERTIES))


def _table(columns: Sequence[str], content: Iterable[tuple[str, ...]]) -> Table:
    table = Table(*(Column(name, no_wrap=True) for name in columns), box=None, pad_edge=False)
    for row in content:
        table.add_row(*row)
    return table


def summary(score: Score) -> str:
    """Return one sentence that says how many defects were caught by exactly their clauses."""
    return (
        f"mutation score: {score.exact_defects} of {len(score.defects)} planted defects "
        f"caught by exactly their clauses, with up to {score.seeds} seeds each"
    )


def markdown(score: Score, equivalents: Mapping[str, str]) -> str:
    """Return the score as a Markdown document, with the reason why no clause can detect each of the equivalents."""
    lines = ["# Mutation score", "", f"{summary(score).capitalize()}.", ""]
    lines += [
        "The counts of examples until a defect is caught include generated examples only, not pinned ones. The budget "
        "is the number that a real run draws on a target's first listener; on further listeners it is a twentieth.",
        "",
    ]
    lines += _markdown_table(COLUMNS, list(rows(score)))
    if score.reaches:
        lines += ["", "## Tails that a standard run reaches", ""]
        lines += _markdown_table(TAIL_COLUMNS, list(tail_rows(score)))
    lines += ["", "## Findings", ""]
    lines += [f"- {finding}" for finding in score.findings] or ["None."]
    lines += ["", "## Changes that no client can notice, and that are not planted", ""]
    lines += [f"- **{change}**: {reason}" for change, reason in equivalents.items()]
    return "\n".join(lines) + "\n"


def _markdown_table(columns: Sequence[str], table: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return lines + [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table
    ]
