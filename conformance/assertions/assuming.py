"""Conditions without which an example says nothing about its target."""

from __future__ import annotations

from hypothesis import assume

from conformance.assertions.errors import NotSeen
from fixtures.under_test.broker import Broker
from strategies.api_versions import UnservedRequest
from strategies.cluster_ids import Ids
from wire.exchange import Request
from wire.primitives import INT16_MAX


def assume_seen(condition: bool) -> None:
    """Reject the example unless the suite has and sees what it takes to judge it.

    Raises:
        NotSeen: it does not.
    """
    if not condition:
        raise NotSeen


def assume_served(broker: Broker, *sent: Request) -> None:
    """Reject the example unless the target serves the version of every request."""
    assume(all(0 <= request.api_version <= broker.max_version for request in sent))


def assume_unserved(broker: Broker, sent: Request) -> None:
    """Reject the example unless the version is above the highest that the target serves."""
    assume(sent.api_version > broker.max_version)


def request_above(broker: Broker, drawn: UnservedRequest) -> Request:
    """Return a request in a version above the target's highest; reject the example if there is no such version."""
    assume(broker.max_version < INT16_MAX)
    return drawn.above(broker.max_version)


def right_ids(broker: Broker) -> Ids:
    """Return the ids of the target broker; a property that needs them is not applicable without them."""
    identity = broker.identity
    assert identity.cluster_id is not None
    assert identity.node_id is not None
    return Ids(identity.cluster_id, identity.node_id)
