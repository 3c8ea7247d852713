"""Requests that say which broker they are meant for (KIP-1242, from v5)."""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.api_versions import build_request
from wire.api_versions import FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.exchange import Request


def requests_with_cluster_ids() -> st.SearchStrategy[Request]:
    """Requests with a cluster id and a node id of nobody, with one of them, or with neither."""
    return st.builds(
        lambda cluster_id, node_id: build_request(
            version=FIRST_VERSION_WITH_CLUSTER_CHECK, cluster_id=cluster_id, node_id=node_id
        ),
        st.none() | st.text(st.sampled_from("abcXYZ019-_"), max_size=22),
        st.sampled_from((-1, 0, 1, 7, -2)),
    )
