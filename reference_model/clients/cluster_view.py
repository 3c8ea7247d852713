"""What a client learns about a cluster from Metadata: its id and its nodes. v0 to v13, as far as a client needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from reference_model.clients.network import Address
from wire import primitives
from wire.errors import UnexpectedNull

T = TypeVar("T")

NEWEST_METADATA = 13
FIRST_FLEXIBLE_METADATA = 9
_FIRST_WITH_RACK = 1
_FIRST_WITH_CLUSTER_ID = 2
_FIRST_WITH_THROTTLE_TIME = 3


class Node(NamedTuple):
    """One broker of a cluster."""

    node_id: int
    address: Address


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What one Metadata response says about the cluster.

    Attributes:
        cluster_id: the cluster's id; None if the version has none, or the broker does not say.
        nodes: its brokers.
    """

    cluster_id: str | None = None
    nodes: tuple[Node, ...] = ()


def metadata_request_body(version: int) -> bytes:
    """Return the body of a Metadata request about no topic; v0 cannot express that and asks about all."""
    is_flexible = version >= FIRST_FLEXIBLE_METADATA
    parts = [
        (primitives.write_compact_array_length if is_flexible else primitives.write_array_length)(0)
    ]
    if version >= 4:
        parts.append(primitives.write_boolean(False))  # allow_auto_topic_creation
    if 8 <= version <= 10:
        parts.append(primitives.write_boolean(False))  # include_cluster_authorized_operations
    if version >= 8:
        parts.append(primitives.write_boolean(False))  # include_topic_authorized_operations
    if is_flexible:
        parts.append(primitives.write_raw_tagged_fields(()))
    return b"".join(parts)


def read_cluster_view(body: bytes, version: int) -> ClusterView:
    """Read cluster id and nodes from the beginning of a Metadata response's body.

    Raises:
        DecodeError: the body ends too early, or a value is malformed.
    """
    is_flexible = version >= FIRST_FLEXIBLE_METADATA
    read_count = (
        primitives.read_compact_array_length if is_flexible else primitives.read_array_length
    )
    read_string = (
        primitives.read_compact_nullable_string if is_flexible else primitives.read_nullable_string
    )
    fields = _Fields(body)
    if version >= _FIRST_WITH_THROTTLE_TIME:
        fields.read(primitives.read_int32)
    count = fields.read(read_count)
    if count is None:
        raise UnexpectedNull("null instead of brokers", start=0, end=len(body))
    nodes = []
    for _ in range(count):
        node_id = fields.read(primitives.read_int32)
        address = Address(fields.read(read_string) or "", fields.read(primitives.read_int32))
        if version >= _FIRST_WITH_RACK:
            fields.read(read_string)
        if is_flexible:
            fields.read(primitives.read_raw_tagged_fields)
        nodes.append(Node(node_id, address))
    cluster_id = fields.read(read_string) if version >= _FIRST_WITH_CLUSTER_ID else None
    return ClusterView(cluster_id=cluster_id, nodes=tuple(nodes))


class _Fields:
    """Reads the fields of a message one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._offset = 0

    def read(self, read_field: Callable[[memoryview, int], tuple[T, int]]) -> T:
        value, self._offset = read_field(self._data, self._offset)
        return value
