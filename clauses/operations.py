"""What clients do with brokers: the rows of the grid of operations (KIP-97).

A row is one operation of one version of a client library. On each release it works, or it fails with an error that names
what is missing and without a request that the broker does not support, or it violates KIP-97.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from clauses.catalogue import CatalogueError, Clause, Level, catalogue
from wire.fields import versions

METADATA = "metadata"
"""The operation that every client has: it connects and fetches metadata."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a client does with a broker.

    Attributes:
        what: what the client does, as the end of a sentence; the result is checked.
        api_key: the API without which it is not that operation; None if several APIs serve it, or every client needs it.
        is_rerouted: whether the client repeats it, while its brokers change places and another cluster replaces them.
        option: the name of the option that the client is started with; empty for none.
        driver: what the operation is called in drivers; empty if it is their usual one, to fetch metadata.
    """

    what: str
    api_key: int | None = None
    is_rerouted: bool = False
    option: str = ""
    driver: str = ""


_REROUTED = "while its brokers change places and another cluster replaces them"


def _rerouted(what: str, option: str = "", driver: str = "") -> Operation:
    return Operation(f"{what} {_REROUTED}", is_rerouted=True, option=option, driver=driver)


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        METADATA: Operation("connects and fetches metadata"),
        "list-topics": Operation("lists topics, among them one that has a record"),
        "create-topic": Operation(
            "creates a topic, which has the partitions that were asked for", 19
        ),
        "produce": Operation("writes a record, which the broker confirms with an offset", 0),
        "consume": Operation("reads the record that it has written", 1),
        "consume-partitions": Operation(
            "writes several records to each of two partitions, and reads them from there in their order",
            1,
        ),
        "offsets-for-times": Operation("finds the first record since each of several times", 2),
        "headers": Operation("writes a record with a header, and reads both"),
        "idempotent-produce": Operation("writes a record with an idempotent producer", 22),
        "transactional-produce": Operation(
            "aborts a transaction and commits another, and reads only the committed record", 26
        ),
        "consume-in-group": Operation(
            "reads a record as a member of a group, and commits its offset", 8
        ),
        "list-groups": Operation("lists groups, among them one that has a member", 16),
        "describe-groups": Operation("describes a group, which has one member"),
        "describe-configs": Operation("describes a topic's configuration", 32),
        "alter-configs": Operation("replaces a topic's configuration, and reads the new value"),
        "incremental-alter-configs": Operation(
            "changes one value of a topic's configuration, and reads it", 44
        ),
        "delete-records": Operation(
            "deletes the records before an offset, which is the new beginning of the log", 21
        ),
        "consumer-group-protocol": Operation(
            "reads and commits in a group of KIP-848's protocol", 68
        ),
        "share-group": Operation("reads a record as a member of a share group (KIP-932)", 78),
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
    }
)
"""The operations by name, in the order of the grid."""


def row_of(client: str, operation: str) -> Clause:
    """Return the row of one operation of one client, which is a library and version, such as "kafka-python-3.0.12"."""
    tried = OPERATIONS[operation]
    if tried.is_rerouted:
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
        level=Level.MUST,
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
