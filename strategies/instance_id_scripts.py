"""Scripts of clusters that claim KIP-1313, a proposal, and of ones that only have the telemetry of today."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from reference_model.clients.script import Answer, ConnectionScript, NodeScript, Script, Table
from strategies.broker_scripts import SUCCESS_MS
from strategies.cluster_scripts import OTHER_CLUSTER_ID
from wire.instance_id_messages import CLIENT_APIS

ENOUGH = 14
"""How many responses a client gets: enough for several connections, each with several requests."""
CLAIMING = Table(
    changed=tuple(
        (key, 0, api.valid_versions.last or 0) for key, api in sorted(CLIENT_APIS.items())
    )
)
"""The table of a broker that lists the version with header v3 of every API in which a client may send it."""
OLD_TELEMETRY = Table(changed=((71, 0, 0), (72, 0, 0)))
"""The table of a broker of today that takes telemetry."""


def cluster_with(
    table: Table, *, nodes: int = 1, closes_after: int | None = None, enough: int = ENOUGH
) -> Script:
    """Return a script of a cluster whose client keeps asking.

    Args:
        table: the table of all its brokers.
        nodes: the number of brokers.
        closes_after: after how many responses a broker closes the connection; None for never.
        enough: how many responses end the play.
    """
    connection = ConnectionScript(answers=(Answer(table=table),), closes_after=closes_after)
    return Script(
        nodes=(NodeScript(connections=(connection,)),) * nodes,
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=enough,
    )


def claiming_cluster(
    *, nodes: int = 1, closes_after: int | None = None, enough: int = ENOUGH
) -> Script:
    """Return a script of a cluster that claims the proposal."""
    return cluster_with(CLAIMING, nodes=nodes, closes_after=closes_after, enough=enough)


def replaced_claiming_cluster() -> Script:
    """Return a script in which another such cluster takes its place, so that the client bootstraps again."""
    before = ConnectionScript(answers=(Answer(table=CLAIMING),), closes_after=3)
    after = dataclasses.replace(before, cluster_id=OTHER_CLUSTER_ID, closes_after=None)
    return dataclasses.replace(claiming_cluster(), nodes=(NodeScript(connections=(before, after)),))


def claiming_clusters() -> st.SearchStrategy[Script]:
    """Clusters of one to three brokers that claim the proposal; connections may end, and the cluster may be replaced."""
    usual = st.builds(
        claiming_cluster,
        nodes=st.integers(1, 3),
        closes_after=st.none() | st.integers(3, 6),
        enough=st.integers(ENOUGH, 2 * ENOUGH),
    )
    return usual | st.just(replaced_claiming_cluster())


def clusters_with_old_telemetry() -> st.SearchStrategy[Script]:
    """Clusters of today that take telemetry."""
    return st.builds(
        cluster_with,
        st.just(OLD_TELEMETRY),
        nodes=st.integers(1, 3),
        closes_after=st.none() | st.integers(2, 5),
    )
