"""What clients do with brokers: the rows of the grid of operations (KIP-97).

A row is one operation of one version of a client library. On each release it works, or it fails with an error that
names what is missing and without a request that the broker does not support, or it violates KIP-97.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from clauses.catalogue import CatalogueError, Clause, Level, catalogue
from wire.api_keys import (
    ADD_PARTITIONS_TO_TXN_KEY,
    ALTER_CONFIGS_KEY,
    CONSUMER_GROUP_HEARTBEAT_KEY,
    CREATE_TOPICS_KEY,
    DELETE_RECORDS_KEY,
    DESCRIBE_CONFIGS_KEY,
    DESCRIBE_GROUPS_KEY,
    END_TXN_KEY,
    FETCH_KEY,
    FIND_COORDINATOR_KEY,
    HEARTBEAT_KEY,
    INCREMENTAL_ALTER_CONFIGS_KEY,
    INIT_PRODUCER_ID_KEY,
    JOIN_GROUP_KEY,
    LEAVE_GROUP_KEY,
    LIST_GROUPS_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    OFFSET_COMMIT_KEY,
    OFFSET_FETCH_KEY,
    PRODUCE_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
    SHARE_ACKNOWLEDGE_KEY,
    SHARE_FETCH_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
    SYNC_GROUP_KEY,
)
from wire.fields import versions

METADATA = "metadata"
"""The operation that every client has: it connects and fetches metadata."""
NEWEST_VERSIONS = "newest-versions"
"""The row that is about all operations of a client together, and no operation of its own."""
NEWEST_CLAUSE = "KIP-35.client-prefers-newest"
"""The clause that this row judges."""


_ASKS = {METADATA_KEY: 1}
"""Version 1 names the controller, and distinguishes no topic from all topics."""
_CREATES = {**_ASKS, CREATE_TOPICS_KEY: 0}
_WRITES = {**_ASKS, PRODUCE_KEY: 3}
"""Version 3 takes the record batches of today, which alone have headers and producer ids (KIP-82, KIP-98)."""
_READS = {**_WRITES, FETCH_KEY: 4, LIST_OFFSETS_KEY: 1}
"""Fetch 4 returns these batches, and ListOffsets 1 one offset for a time (KIP-79)."""
_JOINS = {
    **_READS,
    **dict.fromkeys((FIND_COORDINATOR_KEY, JOIN_GROUP_KEY, SYNC_GROUP_KEY, HEARTBEAT_KEY), 0),
    LEAVE_GROUP_KEY: 0,
    OFFSET_COMMIT_KEY: 2,
    OFFSET_FETCH_KEY: 1,
}
"""OffsetCommit 2 and OffsetFetch 1 keep offsets in Kafka and not in ZooKeeper."""
_READS_CONFIG = {**_CREATES, DESCRIBE_CONFIGS_KEY: 0}
NEEDS_OF_SASL: Mapping[int, int] = MappingProxyType({SASL_HANDSHAKE_KEY: 1, SASL_AUTHENTICATE_KEY: 0})
"""What each operation takes in addition on a listener with SASL; after SaslHandshake 0 tokens follow that are no
requests."""
_REROUTED = "while its brokers change places and another cluster replaces them"


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a client does with a broker.

    Attributes:
        what: what the client does, as the end of a sentence; the result is checked.
        needs: the APIs that it takes, each with the version that a client may need at most: the first one that can do
            what the operation does, by the history in Kafka's schemas. A client can do it with any later version as
            well.
        features: the features that the cluster must have finalized for it, each with the lowest level (KIP-584).
        api_key: the API without which it is not that operation; None if several APIs serve it, or every client needs
            it.
        is_rerouted: whether the client repeats it, while its brokers change places and another cluster replaces them.
        option: the name of the option that the client is started with; empty for none.
        driver: what the operation is called in drivers; empty if it is their usual one, to fetch metadata.
        is_about_all: whether it is what the client does in all its other operations that are not rerouted.
        codec: the codec in which its records are written, in every release; empty if that is not said.
    """

    what: str
    needs: Mapping[int, int] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    api_key: int | None = None
    is_rerouted: bool = False
    option: str = ""
    driver: str = ""
    is_about_all: bool = False
    codec: str = ""


def _rerouted(what: str, option: str = "", driver: str = "") -> Operation:
    return Operation(f"{what} {_REROUTED}", is_rerouted=True, option=option, driver=driver)


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        METADATA: Operation("connects and fetches metadata", _ASKS),
        "list-topics": Operation("lists topics, among them one that has a record", _WRITES),
        "create-topic": Operation(
            "creates a topic, which has the partitions that were asked for",
            _CREATES,
            api_key=CREATE_TOPICS_KEY,
        ),
        "produce": Operation(
            "writes a record, which the broker confirms with an offset",
            _WRITES,
            api_key=PRODUCE_KEY,
        ),
        "compressed-produce": Operation(
            "writes a record that is compressed with gzip, which the broker confirms with an offset",
            _WRITES,
            api_key=PRODUCE_KEY,
            codec="gzip",
        ),
        "consume": Operation("reads the record that it has written", _READS, api_key=FETCH_KEY),
        "consume-partitions": Operation(
            "writes several records to each of two partitions, and reads them from there in their order",
            {**_CREATES, **_READS},
            api_key=FETCH_KEY,
        ),
        "offsets-for-times": Operation(
            "finds the first record since each of several times",
            {**_WRITES, LIST_OFFSETS_KEY: 1},
            api_key=LIST_OFFSETS_KEY,
        ),
        "headers": Operation("writes a record with a header, and reads both", _READS),
        "idempotent-produce": Operation(
            "writes a record with an idempotent producer",
            {**_WRITES, INIT_PRODUCER_ID_KEY: 0},
            api_key=INIT_PRODUCER_ID_KEY,
        ),
        "transactional-produce": Operation(
            "aborts a transaction and commits another, and reads only the committed record",
            # Only since FindCoordinator 1 are there coordinators of transactions, and since ListOffsets 2 isolation
            # levels.
            {
                **_READS,
                LIST_OFFSETS_KEY: 2,
                FIND_COORDINATOR_KEY: 1,
                INIT_PRODUCER_ID_KEY: 0,
                ADD_PARTITIONS_TO_TXN_KEY: 0,
                END_TXN_KEY: 0,
            },
            api_key=END_TXN_KEY,
        ),
        "consume-in-group": Operation(
            "reads a record as a member of a group, and commits its offset",
            _JOINS,
            api_key=OFFSET_COMMIT_KEY,
        ),
        "list-groups": Operation(
            "lists groups, among them one that has a member",
            {**_JOINS, LIST_GROUPS_KEY: 0},
            api_key=LIST_GROUPS_KEY,
        ),
        "describe-groups": Operation("describes a group, which has one member", {**_JOINS, DESCRIBE_GROUPS_KEY: 0}),
        "describe-configs": Operation("describes a topic's configuration", _READS_CONFIG, api_key=DESCRIBE_CONFIGS_KEY),
        "alter-configs": Operation(
            "replaces a topic's configuration, and reads the new value",
            {**_READS_CONFIG, ALTER_CONFIGS_KEY: 0},
        ),
        "incremental-alter-configs": Operation(
            "changes one value of a topic's configuration, and reads it",
            {**_READS_CONFIG, INCREMENTAL_ALTER_CONFIGS_KEY: 0},
            api_key=INCREMENTAL_ALTER_CONFIGS_KEY,
        ),
        "delete-records": Operation(
            "deletes the records before an offset, which is the new beginning of the log",
            {**_READS, DELETE_RECORDS_KEY: 0},
            api_key=DELETE_RECORDS_KEY,
        ),
        "consumer-group-protocol": Operation(
            "reads and commits in a group of KIP-848's protocol",
            # Version 0 was a preview. Members are given topics by their ids, which Metadata has since version 12.
            {
                **_READS,
                METADATA_KEY: 12,
                FIND_COORDINATOR_KEY: 0,
                OFFSET_COMMIT_KEY: 9,
                OFFSET_FETCH_KEY: 9,
                CONSUMER_GROUP_HEARTBEAT_KEY: 1,
            },
            {"group.version": 1},
            CONSUMER_GROUP_HEARTBEAT_KEY,
        ),
        "share-group": Operation(
            "reads a record as a member of a share group (KIP-932)",
            {
                **_WRITES,
                METADATA_KEY: 12,
                FIND_COORDINATOR_KEY: 0,
                SHARE_GROUP_HEARTBEAT_KEY: 1,
                SHARE_FETCH_KEY: 1,
                SHARE_ACKNOWLEDGE_KEY: 1,
            },
            {"share.version": 1},
            SHARE_FETCH_KEY,
        ),
        "rerouted": _rerouted("goes on fetching metadata"),
        "rerouted-consumer": _rerouted("goes on listing topics with a consumer"),
        "rerouted-writes": _rerouted("goes on writing records", driver="rerouted-writes"),
        "rerouted-without-cluster-check": _rerouted(
            "with metadata.cluster.check.enable=false gives no ids, and goes on fetching metadata",
            option="without_cluster_check",
        ),
        "rerouted-without-rebootstrap": _rerouted(
            "with metadata.recovery.strategy=none gives no ids, and goes on fetching metadata",
            option="without_rebootstrap",
        ),
        NEWEST_VERSIONS: Operation(
            "uses in every request the newest version that it and the broker both support",
            is_about_all=True,
        ),
    }
)
"""The operations by name, in the order of the grid."""


def row_of(client: str, operation: str) -> Clause:
    """Return the row of one operation of one client, which is a library and version, such as "kafka-python-3.0.12"."""
    tried = OPERATIONS[operation]
    level = Level.MUST
    if tried.is_about_all:
        newest = catalogue()[NEWEST_CLAUSE]
        otherwise = f"all its operations are judged together, by {NEWEST_CLAUSE}"
        level, location, meaning = newest.level, newest.location, newest.meaning
    elif tried.is_rerouted:
        otherwise = "if it supports KIP-1242 it gives the ids of cluster and broker when it should and only then"
        location = "KIP-1242, Proposed Changes"
        meaning = "An application reads or writes in another cluster, or stands still until it is restarted."
    else:
        otherwise = "if the broker is too old for that, an error says so, and no request for it reaches the broker"
        location = "KIP-97, Proposed Changes"
        meaning = "An application fails after an upgrade of its client or its brokers, and cannot tell why."
    return Clause(
        id=f"{client}.{operation}",
        title=operation.replace("-", " ").capitalize(),
        roles=(),
        level=level,
        applies_to=versions("0+"),
        statement=f"{client} {tried.what}; {otherwise}.",
        location=location,
        meaning=meaning,
    )


def clause_or_row(id_: str) -> Clause:
    """Return the clause of the catalogue with an id, or the row with it.

    Raises:
        CatalogueError: there is neither.
    """
    client, _, operation = id_.rpartition(".")
    return row_of(client, operation) if client and operation in OPERATIONS else catalogue()[id_]


@functools.cache
def title_of(id_: str) -> str:
    """Return the title of a clause or row; the id itself if this suite does not know it."""
    try:
        return clause_or_row(id_).title
    except CatalogueError:
        return id_
