"""What clients did with releases of Apache Kafka, as a grid of operations has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid.grid_view import FoldedGrid, ListenerCell
from reports.records import OPERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedOperation:
    """One operation of one client, and how it went.

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
    """Return each operation of a grid that was tried with a release of Apache Kafka, in the order of the grid."""
    operations = grid.by_role.get(OPERATION)
    return () if operations is None else tuple(_operations(operations))


def _operations(operations: FoldedGrid) -> Iterator[TriedOperation]:
    for row, cells in operations.cells.items():
        client, _, operation = row.rpartition(".")
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
            yield TriedOperation(
                client=client, operation=operation, by_target=by_target, by_release=by_release
            )
