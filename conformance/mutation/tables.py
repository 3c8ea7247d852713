"""Formats the mutation score for readers: as a table of clauses and defects in the terminal, and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from conformance.mutation.score import Score

COLUMNS = ("clause", "defect", "seeds", "budget", "median", "95 %", "pinned", "result")


def rows(score: Score) -> Iterator[tuple[str, ...]]:
    """Yield a row for each clause and defect that breaks it, in catalogue order."""
    inexact = {blame.defect: blame for blame in score.blames if not blame.is_exact}
    place = {clause.id: number for number, clause in enumerate(score.clauses)}
    for kill in sorted(score.kills, key=lambda kill: (place.get(kill.clause, -1), kill.defect)):
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
    return f"> {cap}" if math.isinf(examples) else f"{examples:g}"


def terminal_table(score: Score) -> Table:
    """Return the table for a terminal."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in COLUMNS:
        table.add_column(column, no_wrap=True)
    for row in rows(score):
        table.add_row(*row)
    return table


def summary(score: Score) -> str:
    """Return one sentence that says how many defects were caught by exactly their clauses."""
    return (
        f"mutation score: {score.exact_defects} of {len(score.defects)} planted defects "
        f"caught by exactly their clauses, with up to {score.seeds} seeds each"
    )


def markdown(score: Score, equivalents: Mapping[str, str]) -> str:
    """Return the score as a Markdown document.

    Args:
        score: the score.
        equivalents: changes that no clause can detect, each with the reason.
    """
    lines = ["# Mutation score", "", f"{summary(score).capitalize()}.", ""]
    lines += [
        "Examples to a kill are counted by generation alone, without the pinned examples. The budget is what a real "
        "run draws on a target's first listener; on further listeners it is a tenth.",
        "",
    ]
    lines += _markdown_table(COLUMNS, list(rows(score)))
    lines += ["", "## Findings", ""]
    lines += [f"- {finding}" for finding in score.findings] or ["None."]
    lines += ["", "## Equivalent changes, not planted", ""]
    lines += [f"- **{change}**: {reason}" for change, reason in equivalents.items()]
    return "\n".join(lines) + "\n"


def _markdown_table(columns: Sequence[str], table: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return lines + [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table
    ]
