"""Puts the ids of a real broker into vectors that name some (KIP-1242)."""

from __future__ import annotations

from dataclasses import replace

from conformance.vectors.broker_vectors import BrokerVector, VectorStep
from conformance.vectors.expected_outcomes import CLUSTER_ID, NODE_ID
from wire.primitives import write_int32

_OF_VECTORS = CLUSTER_ID.encode()


def names_ids(vector: BrokerVector) -> bool:
    """Return whether a vector names the ids of the broker under test."""
    return any(_OF_VECTORS in write for step in vector.steps for write in step.writes)


def with_ids(vector: BrokerVector, cluster_id: str | None, node_id: int | None) -> BrokerVector | None:
    """Return a vector that names a broker's own ids; None if they are not known, or do not fit in.

    The cluster ids of Kafka have 22 characters, as that of the vectors has; so no size changes.
    """
    if not names_ids(vector):
        return vector
    own = (cluster_id or "").encode()
    if node_id is None or len(own) != len(_OF_VECTORS):
        return None
    node = write_int32(node_id)

    def put_in(data: bytes) -> bytes:
        return data.replace(_OF_VECTORS + write_int32(NODE_ID), own + node).replace(_OF_VECTORS, own)

    def step_of(step: VectorStep) -> VectorStep:
        return replace(step, writes=tuple(map(put_in, step.writes)), frames=tuple(map(put_in, step.frames)))

    return replace(vector, steps=tuple(map(step_of, vector.steps)))
