"""The model broker of the toy, and its planted fault."""

from __future__ import annotations

import dataclasses

from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.faults.planted import Faults
from tests.proposals.toy.kip_9999.messages import PING_KEY
from wire.api_versions import ApiVersion

FAULTS = Faults()


class PingBroker:
    """Lists Ping."""

    min_version = 0

    def __init__(self, reference: ReferenceBroker) -> None:
        ping = ApiVersion(api_key=PING_KEY, min_version=self.min_version, max_version=1)
        table = (*reference.profile.api_keys, ping)
        reference.profile = dataclasses.replace(reference.profile, api_keys=table, served_keys=table)
        self._reference = reference

    def connect(self) -> BrokerConnection:
        """Open a new connection."""
        return self._reference.connect()


@FAULTS.planting("KIP-9999.ping-listed")
class PingBeginsWithV1(PingBroker):
    """Lists Ping from v1."""

    min_version = 1
