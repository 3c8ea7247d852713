"""Adds controllers to a dynamic quorum (KIP-853).

`kafka-metadata-quorum add-controller` sends the same request.
"""

from __future__ import annotations

import base64
from uuid import UUID

from fixtures.artefacts.schema_jars import api_catalogue
from fixtures.client.own_connection import NO_ANSWER, ask
from fixtures.errors import BrokerDidNotStart
from fixtures.launchers.nodes import ControllerNode
from reference_model.profiles.listeners import CONTROLLER
from strategies.minimal_requests import minimal_request
from wire.api_keys import ADD_RAFT_VOTER_KEY
from wire.error_codes import ErrorCode
from wire.errors import DecodeError

_VERSION = 0
_LIMIT_S = 30.0
"""How long the leader may take to see that the new voter has caught up. Measured: less than 1 s."""


def add_voter(leader: ControllerNode, added: ControllerNode) -> None:
    """Add a node that runs to the quorum, and wait until it is a voter.

    Args:
        leader: the leader of the quorum.
        added: the node.

    Raises:
        BrokerDidNotStart: the leader refuses, or does not answer.
    """
    api = api_catalogue().find(ADD_RAFT_VOTER_KEY, _VERSION)
    assert api is not None
    address = added.addresses[CONTROLLER]
    request = minimal_request(
        api,
        _VERSION,
        values={
            "cluster_id": leader.cluster_id,
            "timeout_ms": int(_LIMIT_S * 1000),
            "voter_id": added.node_id,
            "voter_directory_id": str(UUID(bytes=base64.urlsafe_b64decode(f"{added.directory_id}=="))),
            "listeners": ({"name": CONTROLLER.upper(), "host": address.host, "port": address.port},),
        },
    )
    try:
        payload = ask(leader.addresses[CONTROLLER], request, changes_the_broker=True, bound_s=_LIMIT_S * 2)
        code = api.read_response(payload, _VERSION).error_code
    except (*NO_ANSWER, DecodeError) as error:
        raise BrokerDidNotStart(f"node {added.node_id} cannot be added to the quorum: {error}") from error
    if code:
        name = ErrorCode(code).name
        raise BrokerDidNotStart(
            f"node {added.node_id} cannot be added to the quorum: node {leader.node_id} answers {name} ({code})"
        )
