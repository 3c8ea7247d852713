"""Faults against KIP-1242.rebootstrap-forgets-ids, one per rebootstrap reason."""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import (
    ClientError,
    ConnectionLost,
    RebootstrapRequired,
)
from reference_model.clients.model.negotiation import REBOOTSTRAPS_AFTER_1_S
from reference_model.faults.clients.kip_1242 import AskingWith, Ids
from reference_model.faults.clients.registry import fault


class _RemembersIds(AskingWith):
    """Gives ids once to the bootstrap server when it begins again there, if no metadata named that server."""

    def is_remembered_after(self, error: ClientError) -> bool:
        raise NotImplementedError

    def remembered(self, cluster_id: str | None, node_id: int) -> Ids:
        return cluster_id, node_id

    def after_failure(self, error: ClientError) -> None:
        nodes, cluster_id = self.cluster.nodes, self.cluster.cluster_id
        is_elsewhere = all(each.address != self.bootstrap for each in nodes)
        if nodes and is_elsewhere and self.is_remembered_after(error):
            self.notes.setdefault("old", self.remembered(cluster_id, nodes[0].node_id))
        super().after_failure(error)

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        ids = self.notes.get("old") if link.node is None else None
        if ids is None:
            return super().negotiated_table(link)
        self.notes["old"] = None
        return self.table_with(link, ids)


@fault("KIP-1242.rebootstrap-forgets-ids")
class IdsOutliveTheLastUsableNode(_RemembersIds):
    """Gives the bootstrap server the ids of its first node if no connection to a node is left."""

    def is_remembered_after(self, error: ClientError) -> bool:
        return isinstance(error, ConnectionLost)


@fault("KIP-1242.rebootstrap-forgets-ids")
class IdsOutliveARebootstrapByMetadata(_RemembersIds):
    """Gives the bootstrap server the ids of its first node if Metadata demanded to bootstrap again."""

    def is_remembered_after(self, error: ClientError) -> bool:
        return isinstance(error, RebootstrapRequired)


@fault("KIP-1242.rebootstrap-forgets-ids")
class ClusterIdOutlivesTheWait(_RemembersIds):
    """Gives the bootstrap server the old cluster id alone if it waited in vain for metadata, as its options say."""

    def is_remembered_after(self, error: ClientError) -> bool:
        return isinstance(error, ConnectionLost) and REBOOTSTRAPS_AFTER_1_S in self.options

    def remembered(self, cluster_id: str | None, node_id: int) -> Ids:
        return cluster_id, -1
