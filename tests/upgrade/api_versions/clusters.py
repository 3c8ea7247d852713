"""Clusters that exist only in tests."""

from __future__ import annotations

from typing import Any

from reference_model.profiles.known_apis import Range
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables


def broker(node_id: int = 1, ranges: dict[int, tuple[int, int]] | None = None, **others: Any) -> BrokerTable:
    """Return a broker that lists these ranges."""
    listed = {key: Range(*range_) for key, range_ in (ranges or {}).items()}
    given = {"host": f"broker-{node_id}", "port": 9092, **others}
    return BrokerTable(node_id=node_id, ranges=listed, **given)


def cluster(*brokers: BrokerTable, name: str = "broker-1:9092") -> ClusterTables:
    """Return a cluster of brokers."""
    return ClusterTables(name=name, cluster_id="test", brokers=brokers)
