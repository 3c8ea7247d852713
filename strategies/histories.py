"""Earlier requests of a connection, before the judged request.

They are sent one by one, or in one write with the judged request.

The target's versions and ids are known only when it runs, so an earlier request is drawn as a kind;
`conformance.assertions.histories` makes requests of the kinds.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from hypothesis import strategies as st

from strategies.weights import one_branch

MAX_EARLIER = 3


class Earlier(enum.Enum):
    """A request of ApiVersions, unless it is of another API, that comes before the judged one on its connection."""

    V0 = "v0"
    NEWEST = "the newest version"
    OTHER_SOFTWARE = "other software"
    EMPTY_NAME = "an empty name"
    ILLEGAL_NAME = "an illegal name"
    RIGHT_IDS = "both right ids"
    CLUSTER_ALONE = "only the cluster"
    NODE_ALONE = "only the node"
    WRONG_CLUSTER = "the wrong cluster"
    WRONG_NODE = "the wrong node"
    UNSERVED = "a version that is not served"
    OTHER_API = "a flexible request of another API that only reads"

    def __repr__(self) -> str:
        return f"Earlier.{self.name}"


class ConnectionHistory(NamedTuple):
    """The requests before the judged one.

    Attributes:
        earlier: their kinds, in order.
        at_once: whether they are in one write with the judged one; otherwise each waits for the response to the one
            before.
    """

    earlier: tuple[Earlier, ...] = ()
    at_once: bool = False


ALONE = ConnectionHistory()


def after(*earlier: Earlier) -> ConnectionHistory:
    """Return the history of requests that are sent one by one."""
    return ConnectionHistory(earlier)


def in_one_write_with(*earlier: Earlier) -> ConnectionHistory:
    """Return the history of requests that are in one write with the judged one."""
    return ConnectionHistory(earlier, at_once=True)


def histories() -> st.SearchStrategy[ConnectionHistory]:
    """No earlier request in most examples, otherwise one to three of any kinds."""
    earlier = st.lists(st.sampled_from(Earlier), min_size=1, max_size=MAX_EARLIER).map(tuple)
    some = st.builds(ConnectionHistory, earlier, st.booleans())
    return one_branch(st.one_of(st.just(ALONE), st.just(ALONE), some))
