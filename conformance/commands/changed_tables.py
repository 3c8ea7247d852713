"""What a build's version tables list other than those of the target before it, for `changes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from conformance.api_versions.comparison import Difference
from conformance.api_versions.known_apis import Range
from fixtures.artefacts.message_schemas import catalogue_of
from fixtures.registry.targets import Target

Table = Mapping[int, Range]
"""API key to the versions that a target lists."""


def table_lines(tables: Sequence[tuple[Target, Table]], listener: str) -> Iterator[str]:
    """Yield what builds list otherwise than the target before them, one line for each API.

    The tables of releases differ nearly everywhere, and are published; only those of builds are compared here.

    Args:
        tables: the targets with their tables, oldest first.
        listener: the listener's name.
    """
    for (before, old), (after, new) in pairwise(tables):
        if after.like is None:
            continue
        place = f"{after.id} on {listener}, compared with {before.id}"
        changed = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
        yield f"{place}: {len(changed) or 'no'} {'entry' if len(changed) == 1 else 'entries'} of the table changed"
        for key in changed:
            was, became = old.get(key), new.get(key)
            change = Difference(api_key=key, first=was, second=became).change
            name = catalogue_of(after).name_of(key)
            yield f"- {name} ({key}): {_listed(was)} → {_listed(became)}, {change}"


def _listed(versions: Range | None) -> str:
    return "not listed" if versions is None else f"v{versions.in_words(between=' to v')}"
