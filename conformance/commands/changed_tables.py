"""What a build's version tables list other than those of the target before it, for `changes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from conformance.api_versions.comparison import Difference
from conformance.api_versions.known_apis import Range
from fixtures.artefacts.message_schemas import catalogue_of
from fixtures.registry.targets import Target
from reports.grid.change_log import ChangedEntry, ChangedTable

Table = Mapping[int, Range]
"""API key to the versions that a target lists."""


def changed_tables(tables: Mapping[str, Sequence[tuple[Target, Table]]]) -> Iterator[ChangedTable]:
    """Yield each table of a build, with its entries that are other ones than those of the target before it.

    The tables of releases differ nearly everywhere, and are published; only those of builds are compared here.

    Args:
        tables: by listener, the targets with their tables, oldest first.
    """
    for listener, of_listener in tables.items():
        for (before, old), (after, new) in pairwise(of_listener):
            if after.like is not None:
                entries = tuple(_changed_entries(after, old, new))
                yield ChangedTable(
                    listener=listener, before=before.id, since=after.id, entries=entries
                )


def _changed_entries(target: Target, old: Table, new: Table) -> Iterator[ChangedEntry]:
    for key in sorted(old.keys() | new.keys()):
        was, became = old.get(key), new.get(key)
        if was != became:
            yield ChangedEntry(
                api_key=key,
                api=catalogue_of(target).name_of(key),
                was=was,
                became=became,
                change=Difference(api_key=key, first=was, second=became).change,
            )
