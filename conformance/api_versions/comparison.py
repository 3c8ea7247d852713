"""Which requests of a client a cluster would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.api_versions.cluster_tables import ClusterTables
from reference_model.profiles.version_tables import Ranges, RequestChange, Support


def refused_requests(client: Ranges, cluster: ClusterTables) -> Sequence[RequestChange]:
    """Return the APIs that a client has and cannot use: brokers list none, or they serve no version that the client has.

    Args:
        client: the versions that the client can speak.
        cluster: the brokers.

    Returns:
        Changes from the client's table to that of the brokers.
    """
    table, served = cluster.table, cluster.served
    return [
        RequestChange(api_key=key, before=Support(own), after=table.get(key))
        for key, own in sorted(client.items())
        if key not in served or own.common_with(served[key]) is None
    ]
