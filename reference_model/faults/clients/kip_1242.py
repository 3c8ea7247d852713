"""Faults against the clauses of KIP-1242.

A broker refuses ids that are not its own, so that a client which always sends wrong ones would not work at all, and
could not be judged. These faults are such that the client works with a healthy broker, after another attempt at the
latest.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import KnownCluster, Link, Range
from reference_model.clients.model.client_errors import (
    BrokerError,
    RebootstrapRequired,
    RequestRefused,
)
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import (
    WITHOUT_CLUSTER_CHECK,
    WITHOUT_IDS,
    WITHOUT_REBOOTSTRAP,
)
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.error_codes import ErrorCode
from wire.primitives import write_int32

Ids = tuple[str | None, int]

NO_IDS: Ids = (None, -1)
OLD_CLUSTER_ID = "cluster-of-last-week-0"


def _is_first_call(client: ModelClient, name: str) -> bool:
    """Return whether this is the first call with a name."""
    if name in client.notes:
        return False
    client.notes[name] = True
    return True


class AskingWith(ModelClient):
    """Asks with one id alone; the refusal counts as a passing error, because the client could not work otherwise."""

    def table_with(self, link: Link, ids: Ids) -> Mapping[int, Range]:
        vars(self)["expected_ids"] = lambda _: ids
        try:
            return super().negotiated_table(link)
        except RequestRefused as error:
            raise BrokerError("the broker refused the ids") from error
        finally:
            del vars(self)["expected_ids"]


# KIP-1242.bootstrap-sends-nothing


def _is_first(client: ModelClient, link: Link) -> bool:
    """Return whether this is the first connection of a client with the check; it may rebootstrap after it."""
    return link.number == 0 and not client.options


@fault("KIP-1242.bootstrap-sends-nothing")
class IdsOfAnEarlierRunAreSentFirst(ModelClient):
    """Sends the ids of its last run on its first connection."""

    def expected_ids(self, link: Link) -> Ids:
        return (OLD_CLUSTER_ID, 1) if _is_first(self, link) else super().expected_ids(link)


@fault("KIP-1242.bootstrap-sends-nothing", "KIP-1242.then-sends-both")
class ConfiguredClusterIsSentFirst(AskingWith):
    """Sends a cluster id from its configuration on its first connection, without a node id."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        if not _is_first(self, link):
            return super().negotiated_table(link)
        return self.table_with(link, (OLD_CLUSTER_ID, -1))


@fault("KIP-1242.bootstrap-sends-nothing", "KIP-1242.then-sends-both")
class Node0IsExpectedFirst(AskingWith):
    """Sends node id 0 instead of -1 on its first connection."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        if not _is_first(self, link):
            return super().negotiated_table(link)
        return self.table_with(link, (None, 0))


# KIP-1242.then-sends-both


@fault("KIP-1242.then-sends-both")
class IdsAreNeverSent(ModelClient):
    """Speaks v5 and never sends the ids that it has."""

    def expected_ids(self, link: Link) -> Ids:
        return NO_IDS


@fault("KIP-1242.then-sends-both")
class ClusterIdIsFirstSentAlone(AskingWith):
    """Leaves out the node id on its first connection to a node."""

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        cluster_id, _ = self.expected_ids(link)
        if cluster_id is None or not _is_first_call(self, "alone"):
            return super().negotiated_table(link)
        return self.table_with(link, (cluster_id, -1))


@fault("KIP-1242.then-sends-both")
class FirstNodeIsExpectedEverywhere(ModelClient):
    """Sends the id of the first node to every node."""

    def expected_ids(self, link: Link) -> Ids:
        cluster_id, node_id = super().expected_ids(link)
        return cluster_id, node_id if cluster_id is None else self.cluster.nodes[0].node_id


@fault("KIP-1242.then-sends-both")
class IdsAreNotSentAfterAuthentication(ModelClient):
    """Sends no ids on connections with SASL."""

    def expected_ids(self, link: Link) -> Ids:
        return NO_IDS if link.is_authenticated else super().expected_ids(link)


# KIP-1242.rebootstraps-on-129


@fault("KIP-1242.rebootstraps-on-129")
class RebootstrapAfterAuthenticationIsOverlooked(ModelClient):
    """Sends Metadata on a connection with SASL that got REBOOTSTRAP_REQUIRED."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.REBOOTSTRAP_REQUIRED and link.is_authenticated:
            self.metadata_in(link, 0)
        super().raise_error(link, error_code)


@fault("KIP-1242.rebootstraps-on-129")
class RebootstrapIsAnOrdinaryError(ModelClient):
    """Treats REBOOTSTRAP_REQUIRED like any other error, and goes on with the nodes that it knows."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            raise BrokerError("the broker responded with an unknown error")
        super().raise_error(link, error_code)


@fault("KIP-1242.rebootstraps-on-129")
class RebootstrapIsOverlooked(ModelClient):
    """Sends Metadata on a connection that got REBOOTSTRAP_REQUIRED before it begins again."""

    def raise_error(self, link: Link, error_code: int) -> None:
        if error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self.metadata_in(link, 0)
        super().raise_error(link, error_code)


@fault("KIP-1242.rebootstraps-on-129")
class RebootstrapOfABootstrapServerEndsTheClient(ModelClient):
    """Fails for good after REBOOTSTRAP_REQUIRED while it bootstraps."""

    def attempt(self) -> str:
        if "dead" in self.notes:
            raise BrokerError("the client is closed")
        is_bootstrapping = not self.cluster.nodes
        try:
            return super().attempt()
        except RebootstrapRequired:
            if is_bootstrapping and not self.cluster.nodes:
                self.notes["dead"] = True
            raise


# KIP-1242.check-can-be-disabled


class _IdsDespite(ModelClient):
    """Sends ids although an option forbids them."""

    def ids_despite(self, link: Link, option: str) -> Ids:
        options, self.options = self.options, self.options - {option}
        try:
            return super().expected_ids(link)
        finally:
            self.options = options


@fault("KIP-1242.check-can-be-disabled")
class DisabledClusterCheckIsIgnored(_IdsDespite):
    """Sends both ids although the check is disabled."""

    def expected_ids(self, link: Link) -> Ids:
        return self.ids_despite(link, WITHOUT_CLUSTER_CHECK)


@fault("KIP-1242.check-can-be-disabled")
class DisabledRebootstrapIsIgnored(_IdsDespite):
    """Sends both ids although it may not rebootstrap."""

    def expected_ids(self, link: Link) -> Ids:
        return self.ids_despite(link, WITHOUT_REBOOTSTRAP)


@fault("KIP-1242.check-can-be-disabled")
class DisabledCheckLeavesTheNodeId(_IdsDespite):
    """Leaves out the cluster id alone if the check is disabled."""

    def expected_ids(self, link: Link) -> Ids:
        cluster_id, node_id = self.ids_despite(link, WITHOUT_CLUSTER_CHECK)
        return (None, node_id) if WITHOUT_CLUSTER_CHECK in self.options else (cluster_id, node_id)


@fault("KIP-1242.check-can-be-disabled")
class DisabledCheckNeedsANewerBroker(ModelClient):
    """Does not use a broker that knows no ids if the check is disabled."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if self.options and _cannot_check(link):
            raise RequestRefused("the broker cannot check the cluster")
        return known


@fault("KIP-1242.check-can-be-disabled")
class DisabledCheckNeedsABrokerWithoutNames(ModelClient):
    """Does not use a broker that knows its name, but no ids, if the check is disabled."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if WITHOUT_CLUSTER_CHECK in self.options and _knows_names_only(link):
            raise RequestRefused("the broker cannot check the cluster")
        return known


@fault("KIP-1242.check-can-be-disabled")
class DisabledRebootstrapNeedsV5(ModelClient):
    """Does not use a broker whose newest version is v4 if it may not rebootstrap."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if WITHOUT_REBOOTSTRAP in self.options and _newest_listed(link) == 4:
            raise RequestRefused("the broker is the newest one that cannot check the cluster")
        return known


@fault("KIP-1242.check-can-be-disabled")
class SeveralNodesWithNamesOnlyAreRefused(ModelClient):
    """Does not use several nodes that know its name, but no ids, if an option forbids the check."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if self.options & WITHOUT_IDS and len(known.nodes) > 1 and _knows_names_only(link):
            raise RequestRefused("the brokers cannot check the cluster")
        return known


# KIP-1242.older-broker-unaffected


def _newest_listed(link: Link) -> int:
    """Return the newest version of ApiVersions in the table of a connection."""
    return (link.table or {}).get(API_VERSIONS_KEY, (0, 0))[1]


def _knows_names_only(link: Link) -> bool:
    """Return whether the table of a connection ends at a version that has the client's name, but no ids."""
    return FIRST_FLEXIBLE_VERSION <= _newest_listed(link) < FIRST_VERSION_WITH_CLUSTER_CHECK


def _cannot_check(link: Link) -> bool:
    """Return whether the table of a connection ends before the version with the check."""
    return _newest_listed(link) < FIRST_VERSION_WITH_CLUSTER_CHECK


@fault("KIP-1242.older-broker-unaffected", "KIP-97.mixed-cluster")
class SeveralNodesWithoutTheCheckAreRefused(ModelClient):
    """Does not use a cluster of several nodes that cannot check ids."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if len(known.nodes) > 1 and _cannot_check(link) and not self.options:
            raise RequestRefused("the broker cannot check the cluster")
        return known


@fault("KIP-1242.older-broker-unaffected", "KIP-35.client-requests-decode")
class NodeIdIsAppendedToRequestsWithoutABody(ModelClient):
    """Sends the id of a discovered node in v0 to v2, whose requests are empty."""

    def api_versions_body(self, link: Link, version: int) -> bytes:
        body = super().api_versions_body(link, version)
        return body if body or link.node is None else write_int32(link.node.node_id)


@fault("KIP-1242.older-broker-unaffected", "KIP-35.client-requests-decode")
class NodeIdIsAppendedToOlderRequests(ModelClient):
    """Sends the node id in versions that have none, if there are several nodes."""

    def api_versions_body(self, link: Link, version: int) -> bytes:
        body = super().api_versions_body(link, version)
        has_room = FIRST_FLEXIBLE_VERSION <= version < FIRST_VERSION_WITH_CLUSTER_CHECK
        return body + write_int32(1) if has_room and len(self.cluster.nodes) > 1 else body


# KIP-1242.misrouted-cluster-recovers


@fault("KIP-1242.misrouted-cluster-recovers")
class RebootstrapOfANodeEndsTheClient(ModelClient):
    """Fails for good after REBOOTSTRAP_REQUIRED from a node that it had discovered."""

    def attempt(self) -> str:
        if "dead" in self.notes:
            raise BrokerError("the client is closed")
        try:
            return super().attempt()
        except RebootstrapRequired:
            if self.cluster.nodes:
                self.notes["dead"] = True
            raise


@fault("KIP-1242.misrouted-cluster-recovers")
class AnotherClusterIsRefused(ModelClient):
    """Does not use any other cluster than the first one, even after it has bootstrapped again."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if known.cluster_id != self.notes.setdefault("cluster", known.cluster_id):
            raise RequestRefused("the cluster has changed")
        return known


@fault("KIP-1242.misrouted-cluster-recovers")
class MovedNodesAreRefused(ModelClient):
    """Does not use nodes that have changed places since it first saw them."""

    def metadata_from(self, link: Link) -> KnownCluster:
        known = super().metadata_from(link)
        if known.nodes != self.notes.setdefault("nodes", known.nodes):
            raise RequestRefused("the nodes have moved")
        return known
