"""Faults against the clauses of KIP-1242."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_model.clients.faults.registry import fault
from reference_model.clients.model_client import (
    WITHOUT_CLUSTER_CHECK,
    WITHOUT_REBOOTSTRAP,
    BrokerError,
    ClientError,
    Link,
    ModelClient,
    RebootstrapRequired,
)
from wire.error_codes import ErrorCode

Ids = tuple[str | None, int]
ExpectedIds = Callable[[Link], Ids]
CONFIGURED_CLUSTER = "configured-cluster-000"
NO_IDS: Ids = (None, -1)


# KIP-1242.bootstrap-sends-nothing


@fault(ModelClient.expected_ids, "KIP-1242.bootstrap-sends-nothing")
def configured_cluster_is_sent_while_bootstrapping(
    client: ModelClient, decide: ExpectedIds, link: Link
) -> Ids:
    """Sends a cluster id from its configuration to the bootstrap server."""
    return (CONFIGURED_CLUSTER, -1) if link.node is None else decide(link)


@fault(ModelClient.expected_ids, "KIP-1242.bootstrap-sends-nothing")
def node_0_is_expected_while_bootstrapping(
    client: ModelClient, decide: ExpectedIds, link: Link
) -> Ids:
    """Sends node id 0 instead of -1 to the bootstrap server."""
    return (None, 0) if link.node is None else decide(link)


@fault(ModelClient.expected_ids, "KIP-1242.bootstrap-sends-nothing")
def cluster_id_is_empty_while_bootstrapping(
    client: ModelClient, decide: ExpectedIds, link: Link
) -> Ids:
    """Sends an empty cluster id instead of null to the bootstrap server."""
    return ("", -1) if link.node is None else decide(link)


# KIP-1242.then-sends-both


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def cluster_id_is_sent_alone(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Sends the cluster id without the node id."""
    return decide(link)[0], -1


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def node_id_is_sent_alone(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Sends the node id without the cluster id."""
    return None, decide(link)[1]


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def first_node_is_expected_everywhere(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Sends the id of the first node to every node."""
    cluster_id, node_id = decide(link)
    return cluster_id, node_id if cluster_id is None else client.cluster.nodes[0].node_id


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def ids_are_never_sent(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Speaks v5 and never sends the ids that it has."""
    return NO_IDS


# KIP-1242.rebootstraps-on-129


@fault(ModelClient.raise_error, "KIP-1242.rebootstraps-on-129")
def rebootstrap_is_an_ordinary_error(
    client: ModelClient, decide: Callable[[Link, int], None], link: Link, error_code: int
) -> None:
    """Treats REBOOTSTRAP_REQUIRED like any other error, and tries the same node again with the same ids."""
    if error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
        raise BrokerError("the broker responded with an unknown error")
    decide(link, error_code)


@fault(ModelClient.rebootstrap, "KIP-1242.rebootstraps-on-129")
def ids_survive_a_rebootstrap(client: ModelClient, decide: Callable[[], None]) -> None:
    """Goes back to the bootstrap server, but sends it the ids that it had before."""
    client.notes["cluster"] = client.cluster.cluster_id
    decide()


@fault(ModelClient.is_worth_retrying, "KIP-1242.rebootstraps-on-129")
def rebootstrap_ends_the_client(
    client: ModelClient, decide: Callable[[ClientError], bool], error: ClientError
) -> bool:
    """Reports REBOOTSTRAP_REQUIRED to the application instead of bootstrapping again."""
    return not isinstance(error, RebootstrapRequired) and decide(error)


# KIP-1242.check-can-be-disabled


def _ids_despite(client: ModelClient, decide: ExpectedIds, link: Link, option: str) -> Ids:
    options, client.options = client.options, client.options - {option}
    try:
        return decide(link)
    finally:
        client.options = options


@fault(ModelClient.expected_ids, "KIP-1242.check-can-be-disabled")
def disabled_cluster_check_is_ignored(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Sends both ids although the check is disabled."""
    return _ids_despite(client, decide, link, WITHOUT_CLUSTER_CHECK)


@fault(ModelClient.expected_ids, "KIP-1242.check-can-be-disabled")
def disabled_rebootstrap_is_ignored(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Sends both ids although it may not rebootstrap."""
    return _ids_despite(client, decide, link, WITHOUT_REBOOTSTRAP)


@fault(ModelClient.expected_ids, "KIP-1242.check-can-be-disabled")
def disabled_check_leaves_the_node_id(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Leaves out the cluster id alone if the check is disabled."""
    cluster_id, node_id = _ids_despite(client, decide, link, WITHOUT_CLUSTER_CHECK)
    return (None, node_id) if WITHOUT_CLUSTER_CHECK in client.options else (cluster_id, node_id)


__all__ = ["Mapping"]
