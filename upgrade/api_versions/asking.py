"""Requests to every broker of a cluster for its version table.

A broker that cannot be asked does not stop the requests to the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict

from fixtures.cleanup.unwaited_threads import UnwaitedThreads
from fixtures.client.addresses import Address
from fixtures.client.cluster_client import (
    PROBLEMS,
    ClusterClient,
    ClusterMetadata,
    ListedBroker,
    connected,
    is_of_controller,
)
from fixtures.client.command_config import CommandConfig
from fixtures.errors import ConnectionFailed
from reference_model.profiles.known_apis import Range
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables
from upgrade.api_versions.recorded_tables import refused_with

ALL_BROKERS_BOUND_S = 60.0
"""How long all addresses and brokers together are waited for. A healthy cluster of 400 brokers takes a few seconds;
where many do not answer, each takes the bound of each step."""
MAX_BROKERS = 10_000
"""The brokers of a cluster that lists more are not asked: 150,000 of their tables took a gigabyte."""
AT_ONCE = 64
"""This many brokers are asked at the same time."""


def ask_cluster(bootstrap: Sequence[Address], config: CommandConfig, *, controllers: bool) -> ClusterTables:
    """Ask one of the addresses for the brokers of its cluster, and each of these for its table.

    A controller that does not list its controllers, for example because the quorum has no leader, is asked for its own
    table, and so are the other addresses.

    Args:
        bootstrap: addresses of brokers, or of controllers; the first that answers is asked.
        config: how they are reached.
        controllers: whether the controllers are asked, and not the brokers.

    Raises:
        ConnectionFailed: none of the addresses lists brokers in time; the message has the reason for each.
    """
    ends_at = time.monotonic() + ALL_BROKERS_BOUND_S
    note = ""
    try:
        cluster = _cluster(bootstrap, config, ends_at, controllers=controllers)
    except _ListsNoControllers as lack:
        note = f"{lack}; shown is what the given addresses answer, without ids"
        cluster = ClusterMetadata(nodes=_without_ids(bootstrap))
    brokers = sorted(cluster.nodes, key=lambda each: each.node_id, reverse=bool(note))
    return ClusterTables(
        name=",".join(map(str, bootstrap)),
        cluster_id=cluster.cluster_id,
        brokers=tables_of(brokers, config, ends_at, ask=_table_of),
        note=note,
    )


class _ListsNoControllers(Exception):
    """A controller answers, but does not list the controllers of its quorum."""


def _without_ids(addresses: Sequence[Address]) -> tuple[ListedBroker, ...]:
    """Return addresses as controllers with unknown ids.

    The ids are -1, -2 and so on, as Kafka's clients number bootstrap addresses.
    """
    return tuple(ListedBroker(-number, each.host, each.port) for number, each in enumerate(addresses, 1))


def _cluster(
    bootstrap: Sequence[Address], config: CommandConfig, ends_at: float, *, controllers: bool
) -> ClusterMetadata:
    problems = []
    for address in bootstrap:
        # In a thread: the resolver of a host name knows no deadline.
        asked = UnwaitedThreads(1).submit(_cluster_at, address, config, controllers=controllers)
        try:
            return asked.result(timeout=max(0, ends_at - time.monotonic()))
        except PROBLEMS as error:
            problems.append(str(error))
        except TimeoutError:
            problems.append(f"{address} and those before it took more than {ALL_BROKERS_BOUND_S:g} s")
            break
    raise ConnectionFailed("; ".join(problems))


def _cluster_at(address: Address, config: CommandConfig, *, controllers: bool) -> ClusterMetadata:
    with connected(address, config.security, bound_s=config.timeout_s) as client:
        cluster = _listed_by(client, controllers=controllers)
    if not cluster.nodes:
        raise ConnectionFailed(f"{address} lists no broker, not even itself; is it still starting?")
    if len(cluster.nodes) > MAX_BROKERS:
        raise ConnectionFailed(
            f"{address} lists {len(cluster.nodes):,} brokers; this tool asks at most {MAX_BROKERS:,}"
        )
    return cluster


def _listed_by(client: ClusterClient, *, controllers: bool) -> ClusterMetadata:
    try:
        return client.cluster(controllers=controllers)
    except ConnectionFailed as error:
        is_controller = is_of_controller(client.table)
        if is_controller and controllers:
            raise _ListsNoControllers(str(error)) from error
        if is_controller == controllers:
            raise
        what, option = ("controller", "--bootstrap-controller") if is_controller else ("broker", "--bootstrap-server")
        raise ConnectionFailed(f"{error}: it is a {what}; give its address to {option}") from error


def tables_of(
    brokers: Sequence[ListedBroker],
    config: CommandConfig,
    ends_at: float,
    *,
    ask: Callable[[ListedBroker, CommandConfig], BrokerTable],
    at_once: int = AT_ONCE,
) -> list[BrokerTable]:
    """Ask brokers, several at once, until all have answered or the time for all is over.

    Args:
        brokers: the brokers.
        config: how they are reached.
        ends_at: when the time is over, in seconds of `time.monotonic`.
        ask: asks one broker.
        at_once: how many are asked at the same time.
    """
    threads = UnwaitedThreads(at_once)
    futures = [threads.submit(ask, broker, config) for broker in brokers]
    wait(futures, timeout=max(0, ends_at - time.monotonic()))
    return [_answered(*each) for each in zip(brokers, futures, strict=True)]


def _answered(broker: ListedBroker, future: Future[BrokerTable]) -> BrokerTable:
    """Return a broker's table; without one by now, give up the broker."""
    if future.cancel():
        return BrokerTable(
            **asdict(broker),
            problem=f"not asked: the brokers before it took more than {ALL_BROKERS_BOUND_S:g} s",
        )
    if not future.done():
        return BrokerTable(
            **asdict(broker),
            problem=f"no table within the {ALL_BROKERS_BOUND_S:g} s for all brokers",
        )
    return future.result()


def _table_of(broker: ListedBroker, config: CommandConfig) -> BrokerTable:
    address = Address(broker.host, broker.port)
    try:
        with connected(address, config.security, bound_s=config.timeout_s) as client:
            answer = client.table
    except PROBLEMS as error:
        return BrokerTable(**asdict(broker), problem=str(error))
    ranges = {each.api_key: Range(each.min_version, each.max_version) for each in answer.api_keys}
    return BrokerTable(
        **asdict(broker),
        ranges=ranges,
        refused=refused_with(ranges),
        features={each.name: each.max_version_level for each in answer.finalized_features},
    )
