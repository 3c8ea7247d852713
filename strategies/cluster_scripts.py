"""Scripts of clusters for clients that send the ids of KIP-1242: healthy, old, replaced, and with nodes that change places.

The client keeps asking in all of them, because only its second connection leads to a broker that it knows.
"""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    EMPTY,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
)
from strategies.broker_scripts import ENOUGH_RESPONSES, SUCCESS_MS
from strategies.nonsense_scripts import healing_connections
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NEWEST_VERSION,
)
from wire.error_codes import ErrorCode

ENOUGH_WITHOUT_THE_CHECK = 20
"""How many responses a client gets from older brokers: so many that its operations end several times."""
ENOUGH_WHEN_MISROUTED = 8
"""How many responses a client gets if it has to bootstrap again in between."""
OTHER_CLUSTER_ID = "another-cluster-00000"


def healthy_cluster(
    *,
    nodes: int = 1,
    cluster_id: str = "",
    options: tuple[str, ...] = (),
    newest: int = NEWEST_VERSION,
) -> Script:
    """Return a script of a healthy cluster whose client keeps asking, so that it uses the brokers that it knows."""
    is_older = newest < FIRST_VERSION_WITH_CLUSTER_CHECK
    connection = ConnectionScript(newest_version=newest)
    if cluster_id:
        connection = ConnectionScript(newest_version=newest, cluster_id=cluster_id)
    return Script(
        nodes=(NodeScript(connections=(connection,)),) * nodes,
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_WITHOUT_THE_CHECK if is_older else ENOUGH_RESPONSES,
        options=options,
    )


def cluster_ids() -> st.SearchStrategy[str]:
    """Cluster ids as clusters have them, of another length, or of one character."""
    letters = st.sampled_from("abcXYZ019-_")
    return st.just("") | st.text(letters, min_size=1, max_size=22)


def healthy_clusters(*options: str) -> st.SearchStrategy[Script]:
    """Healthy clusters of one to three brokers; if the client has options, some of them are so old that they have no ids."""
    old = range(FIRST_FLEXIBLE_VERSION if options else 0)
    return st.builds(
        healthy_cluster,
        nodes=st.integers(1, 3),
        cluster_id=cluster_ids(),
        options=st.just(options),
        newest=st.sampled_from((NEWEST_VERSION, *old)),
    )


def clusters_without_the_check() -> st.SearchStrategy[Script]:
    """Healthy clusters whose brokers support ApiVersions up to a version before the check."""
    return st.builds(
        healthy_cluster,
        nodes=st.integers(1, 3),
        newest=st.integers(0, FIRST_VERSION_WITH_CLUSTER_CHECK - 1),
    )


def replaced_cluster(nodes: int = 1) -> Script:
    """Return a script in which another cluster takes the place of the one that the client bootstrapped from."""
    return _misrouting(nodes, ConnectionScript(cluster_id=OTHER_CLUSTER_ID))


def swapped_nodes(nodes: int = 2) -> Script:
    """Return a script in which the nodes change places after the client's first connection, each by one."""
    ids = tuple((index + 1) % nodes + 1 for index in range(nodes))
    return _misrouting(nodes, ConnectionScript(node_ids=ids))


def _misrouting(nodes: int, after: ConnectionScript) -> Script:
    """Return a script in which each connection is like `after`, but for the first one, which closes early."""
    first = NodeScript(connections=(ConnectionScript(closes_after=1), after))
    return Script(
        nodes=(first, *(NodeScript(connections=(after,)),) * (nodes - 1)),
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_WHEN_MISROUTED,
    )


def misrouted_clusters() -> st.SearchStrategy[Script]:
    """Clusters that are replaced, or whose nodes change places."""
    return st.integers(1, 3).map(replaced_cluster) | st.integers(2, 3).map(swapped_nodes)


def rebootstrapping(*, throttle_time_ms: int = 0, pieces: int = 1, from_version: int = 0) -> Script:
    """Return a script of a broker that answers ApiVersions requests with REBOOTSTRAP_REQUIRED until it heals."""
    answer = Answer(
        error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED),
        table=EMPTY,
        throttle_time_ms=throttle_time_ms,
        pieces=pieces,
        from_version=from_version,
    )
    return healing_connections(ConnectionScript(answers=(answer,)))


def brokers_that_demand_rebootstrapping() -> st.SearchStrategy[Script]:
    """Brokers that answer with REBOOTSTRAP_REQUIRED until they heal, in pieces, or with a throttle time."""
    return st.builds(
        rebootstrapping,
        throttle_time_ms=st.sampled_from((0, 100)),
        pieces=st.integers(1, 3),
    )
