"""What clients do with brokers: the rows of the grid of operations (KIP-97).

A row is one operation of one version of a client library. On each release it works, or it fails with an error that names
what is missing and without a request that the broker does not support, or it violates KIP-97.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from clauses.catalogue import Clause, Level, catalogue
from wire.fields import versions

METADATA = "metadata"
"""The operation that every client has: it connects and fetches metadata."""

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        METADATA: "connects and fetches metadata",
        "list-topics": "lists topics, among them one that has a record",
        "create-topic": "creates a topic, which has the partitions that were asked for",
        "produce": "writes a record, which the broker confirms with an offset",
        "consume": "reads the record that it has written",
        "offsets-for-times": "finds the first record since a time",
        "headers": "writes a record with a header, and reads both",
        "idempotent-produce": "writes a record with an idempotent producer",
        "transactional-produce": "writes a record in a transaction, and reads it as a committed one",
        "consume-in-group": "reads a record as a member of a group, and commits its offset",
        "list-groups": "lists groups, among them one that has committed offsets",
        "describe-groups": "describes a group, which has no members",
        "describe-configs": "describes a topic's configuration",
        "alter-configs": "replaces a topic's configuration, and reads the new value",
        "incremental-alter-configs": "changes one value of a topic's configuration, and reads it",
        "delete-records": "deletes the records before an offset, which is the new beginning of the log",
        "consumer-group-protocol": "reads and commits in a group of KIP-848's protocol",
        "share-group": "reads a record as a member of a share group (KIP-932)",
    }
)
"""Name of each operation, and what the client does, as the end of a sentence."""


def row_of(client: str, operation: str) -> Clause:
    """Return the row of one operation of one client.

    Args:
        client: library and version, such as "kafka-python-3.0.12".
        operation: a key of `OPERATIONS`.
    """
    return Clause(
        id=f"{client}.{operation}",
        roles=(),
        level=Level.MUST,
        applies_to=versions("0+"),
        statement=f"{client} {OPERATIONS[operation]}; if the broker is too old for that, an error says so, "
        "and no request for it reaches the broker",
        location="KIP-97, Proposed Changes",
        meaning="an application fails after an upgrade of its client or its brokers, and cannot tell why",
    )


def clause_or_row(id_: str) -> Clause:
    """Return the clause of the catalogue with an id, or the row with it.

    Raises:
        CatalogueError: there is neither.
    """
    client, _, operation = id_.rpartition(".")
    return row_of(client, operation) if client and operation in OPERATIONS else catalogue()[id_]
