"""Which versions of Kafka's own clients each release serves: computed from the recorded tables, and compared with what was tried.

A client of some version can produce, and consume in a group, if the broker serves a version of each request for that which the client
knows. Clients and brokers of one release know the same versions. Source: KIP-97, and KIP-896 for what 4.0 removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reference_model.profile import (
    APACHE_KAFKA,
    KRAFT,
    RECORDED_RELEASES,
    ZOOKEEPER,
    profile_of,
    release_order,
)
from reports.grid.grid_view import FoldedGrid
from reports.records import OPERATION, SOUND_VERDICTS

NEEDED_KEYS = (0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14)
"""Produce, Fetch, ListOffsets, Metadata, and what a member of a group sends."""
FIRST_WITHOUT_OLD_PRODUCE, OLDEST_PRODUCE = "4.0", 3
"""Since 4.0 Produce v0 to v2 are listed but not served (KAFKA-18659)."""
PRODUCE_KEY = 0
LIBRARY = "kafka-clients-"
TRIED = "consume-in-group"
"""The operation that needs all of these requests: it writes a record, and reads it in a group."""

Ranges = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedClients:
    """The clients that one release serves.

    Attributes:
        release: the release.
        oldest: the oldest version of Kafka's client that can use it.
        newest: the newest one.
        tried: what was tried, as the client's version and the text of the cell; those that contradict the computed versions end with "!".
    """

    release: str
    oldest: str
    newest: str
    tried: tuple[str, ...] = ()


def served_ranges(release: str) -> Ranges:
    """Return the versions that a release serves, and that its own client knows, of the APIs that matter here."""
    quorum = KRAFT if profile_of(release).api_keys else ZOOKEEPER
    ranges = {
        each.api_key: (each.min_version, each.max_version)
        for each in profile_of(release, quorum=quorum).api_keys
        if each.api_key in NEEDED_KEYS
    }
    if release_order(release) >= release_order(FIRST_WITHOUT_OLD_PRODUCE):
        low, high = ranges[PRODUCE_KEY]
        ranges[PRODUCE_KEY] = (max(low, OLDEST_PRODUCE), high)
    return ranges


def serves(release: str, client: str) -> bool:
    """Return whether a release serves a version of Kafka's client."""
    broker, own = served_ranges(release), served_ranges(client)
    return all(
        key in broker and max(own[key][0], broker[key][0]) <= min(own[key][1], broker[key][1])
        for key in own
    )


def served_clients(grid: FoldedGrid | None = None) -> Iterator[ServedClients]:
    """Yield the clients that each release serves, newest release first.

    Args:
        grid: a grid that may have operations, which confirm the computed versions; None for none.
    """
    tried = {} if grid is None else _tried(grid)
    for release in reversed(RECORDED_RELEASES):
        clients = [client for client in RECORDED_RELEASES if serves(release, client)]
        yield ServedClients(
            release=release,
            oldest=clients[0],
            newest=clients[-1],
            tried=tuple(
                f"{client} {text}{'' if works == serves(release, client) else ' !'}"
                for client, (works, text) in sorted(tried.get(release, {}).items())
            ),
        )


def _tried(grid: FoldedGrid) -> Mapping[str, Mapping[str, tuple[bool, str]]]:
    """Return, by release and version of Kafka's client, whether it could write and read a record in a group, and the cell's text."""
    operations = grid.by_role.get(OPERATION)
    found: dict[str, dict[str, tuple[bool, str]]] = {}
    for row, cells in () if operations is None else operations.cells.items():
        client, _, operation = row.rpartition(".")
        version = client.removeprefix(LIBRARY)
        if operation != TRIED or version == client:
            continue
        assert operations is not None
        for column, cell in zip(operations.columns, cells, strict=True):
            if column.implementation == APACHE_KAFKA and cell.worst.row is not None:
                works = cell.verdict in SOUND_VERDICTS
                by_client = found.setdefault(column.listeners[0].release, {})
                by_client[version] = (works, cell.worst.text)
    return found
