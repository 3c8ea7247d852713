"""Faults against the clauses of KIP-1242.

A broker refuses ids that are not its own, so that a client which always sends wrong ones would not work at all, and could
not be judged. These faults are such that the client works with a healthy broker, after another attempt at the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_model.clients.model.client_connections import KnownCluster, Link, Range
from reference_model.clients.model.client_errors import (
    BrokerError,
    RebootstrapRequired,
    RequestRefused,
)
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import WITHOUT_CLUSTER_CHECK, WITHOUT_REBOOTSTRAP
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.error_codes import ErrorCode
from wire.primitives import write_int32

Ids = tuple[str | None, int]
ExpectedIds = Callable[[Link], Ids]
ApiVersionsBody = Callable[[Link, int], bytes]
RaiseError = Callable[[Link, int], None]
MetadataFrom = Callable[[Link], KnownCluster]
NegotiatedTable = Callable[[Link], Mapping[int, Range]]

NO_IDS: Ids = (None, -1)
OLD_CLUSTER_ID = "cluster-of-last-week-0"


def _once(client: ModelClient, name: str) -> bool:
    """Return whether this is the first call with a name."""
    if name in client.notes:
        return False
    client.notes[name] = True
    return True


def _asking_with(
    client: ModelClient, decide: NegotiatedTable, link: Link, ids: Ids
) -> Mapping[int, Range]:
    """Ask with one id alone; the refusal counts as a passing error, because the client could not work otherwise."""
    vars(client)["expected_ids"] = lambda _: ids
    try:
        return decide(link)
    except RequestRefused as error:
        raise BrokerError("the broker refused the ids") from error
    finally:
        del vars(client)["expected_ids"]


# KIP-1242.bootstrap-sends-nothing


def _is_first(client: ModelClient, link: Link) -> bool:
    """Return whether this is the first connection of a client with the check; it may rebootstrap after it."""
    return link.number == 0 and not client.options


@fault(ModelClient.expected_ids, "KIP-1242.bootstrap-sends-nothing")
def ids_of_an_earlier_run_are_sent_first(
    client: ModelClient, decide: ExpectedIds, link: Link
) -> Ids:
    """Sends the ids of its last run on its first connection."""
    return (OLD_CLUSTER_ID, 1) if _is_first(client, link) else decide(link)


@fault(
    ModelClient.negotiated_table,
    "KIP-1242.bootstrap-sends-nothing",
    "KIP-1242.then-sends-both",
)
def configured_cluster_is_sent_first(
    client: ModelClient, decide: NegotiatedTable, link: Link
) -> Mapping[int, Range]:
    """Sends a cluster id from its configuration on its first connection, without a node id."""
    if not _is_first(client, link):
        return decide(link)
    return _asking_with(client, decide, link, (OLD_CLUSTER_ID, -1))


@fault(
    ModelClient.negotiated_table,
    "KIP-1242.bootstrap-sends-nothing",
    "KIP-1242.then-sends-both",
)
def node_0_is_expected_first(
    client: ModelClient, decide: NegotiatedTable, link: Link
) -> Mapping[int, Range]:
    """Sends node id 0 instead of -1 on its first connection."""
    if not _is_first(client, link):
        return decide(link)
    return _asking_with(client, decide, link, (None, 0))


# KIP-1242.then-sends-both


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def ids_are_never_sent(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Speaks v5 and never sends the ids that it has."""
    return NO_IDS


@fault(ModelClient.negotiated_table, "KIP-1242.then-sends-both")
def cluster_id_is_first_sent_alone(
    client: ModelClient, decide: NegotiatedTable, link: Link
) -> Mapping[int, Range]:
    """Leaves out the node id on its first connection to a node."""
    cluster_id, _ = client.expected_ids(link)
    if cluster_id is None or not _once(client, "alone"):
        return decide(link)
    return _asking_with(client, decide, link, (cluster_id, -1))


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def first_node_is_expected_everywhere(client: ModelClient, decide: ExpectedIds, link: Link) -> Ids:
    """Sends the id of the first node to every node."""
    cluster_id, node_id = decide(link)
    return cluster_id, node_id if cluster_id is None else client.cluster.nodes[0].node_id


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def ids_are_not_sent_after_authentication(
    client: ModelClient, decide: ExpectedIds, link: Link
) -> Ids:
    """Sends no ids on connections with SASL."""
    return NO_IDS if link.is_authenticated else decide(link)


# KIP-1242.rebootstraps-on-129


@fault(ModelClient.raise_error, "KIP-1242.rebootstraps-on-129")
def rebootstrap_after_authentication_is_overlooked(
    client: ModelClient, decide: RaiseError, link: Link, error_code: int
) -> None:
    """Sends Metadata on a connection with SASL that got REBOOTSTRAP_REQUIRED."""
    if error_code == ErrorCode.REBOOTSTRAP_REQUIRED and link.is_authenticated:
        client.metadata_in(link, 0)
    decide(link, error_code)


@fault(ModelClient.raise_error, "KIP-1242.rebootstraps-on-129")
def rebootstrap_is_an_ordinary_error(
    client: ModelClient, decide: RaiseError, link: Link, error_code: int
) -> None:
    """Treats REBOOTSTRAP_REQUIRED like any other error, and goes on with the nodes that it knows."""
    if error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
        raise BrokerError("the broker responded with an unknown error")
    decide(link, error_code)


@fault(ModelClient.raise_error, "KIP-1242.rebootstraps-on-129")
def rebootstrap_is_overlooked(
    client: ModelClient, decide: RaiseError, link: Link, error_code: int
) -> None:
    """Sends Metadata on a connection that got REBOOTSTRAP_REQUIRED before it begins again."""
    if error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
        client.metadata_in(link, 0)
    decide(link, error_code)


@fault(ModelClient.attempt, "KIP-1242.rebootstraps-on-129")
def rebootstrap_of_a_bootstrap_server_ends_the_client(
    client: ModelClient, decide: Callable[[], str]
) -> str:
    """Fails for good after REBOOTSTRAP_REQUIRED while it bootstraps."""
    if "dead" in client.notes:
        raise BrokerError("the client is closed")
    is_bootstrapping = not client.cluster.nodes
    try:
        return decide()
    except RebootstrapRequired:
        if is_bootstrapping and not client.cluster.nodes:
            client.notes["dead"] = True
        raise


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


@fault(ModelClient.metadata_from, "KIP-1242.check-can-be-disabled")
def disabled_check_needs_a_newer_broker(
    client: ModelClient, decide: MetadataFrom, link: Link
) -> KnownCluster:
    """Does not use a broker that knows no ids if the check is disabled."""
    known = decide(link)
    if client.options and _cannot_check(link):
        raise RequestRefused("the broker cannot check the cluster")
    return known


# KIP-1242.older-broker-unaffected


def _cannot_check(link: Link) -> bool:
    """Return whether the table of a connection ends before the version with the check."""
    newest = (link.table or {}).get(API_VERSIONS_KEY, (0, 0))[1]
    return newest < FIRST_VERSION_WITH_CLUSTER_CHECK


@fault(ModelClient.metadata_from, "KIP-1242.older-broker-unaffected", "KIP-97.mixed-cluster")
def several_nodes_without_the_check_are_refused(
    client: ModelClient, decide: MetadataFrom, link: Link
) -> KnownCluster:
    """Does not use a cluster of several nodes that cannot check ids."""
    known = decide(link)
    if len(known.nodes) > 1 and _cannot_check(link) and not client.options:
        raise RequestRefused("the broker cannot check the cluster")
    return known


@fault(
    ModelClient.api_versions_body,
    "KIP-1242.older-broker-unaffected",
    "KIP-35.client-requests-decode",
)
def node_id_is_appended_to_requests_without_a_body(
    client: ModelClient, decide: ApiVersionsBody, link: Link, version: int
) -> bytes:
    """Sends the id of a discovered node in v0 to v2, whose requests are empty."""
    body = decide(link, version)
    return body if body or link.node is None else write_int32(link.node.node_id)


@fault(
    ModelClient.api_versions_body,
    "KIP-1242.older-broker-unaffected",
    "KIP-35.client-requests-decode",
)
def node_id_is_appended_to_older_requests(
    client: ModelClient, decide: ApiVersionsBody, link: Link, version: int
) -> bytes:
    """Sends the node id in versions that have none, if there are several nodes."""
    body = decide(link, version)
    has_room = FIRST_FLEXIBLE_VERSION <= version < FIRST_VERSION_WITH_CLUSTER_CHECK
    return body + write_int32(1) if has_room and len(client.cluster.nodes) > 1 else body


# KIP-1242.misrouted-cluster-recovers


@fault(ModelClient.attempt, "KIP-1242.misrouted-cluster-recovers")
def rebootstrap_of_a_node_ends_the_client(client: ModelClient, decide: Callable[[], str]) -> str:
    """Fails for good after REBOOTSTRAP_REQUIRED from a node that it had discovered."""
    if "dead" in client.notes:
        raise BrokerError("the client is closed")
    try:
        return decide()
    except RebootstrapRequired:
        if client.cluster.nodes:
            client.notes["dead"] = True
        raise


@fault(ModelClient.metadata_from, "KIP-1242.misrouted-cluster-recovers")
def another_cluster_is_refused(
    client: ModelClient, decide: MetadataFrom, link: Link
) -> KnownCluster:
    """Does not use any other cluster than the first one, even after it has bootstrapped again."""
    known = decide(link)
    if known.cluster_id != client.notes.setdefault("cluster", known.cluster_id):
        raise RequestRefused("the cluster has changed")
    return known


@fault(ModelClient.metadata_from, "KIP-1242.misrouted-cluster-recovers")
def moved_nodes_are_refused(client: ModelClient, decide: MetadataFrom, link: Link) -> KnownCluster:
    """Does not use nodes that have changed places since it first saw them."""
    known = decide(link)
    if known.nodes != client.notes.setdefault("nodes", known.nodes):
        raise RequestRefused("the nodes have moved")
    return known
