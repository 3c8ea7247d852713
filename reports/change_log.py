"""The change log of releases: as JSON, as Markdown, and as a table for the terminal."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

LONGEST_HEX = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Inputs that two adjacent releases treat differently, all in the same way.

    Attributes:
        listener: the listener that they were sent to.
        before: the older release.
        since: the newer one, since which it is so.
        was: what became of the inputs before.
        became: what becomes of them since.
        clauses: the clauses that the model's predictions rest on.
        predicted: whether the profiles of both releases predict what was seen.
        inputs: how many inputs changed so.
        example: the name of the shortest one.
        shortest: its bytes, in hexadecimal.
    """

    listener: str
    before: str
    since: str
    was: str
    became: str
    clauses: tuple[str, ...]
    predicted: bool
    inputs: int
    example: str
    shortest: str


def change_table(changes: Sequence[Change]) -> Table:
    """Return the changes as a table."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("since", "listener", "was", "became", "inputs", "predicted", "shortest"):
        table.add_column(column, justify="right" if column == "inputs" else "left")
    for change in changes:
        table.add_row(*_cells(change))
    return table


def _cells(change: Change) -> tuple[str, ...]:
    more = "..." if len(change.shortest) > LONGEST_HEX else ""
    return (
        change.since,
        change.listener,
        change.was,
        change.became,
        str(change.inputs),
        "yes" if change.predicted else "NEWS",
        f"{change.example}: {change.shortest[:LONGEST_HEX]}{more}",
    )


def write_change_log(out: Path, releases: Sequence[str], changes: Sequence[Change]) -> None:
    """Write `changes.json` and `changes.md` into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    content = {
        "releases": list(releases),
        "changes": [dataclasses.asdict(each) for each in changes],
    }
    (out / "changes.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (out / "changes.md").write_text(change_markdown(releases, changes), encoding="utf-8")


def change_markdown(releases: Sequence[str], changes: Sequence[Change]) -> str:
    """Return the changes as Markdown, release by release."""
    news = sum(not change.predicted for change in changes)
    lines = [
        "# What changed between releases",
        "",
        f"{len(releases)} releases, {len(changes)} groups of changes, {news} of them not predicted by the profiles.",
    ]
    for since in dict.fromkeys(change.since for change in changes):
        of_release = [change for change in changes if change.since == since]
        lines += ["", f"## Since {since} (before: {of_release[0].before})"]
        for change in of_release:
            lines += ["", *_markdown_of(change)]
    return "\n".join(lines) + "\n"


def _markdown_of(change: Change) -> list[str]:
    inputs = "1 input" if change.inputs == 1 else f"{change.inputs} inputs"
    return [
        f"- {change.was} → {change.became} ({inputs}, {change.listener}; "
        f"{'predicted' if change.predicted else '**not predicted**'})",
        f"  - clauses: {', '.join(change.clauses) or 'none'}",
        f"  - shortest, `{change.example}`: `{change.shortest}`",
    ]
