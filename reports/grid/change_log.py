"""The change log of releases and builds: a report, and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from reports.document.blocks import (
    Block,
    BulletList,
    Code,
    Document,
    ListItem,
    Section,
    Sentence,
    Strong,
)
from reports.document.markdown_form import markdown
from reports.tables.given_rows import InputsLeftOut
from reports.wording.verdict_labels import counted, some_of

MAX_HEX = 96
"""Maximum number of hexadecimal digits of an input in texts for people; changes.json has all."""
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


def left_out_blocks(left_out: Sequence[LeftOut]) -> Iterator[Block]:
    """Yield what was not compared, with one entry for all releases with equal inputs and reason."""
    if not left_out:
        yield Sentence("Every input was compared on every release.")
        return
    names = {name for each in left_out for name in each.inputs}
    yield Sentence(f"Not compared everywhere: {counted(len(names), 'input')}.")
    yield BulletList(
        tuple(
            ListItem(
                f"{counted(len(group.inputs), 'input')}, because {group.reason} ({some_of(group.inputs, MAX_NAMES)})",
                f"on {group.listener}, {_span(of_group)}",
            )
            for group, of_group in by_group(left_out).items()
        )
    )


def table_blocks(table: ChangedTable) -> Iterator[Block]:
    """Yield what a build lists otherwise than the target before it, with one entry for each API."""
    count = len(table.entries)
    yield Sentence(
        f"{table.since} on {table.listener}, compared with {table.before}: "
        f"{count or 'no'} {'entry' if count == 1 else 'entries'} of the table changed"
    )
    if table.entries:
        entries = (
            ListItem(f"{_listed(each.was)} → {_listed(each.became)}, {each.change}", f"{each.api} ({each.api_key})")
            for each in table.entries
        )
        yield BulletList(tuple(entries))


def _listed(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return "not listed"
    return " to ".join(f"v{each}" for each in dict.fromkeys(versions))


def _span(releases: Sequence[str]) -> str:
    if len(releases) == 1:
        return releases[0]
    return f"{len(releases)} releases from {releases[0]} to {releases[-1]}"


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
    text = markdown(change_report(releases, changes, left_out, tables))
    (out / "changes.md").write_text(text, encoding="utf-8")


def change_report(
    releases: Sequence[str],
    changes: Sequence[Change],
    left_out: Sequence[LeftOut],
    tables: Sequence[ChangedTable] = (),
) -> Document:
    """Return the changes as a report: how many there are, what was left out, and then release by release."""
    news = sum(not change.predicted for change in changes)
    by_release: dict[str, list[Change]] = {}
    for change in changes:
        by_release.setdefault(change.since, []).append(change)
    of_builds = tuple(block for each in tables for block in table_blocks(each))
    return Document(
        title="What changed between releases",
        blocks=(
            Sentence(
                f"{len(releases)} releases, {len(changes)} groups of changes; the profiles do not predict {news} of them."
            ),
            *left_out_blocks(left_out),
            *([Section(title="Version tables of builds", blocks=of_builds)] if tables else []),
            *(
                Section(
                    title=f"Since {since} (before: {of_release[0].before})",
                    blocks=(BulletList(tuple(map(_item, of_release))),),
                )
                for since, of_release in by_release.items()
            ),
        ),
    )


def _item(change: Change) -> ListItem:
    words = "predicted" if change.predicted else Strong("not predicted")
    size = f"{len(change.shortest) // 2:,} bytes"
    more = f" ... ({size}; --out writes all of them to changes.json)" if len(change.shortest) > MAX_HEX else ""
    return ListItem(
        (
            f"{change.was} → {change.became} ({counted(change.inputs, 'input')}, {change.listener}; ",
            words,
            f"); clauses: {', '.join(change.clauses) or 'none'}; shortest input, ",
            Code(change.example),
            ": ",
            Code(change.shortest[:MAX_HEX]),
            more,
        )
    )
