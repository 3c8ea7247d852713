"""Scripts of clusters that claim KIP-1313, and of clusters with today's telemetry.

KIP-1313 is a proposal.
"""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from proposals.kip_1313.messages import API_VERSIONS_WITH_ID, CLIENT_APIS, SASL_AUTHENTICATE_WITH_ID
from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
)
from strategies.broker_scripts import SUCCESS_MS
from strategies.cluster_scripts import OTHER_CLUSTER_ID
from wire.api_keys import SASL_AUTHENTICATE_KEY
from wire.api_versions import NEWEST_VERSION

ENOUGH = 24
"""How many responses a client gets: enough for several connections, each with several requests."""
UNREACHABLE_MS = 2000
"""How long a client may work without a broker that responds."""
CLAIMING = Table(
    changed=tuple(
        (key, 0, api.valid_versions.last or 0)
        for key, api in sorted({**CLIENT_APIS, SASL_AUTHENTICATE_KEY: SASL_AUTHENTICATE_WITH_ID}.items())
    )
)
"""The table of a broker that lists the version with header v3 of every API in which a client may send it."""
CLAIMING_CONNECTION = ConnectionScript(
    newest_version=API_VERSIONS_WITH_ID, answers=(Answer(table=CLAIMING),), closes_after=5
)
"""A connection to such a broker, which ends after some responses."""
OLD_TELEMETRY = Table(changed=((71, 0, 0), (72, 0, 0)))
"""The table of a broker of today that takes telemetry."""


def _node(table: Table, *, newest: int = NEWEST_VERSION, closes_after: int | None = None) -> NodeScript:
    connection = ConnectionScript(newest_version=newest, answers=(Answer(table=table),), closes_after=closes_after)
    return NodeScript(connections=(connection,))


def _cluster(*nodes: NodeScript, enough: int = ENOUGH) -> Script:
    return Script(nodes=nodes, timeout_ms=SUCCESS_MS, keeps_asking=True, ends_after=enough)


def cluster_with(table: Table, *, nodes: int = 1, closes_after: int | None = None) -> Script:
    """Return a script of a cluster whose client keeps asking.

    A broker closes a connection after `closes_after` responses, or never if it is None.
    """
    return _cluster(*(_node(table, closes_after=closes_after),) * nodes)


def claiming_cluster(
    *,
    nodes: int = 1,
    closes_after: int | None = None,
    enough: int = ENOUGH,
    newest: int = API_VERSIONS_WITH_ID,
) -> Script:
    """Return a script of a cluster that claims the proposal.

    Args:
        nodes: the number of brokers.
        closes_after: after how many responses a broker closes the connection; None for never.
        enough: how many responses end the play.
        newest: the newest version of ApiVersions that its brokers support: the one with header v3, or one below it.
    """
    node = _node(CLAIMING, newest=newest, closes_after=closes_after)
    return _cluster(*(node,) * nodes, enough=enough)


def replaced_claiming_cluster() -> Script:
    """Return a script in which another such cluster takes its place, so that the client bootstraps again."""
    after = dataclasses.replace(CLAIMING_CONNECTION, cluster_id=OTHER_CLUSTER_ID, closes_after=None)
    return _cluster(NodeScript(connections=(CLAIMING_CONNECTION, after)))


def unreachable_cluster() -> Script:
    """Return a script of a broker that closes each connection before it responds to anything."""
    closing = all_connections(ConnectionScript(on_open="close"))
    return dataclasses.replace(closing, timeout_ms=UNREACHABLE_MS, keeps_asking=True)


def downgraded_cluster() -> Script:
    """Return a script of a broker that stops supporting the version of ApiVersions with header v3.

    Its first two connections still support that version.
    """
    after = ConnectionScript(answers=(Answer(table=OLD_TELEMETRY),))
    return _cluster(NodeScript(connections=(CLAIMING_CONNECTION, CLAIMING_CONNECTION, after)))


def mixed_cluster(*, is_old_first: bool, closes_after: int | None = None) -> Script:
    """Return a script of one broker of today and one that claims the proposal.

    Args:
        is_old_first: whether the broker of today is the bootstrap server.
        closes_after: after how many responses a broker closes the connection; None for never.
    """
    old = _node(OLD_TELEMETRY, closes_after=closes_after)
    new = _node(CLAIMING, newest=API_VERSIONS_WITH_ID, closes_after=closes_after)
    return _cluster(*((old, new) if is_old_first else (new, old)))


def claiming_clusters() -> st.SearchStrategy[Script]:
    """Draw scripts of one to three brokers that claim the proposal.

    Connections may end, and the cluster may be replaced.
    """
    usual = st.builds(
        claiming_cluster,
        nodes=st.integers(1, 3),
        closes_after=st.none() | st.integers(4, 8),
        enough=st.integers(ENOUGH, 2 * ENOUGH),
        newest=st.just(API_VERSIONS_WITH_ID) | st.integers(0, NEWEST_VERSION),
    )
    return usual | st.just(replaced_claiming_cluster())


def mixed_clusters() -> st.SearchStrategy[Script]:
    """Clusters of one broker of today and one that claims the proposal, or of one that is downgraded."""
    both = st.builds(mixed_cluster, is_old_first=st.booleans(), closes_after=st.none() | st.integers(5, 8))
    return both | st.just(downgraded_cluster())


def clusters_with_old_telemetry() -> st.SearchStrategy[Script]:
    """Clusters of today that take telemetry."""
    return st.builds(
        cluster_with,
        st.just(OLD_TELEMETRY),
        nodes=st.integers(1, 3),
        closes_after=st.none() | st.integers(2, 5),
    )
