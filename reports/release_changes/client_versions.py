"""Versions of Kafka's own clients that each release serves.

It shows what Kafka states, what the recorded tables say, and what was tried.

By the tables, a client of some version can produce, and consume in a group, if the broker serves a version of each
request for that which the client knows. Clients and brokers of one release know the same versions. Source: KIP-97, and
KIP-896 for what 4.0 removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from clauses.operations import NEWEST_VERSIONS
from reference_model.profiles.profile import APACHE_KAFKA, RECORDED_RELEASES, line_of, release_order
from reference_model.profiles.release_tables import recorded_release
from reference_model.profiles.version_tables import Ranges, served_ranges
from reports.grid.grid_view import FoldedGrid, ListenerCell
from reports.records import OPERATION, SOUND_VERDICTS, Verdict
from reports.release_changes.steps import (
    FIRST_WITHOUT_OLD_VERSIONS,
    LAST_LINE_WITH_ZOOKEEPER,
    OLDEST_CLIENT_FOR_4_0,
    has_old_versions,
)
from wire.api_keys import (
    FETCH_KEY,
    FIND_COORDINATOR_KEY,
    HEARTBEAT_KEY,
    JOIN_GROUP_KEY,
    LEAVE_GROUP_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    OFFSET_COMMIT_KEY,
    OFFSET_FETCH_KEY,
    PRODUCE_KEY,
    SYNC_GROUP_KEY,
)

NEEDED_KEYS = (
    PRODUCE_KEY,
    FETCH_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    OFFSET_COMMIT_KEY,
    OFFSET_FETCH_KEY,
    FIND_COORDINATOR_KEY,
    JOIN_GROUP_KEY,
    HEARTBEAT_KEY,
    LEAVE_GROUP_KEY,
    SYNC_GROUP_KEY,
)
"""Produce, Fetch, ListOffsets, Metadata, and what a member of a group sends."""
FIRST_FOR_OLDER_BROKERS = "0.10.2"
"""The first release whose clients speak with brokers that are older than they are (KIP-97)."""
LIBRARY = "kafka-clients-"
TRIED = "consume-in-group"
"""The operation that needs all of these requests: it writes a record, and reads it in a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedVersion:
    """What a client of one version did with a release.

    Attributes:
        text: the text of the cell: "✓ works".
        verdict: the verdict of the cell.
        contradicts: what it contradicts: "Kafka's statement", "the tables", or both; empty if nothing.
    """

    client: str
    text: str
    verdict: Verdict
    contradicts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedClients:
    """The clients that one release serves.

    Attributes:
        stated: the clients that Kafka supports with it, in words.
        partly: those that its compatibility tables call partly compatible, oldest first.
        oldest: by the tables, the oldest version of Kafka's client that can use it.
        newest: the newest one.
        beyond: by the tables, the versions that can use it although Kafka does not support that, oldest first.
        missing: the versions that Kafka supports and that by the tables cannot use it.
    """

    release: str
    stated: str
    oldest: str
    newest: str
    partly: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    tried: tuple[TriedVersion, ...] = ()


def is_supported(client: str, broker: str) -> bool:
    """Return whether Apache Kafka supports its own client of one release with a broker of another."""
    older = min(client, broker, key=release_order)
    if not (has_old_versions(client) and has_old_versions(broker)):
        return release_order(older) >= release_order(OLDEST_CLIENT_FOR_4_0)
    is_newer = line_of(client) > line_of(broker)
    return not is_newer or release_order(client) >= release_order(FIRST_FOR_OLDER_BROKERS)


def supported_clients(broker: str) -> str:
    """Return in words which of its own clients Apache Kafka supports with a release of brokers: "of 2.1 and newer"."""
    if not has_old_versions(broker):
        return f"of {OLDEST_CLIENT_FOR_4_0} and newer"
    if is_supported(FIRST_WITHOUT_OLD_VERSIONS, broker):
        return "of every release"
    return f"up to {LAST_LINE_WITH_ZOOKEEPER}"


def is_partly_supported(client: str, broker: str) -> bool:
    """Return whether the compatibility tables call a client only partly compatible.

    These are clients 2.1 to 2.8 with brokers from 4.0 on.
    """
    is_of_2 = line_of(client)[0] == line_of(OLDEST_CLIENT_FOR_4_0)[0]
    return is_of_2 and not has_old_versions(broker) and is_supported(client, broker)


@cache
def _needed_ranges(release: str) -> Ranges:
    """Return the versions that a release serves, and that its own client knows, of the APIs that matter here."""
    served = served_ranges(recorded_release(release).table())
    return {key: range_ for key, range_ in served.items() if key in NEEDED_KEYS}


def serves(release: str, client: str) -> bool:
    """Return whether a release serves a version of Kafka's client, by the recorded tables."""
    broker, own = _needed_ranges(release), _needed_ranges(client)
    return all(key in broker and own[key].common_with(broker[key]) is not None for key in own)


def served_clients(release: str, grid: FoldedGrid | None = None) -> ServedClients:
    """Return the clients that a release serves; operations in a grid confirm the computed versions."""
    tried = {} if grid is None else _tried(grid)
    return replace(_stated_and_computed(release), tried=tuple(tried.get(release, ())))


@cache
def _stated_and_computed(release: str) -> ServedClients:
    """Return the clients that a release serves by Kafka's statement and by the tables."""
    clients = [client for client in RECORDED_RELEASES if serves(release, client)]
    stated = [client for client in RECORDED_RELEASES if is_supported(client, release)]
    return ServedClients(
        release=release,
        stated=supported_clients(release),
        oldest=clients[0],
        newest=clients[-1],
        partly=tuple(client for client in stated if is_partly_supported(client, release)),
        beyond=tuple(client for client in clients if client not in stated),
        missing=tuple(client for client in stated if client not in clients),
    )


@lru_cache(maxsize=1)
def _tried(grid: FoldedGrid) -> Mapping[str, Sequence[TriedVersion]]:
    """Return, by release, the versions of Kafka's client that were tried, oldest first.

    Each was tried to write and read a record in a group. A version that failed is returned too.
    """
    by_release: dict[str, list[TriedVersion]] = {}
    own = [each for each in tried_operations(grid) if each.operation == TRIED]
    for each in own:
        version = each.client.removeprefix(LIBRARY)
        if version == each.client:
            continue
        for release, cell in each.by_release.items():
            works = cell.verdict in SOUND_VERDICTS
            against = (
                ("Kafka’s statement", is_supported(version, release)),
                ("the tables", serves(release, version)),
            )
            by_release.setdefault(release, []).append(
                TriedVersion(
                    client=version,
                    text=cell.text,
                    verdict=cell.verdict,
                    contradicts=" and ".join(name for name, says in against if says is not works),
                )
            )
    for clients in by_release.values():
        clients.sort(key=lambda each: release_order(each.client))
    return by_release


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedOperation:
    """One operation of one client, and its cells in the grid.

    Attributes:
        client: the client: "confluent-kafka-2.16.1".
        operation: the operation: "consume-in-group".
        by_target: the cell of each release's target that it was tried with.
        by_release: the same by release; of a release with two kinds of quorum that with the usual one, if it was tried.
    """

    client: str
    operation: str
    by_target: Mapping[str, ListenerCell]
    by_release: Mapping[str, ListenerCell]


@lru_cache(maxsize=1)
def tried_operations(grid: FoldedGrid) -> tuple[TriedOperation, ...]:
    """Return each operation of a grid that was tried with a release of Apache Kafka, in the order of the grid.

    The row about all operations of a client is none.
    """
    operations = grid.by_role.get(OPERATION)
    return () if operations is None else tuple(_operations(operations))


def _operations(operations: FoldedGrid) -> Iterator[TriedOperation]:
    for row, cells in operations.cells.items():
        client, _, operation = row.rpartition(".")
        if operation == NEWEST_VERSIONS:
            continue
        by_target: dict[str, ListenerCell] = {}
        by_release: dict[str, ListenerCell] = {}
        for column, cell in zip(operations.columns, cells, strict=True):
            if column.implementation == APACHE_KAFKA and cell.worst.row is not None:
                by_target[column.target] = cell.worst
                release = column.listeners[0].release
                # The columns of a release with an unusual quorum, whose id says so, come first.
                if release not in by_release or column.target == f"{APACHE_KAFKA}-{release}":
                    by_release[release] = cell.worst
        if by_target:
            yield TriedOperation(client=client, operation=operation, by_target=by_target, by_release=by_release)
