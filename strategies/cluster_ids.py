"""Requests that name the broker they are meant for (KIP-1242, from v5).

The right ids are known only when the target runs. The strategies therefore draw how ids relate to the right
ones; `ids_given` and the variants turn that relation into ids.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hypothesis import strategies as st

from strategies.api_versions import build_request
from wire.api_versions import FIRST_VERSION_WITH_CLUSTER_CHECK, NO_NODE
from wire.exchange import Request
from wire.primitives import INT32_MAX, INT32_MIN

EDGES = (255, 256, 257, 65535, 65536, 65537)
"""Numbers next to those from which a node id takes another byte: what is cut to one or two bytes goes wrong here."""
_INT32_VALUES = 2**32


CLUSTER_ID_VARIANTS: Mapping[str, Callable[[str], str]] = {
    "another": lambda cluster_id: f"not {cluster_id}",
    "empty": lambda cluster_id: "",
    "in the other case": lambda cluster_id: cluster_id.swapcase(),
    "without its last character": lambda cluster_id: cluster_id[:-1],
    "with one character more": lambda cluster_id: cluster_id + "A",
    "followed by a blank": lambda cluster_id: cluster_id + " ",
    "with another first character": lambda cluster_id: ("a" if cluster_id[:1] != "a" else "b") + cluster_id[1:],
    "of other characters": lambda cluster_id: "漢é" * 11,
}
"""Functions that make a wrong cluster id from the right one; a test rejects results that happen to be right."""


class Ids(NamedTuple):
    """The two ids in ApiVersions v5; a client that knows neither sends None and -1."""

    cluster_id: str | None = None
    node_id: int = NO_NODE


class Given(enum.Enum):
    """How the ids of a request relate to those of the broker that it reaches."""

    NEITHER = "neither"
    CLUSTER_ALONE = "only the cluster"
    NODE_ALONE = "only the node"
    BOTH = "both"
    WRONG_CLUSTER = "the wrong cluster"
    WRONG_NODE = "the wrong node"

    def __repr__(self) -> str:
        return f"Given.{self.name}"


HALF_GIVEN = (Given.CLUSTER_ALONE, Given.NODE_ALONE)
MISROUTED = (Given.WRONG_CLUSTER, Given.WRONG_NODE)


def ids_given(relation: Given, right: Ids) -> Ids:
    """Return ids with the given relation to the right ones."""
    assert right.cluster_id is not None
    return {
        Given.NEITHER: Ids(),
        Given.CLUSTER_ALONE: Ids(right.cluster_id),
        Given.NODE_ALONE: Ids(None, right.node_id),
        Given.BOTH: right,
        Given.WRONG_CLUSTER: Ids(f"not {right.cluster_id}", right.node_id),
        Given.WRONG_NODE: Ids(right.cluster_id, right.node_id + 1),
    }[relation]


def cluster_id_variants() -> st.SearchStrategy[str]:
    """Names of `CLUSTER_ID_VARIANTS`."""
    return st.sampled_from(tuple(CLUSTER_ID_VARIANTS))


def node_offsets() -> st.SearchStrategy[int]:
    """Differences between a wrong node id and the right one; ids with equal low bytes are drawn often."""
    near = st.integers(-3, 3).filter(bool)
    return near | _edges() | st.integers(1, _INT32_VALUES - 1)


def _edges() -> st.SearchStrategy[int]:
    """Numbers of `EDGES` and their negatives."""
    return st.sampled_from((*EDGES, *(-edge for edge in EDGES)))


def node_id_at(node_id: int, offset: int) -> int:
    """Return `node_id` plus `offset`, wrapped around as an int32."""
    half = _INT32_VALUES // 2
    return (node_id + offset + half) % _INT32_VALUES - half


def build_request_with(ids: Ids, *, correlation_id: int = 7) -> Request:
    """Return a request with these ids, in the first version that carries ids."""
    return build_request(
        version=FIRST_VERSION_WITH_CLUSTER_CHECK,
        correlation_id=correlation_id,
        cluster_id=ids.cluster_id,
        node_id=ids.node_id,
    )


def half_given_ids() -> st.SearchStrategy[Ids]:
    """A cluster id (possibly empty) without a node id, or any node id without a cluster id."""
    cluster_ids = st.text(st.sampled_from("abcXYZ019-_"), max_size=22)
    cluster_alone = st.builds(Ids, cluster_ids, st.just(NO_NODE))
    node_ids = st.sampled_from((0, 1, 7, -2)) | _edges() | st.integers(INT32_MIN, INT32_MAX)
    return cluster_alone | st.builds(Ids, st.none(), node_ids.filter(lambda node: node != NO_NODE))


def requests_with_cluster_ids() -> st.SearchStrategy[Request]:
    """Requests with an arbitrary cluster id and node id, with one of them, or with neither."""
    cluster_ids = st.none() | st.text(st.sampled_from("abcXYZ019-_"), max_size=22)
    node_ids = st.just(NO_NODE) | st.sampled_from((0, 1, 7, -2)) | _edges()
    return st.builds(Ids, cluster_ids, node_ids).map(build_request_with)
