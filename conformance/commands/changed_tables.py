"""What a build's version tables list other than those of the target before it, for `changes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from fixtures.artefacts.message_schemas import catalogue_of
from fixtures.registry.targets import Target
from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import request_changes, table_of
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
    for change in request_changes(table_of(old, {}), table_of(new, {})):
        yield ChangedEntry(
            api_key=change.api_key,
            api=catalogue_of(target).name_of(change.api_key),
            was=old.get(change.api_key),
            became=new.get(change.api_key),
            change=change.words,
        )
