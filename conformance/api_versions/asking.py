"""Asks every broker of a cluster for its table. A broker that cannot be asked stops none of the others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from conformance.api_versions.cluster_tables import BrokerTable, ClusterTables
from conformance.api_versions.release_tables import refused_with
from fixtures.client.cluster_client import (
    PROBLEMS,
    Cluster,
    ClusterClient,
    ListedBroker,
    connected,
)
from fixtures.client.cluster_metadata import is_of_controller
from fixtures.client.command_config import CommandConfig
from fixtures.client.running_broker import Address
from fixtures.errors import ConnectionFailed
from reference_model.profiles.known_apis import Range

ALL_BROKERS_BOUND_S = 60.0
"""How long brokers are asked after another. A healthy cluster of 400 brokers takes a few seconds; where many do not answer, each takes
the bound of its step."""
_AT_ONCE = 64


def ask_cluster(
    bootstrap: Sequence[Address], config: CommandConfig, *, controllers: bool
) -> ClusterTables:
    """Ask one of the addresses for the brokers of its cluster, and each of these for its table.

    Args:
        bootstrap: addresses of brokers, or of controllers; the first that answers is asked.
        config: how they are reached.
        controllers: whether the controllers are asked, and not the brokers.

    Raises:
        ConnectionFailed: none of the addresses answers; the message has the reason for each.
    """
    cluster = _cluster(bootstrap, config, controllers=controllers)
    brokers = sorted(cluster.brokers, key=lambda each: each.node_id)
    ends_at = time.monotonic() + ALL_BROKERS_BOUND_S
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tables = list(pool.map(lambda each: _table_of(each, config, ends_at), brokers))
    return ClusterTables(
        name=",".join(map(str, bootstrap)), cluster_id=cluster.cluster_id, brokers=tables
    )


def _cluster(bootstrap: Sequence[Address], config: CommandConfig, *, controllers: bool) -> Cluster:
    problems = []
    for address in bootstrap:
        try:
            with connected(address, config.security, bound_s=config.timeout_s) as client:
                cluster = _listed_by(client, controllers=controllers)
            if cluster.brokers:
                return cluster
            problems.append(f"{address} lists no broker, not even itself; is it still starting?")
        except PROBLEMS as error:
            problems.append(str(error))
    raise ConnectionFailed("; ".join(problems))


def _listed_by(client: ClusterClient, *, controllers: bool) -> Cluster:
    try:
        return client.cluster(controllers=controllers)
    except ConnectionFailed as error:
        is_controller = is_of_controller(client.table)
        if is_controller == controllers:
            raise
        what, option = (
            ("controller", "--bootstrap-controller")
            if is_controller
            else ("broker", "--bootstrap-server")
        )
        raise ConnectionFailed(f"{error}: it is a {what}; give its address to {option}") from error


def _table_of(broker: ListedBroker, config: CommandConfig, ends_at: float) -> BrokerTable:
    listed = BrokerTable(
        node_id=broker.node_id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        is_fenced=broker.is_fenced,
    )
    if time.monotonic() > ends_at:
        reason = f"not asked: the brokers before it took more than {ALL_BROKERS_BOUND_S:g} s"
        return replace(listed, problem=reason)
    address = Address(broker.host, broker.port)
    try:
        with connected(address, config.security, bound_s=config.timeout_s) as client:
            answer = client.table
    except PROBLEMS as error:
        return replace(listed, problem=str(error))
    ranges = {each.api_key: Range(each.min_version, each.max_version) for each in answer.api_keys}
    return replace(
        listed,
        ranges=ranges,
        refused=refused_with(ranges),
        features={each.name: each.max_version_level for each in answer.finalized_features},
    )
