"""The change log of releases and builds: JSON, Markdown or a terminal table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.table import Table

from reports.tables.given_rows import InputsLeftOut
from reports.wording.verdict_labels import counted, some_of

MAX_HEX = 96
MAX_NAMES = 5
"""Maximum number of inputs of a group that texts for people name; changes.json has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Inputs whose treatment changes in the same way between two adjacent releases.

    Attributes:
        listener: the listener that they were sent to; for inputs sent before authentication is
            complete, also the point in the connection, such as "before authentication".
        before: the older release.
        since: the newer release, which behaves differently.
        was: what the older release did with the inputs.
        became: what the newer release does with them.
        clauses: the clauses that the model's predictions rest on.
        predicted: whether the profiles of both releases predict what was seen.
        inputs: how many inputs changed this way.
        example: the name of the shortest of these inputs as sent; inputs are not shrunk.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Inputs that were not compared on one release, and so not with the releases next to it.

    Attributes:
        listener: as in `Change`.
        reason: why they were not compared.
    """

    listener: str
    release: str
    reason: str
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedEntry:
    """An entry of a version table that changed.

    Attributes:
        api: its name, as far as the build knows it.
        was: the lowest and the highest version before; None if it was not listed.
        became: the same of the build.
        change: the difference in words.
    """

    api_key: int
    api: str
    was: tuple[int, int] | None
    became: tuple[int, int] | None
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """What a build's version table lists other than that of the target before it.

    Attributes:
        before: the target before it.
        entries: the entries that changed, by key ascending.
    """

    listener: str
    before: str
    since: str
    entries: tuple[ChangedEntry, ...]


OnRelease = TypeVar("OnRelease", LeftOut, InputsLeftOut)
"""Inputs not compared on one release: as the comparison found them, or as a row of a table."""


def by_group(left_out: Iterable[OnRelease]) -> dict[OnRelease, list[str]]:
    """Group entries that differ only in `release`; map each group (its `release` empty) to its releases."""
    releases: dict[OnRelease, list[str]] = {}
    for each in left_out:
        releases.setdefault(dataclasses.replace(each, release=""), []).append(each.release)
    return releases


def left_out_lines(left_out: Sequence[LeftOut]) -> list[str]:
    """Return lines that list what was not compared, one for all releases with equal inputs and reason."""
    if not left_out:
        return ["Every input was compared on every release."]
    names = {name for each in left_out for name in each.inputs}
    return [
        f"Not compared everywhere: {counted(len(names), 'input')}.",
        *(
            f"- on {group.listener}, {_span(of_group)}: {counted(len(group.inputs), 'input')}, because {group.reason}"
            f" ({some_of(group.inputs, MAX_NAMES)})"
            for group, of_group in by_group(left_out).items()
        ),
    ]


def table_lines(tables: Iterable[ChangedTable]) -> Iterator[str]:
    """Yield what builds list otherwise than the target before them, one line for each table and each API."""
    for table in tables:
        count = len(table.entries)
        yield (
            f"{table.since} on {table.listener}, compared with {table.before}: "
            f"{count or 'no'} {'entry' if count == 1 else 'entries'} of the table changed"
        )
        for each in table.entries:
            versions = f"{_listed(each.was)} → {_listed(each.became)}"
            yield f"- {each.api} ({each.api_key}): {versions}, {each.change}"


def _listed(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return "not listed"
    return " to ".join(f"v{each}" for each in dict.fromkeys(versions))


def _span(releases: Sequence[str]) -> str:
    if len(releases) == 1:
        return releases[0]
    return f"{len(releases)} releases from {releases[0]} to {releases[-1]}"


def change_table(changes: Sequence[Change]) -> Table:
    """Return the changes as a table."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("since", "listener", "was", "became", "inputs", "predicted", "shortest sent"):
        table.add_column(column, justify="right" if column == "inputs" else "left")
    for change in changes:
        table.add_row(*_cells(change))
    return table


def _cells(change: Change) -> tuple[str, ...]:
    more = "..." if len(change.shortest) > MAX_HEX else ""
    return (
        change.since,
        change.listener,
        change.was,
        change.became,
        str(change.inputs),
        "yes" if change.predicted else "NEWS",
        f"{change.example}: {change.shortest[:MAX_HEX]}{more}",
    )


def write_change_log(
    out: Path,
    releases: Sequence[str],
    changes: Sequence[Change],
    left_out: Sequence[LeftOut],
    tables: Sequence[ChangedTable] = (),
) -> None:
    """Write `changes.json` and `changes.md` into a folder; they have the tables only if builds were compared."""
    out.mkdir(parents=True, exist_ok=True)
    content = {
        "releases": list(releases),
        "changes": [dataclasses.asdict(each) for each in changes],
        "left_out": [dataclasses.asdict(each) for each in left_out],
        **({"tables": [dataclasses.asdict(each) for each in tables]} if tables else {}),
    }
    (out / "changes.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    text = change_markdown(releases, changes, left_out, tables)
    (out / "changes.md").write_text(text, encoding="utf-8")


def change_markdown(
    releases: Sequence[str],
    changes: Sequence[Change],
    left_out: Sequence[LeftOut],
    tables: Sequence[ChangedTable] = (),
) -> str:
    """Return the changes as Markdown, release by release."""
    news = sum(not change.predicted for change in changes)
    lines = [
        "# What changed between releases",
        "",
        f"{len(releases)} releases, {len(changes)} groups of changes; the profiles do not predict {news} of them.",
        "",
        *left_out_lines(left_out),
    ]
    if tables:
        lines += ["", "## Version tables of builds"]
        lines += [text for each in tables for text in ("", *_table_markdown(each))]
    for since in dict.fromkeys(change.since for change in changes):
        of_release = [change for change in changes if change.since == since]
        lines += ["", f"## Since {since} (before: {of_release[0].before})"]
        for change in of_release:
            lines += ["", *_markdown_of(change)]
    return "\n".join(lines) + "\n"


def _table_markdown(table: ChangedTable) -> list[str]:
    # Without an empty line before it, some readers take a list for a part of the paragraph.
    heading, *entries = table_lines([table])
    return [heading, "", *entries] if entries else [heading]


def _markdown_of(change: Change) -> list[str]:
    return [
        f"- {change.was} → {change.became} ({counted(change.inputs, 'input')}, {change.listener}; "
        f"{'predicted' if change.predicted else '**not predicted**'})",
        f"  - clauses: {', '.join(change.clauses) or 'none'}",
        f"  - shortest input, `{change.example}`: `{change.shortest}`",
    ]
