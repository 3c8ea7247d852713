"""The planted fault of the toy's client."""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link
from reference_model.faults.clients.registry import FAULTS as FAULTS
from reference_model.faults.clients.registry import fault
from tests.proposals.toy.kip_9999.client import PingingClient


@fault("KIP-9999.ping-only-if-listed")
class NeverPings(PingingClient):
    """Does not ping."""

    def may_ping(self, link: Link) -> bool:
        return False
