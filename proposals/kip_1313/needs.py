"""Prerequisites of the KIP-1313 properties for brokers and clients.

Each has the reason why a clause does not apply without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from proposals.kip_1313.assertions import claims_instance_ids
from proposals.kip_1313.client_rules import MEMBER_KEYS, sends_instance_ids
from proposals.kip_1313.messages import OFFSET_DELETE_KEY, TELEMETRY_KEYS
from proposals.kip_1313.old_telemetry import serves_old_telemetry
from proposals.kip_1313.scripts import claiming_cluster
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY
from wire.sasl import PLAIN


def _may_log_in(broker: Broker) -> bool:
    access = broker.running.sasl
    is_there = access is not None and PLAIN in access.usable
    return is_there and claims_instance_ids(broker, API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY)


BROKER_NEEDS: Mapping[str, tuple[Callable[[Broker], bool], str]] = {
    "instance_ids": (
        lambda broker: claims_instance_ids(broker, *((API_VERSIONS_KEY,) if broker.asks_for_authentication else ())),
        "the target does not claim KIP-1313, a proposal: it lists no OffsetDelete v1, the first request with header v3 (or no "
        "ApiVersions with that header, where nothing else may come first)",
    ),
    "telemetry_ids": (
        lambda broker: claims_instance_ids(broker, *TELEMETRY_KEYS),
        "the target lists no v1 of GetTelemetrySubscriptions and PushTelemetry, which KIP-1313, a proposal, adds",
    ),
    "old_telemetry": (
        serves_old_telemetry,
        "the target serves no GetTelemetrySubscriptions v0, whether its table lists it or not",
    ),
    "login_with_id": (
        lambda broker: not broker.asks_for_authentication or _may_log_in(broker),
        "the target lists no version of ApiVersions and SaslAuthenticate with header v3, or has no user that the suite "
        "may authenticate as",
    ),
    "api_versions_ids": (
        lambda broker: claims_instance_ids(broker, API_VERSIONS_KEY),
        "the target lists no version of ApiVersions with header v3",
    ),
    "offset_delete_ids": (
        lambda broker: claims_instance_ids(broker, OFFSET_DELETE_KEY),
        "the target is a controller, which has no OffsetDelete",
    ),
}
"""The needs, by the name that the mark `needs` uses: whether a broker provides it, and why a clause does not apply
otherwise."""


def _sends_api(api_keys: Iterable[int], client: ClientUnderTest) -> bool:
    recording = client.play(claiming_cluster()).recording
    return any(each.api_key in api_keys for each in recording.requests)


CLIENT_NEEDS: Mapping[str, tuple[Callable[[ClientUnderTest], bool], str]] = {
    "instance_ids": (
        lambda client: sends_instance_ids(client.play(claiming_cluster()).recording),
        "the client sends no request with header v3 (KIP-1313, a proposal), even to a broker that lists them",
    ),
    "member_ids": (
        lambda client: _sends_api(MEMBER_KEYS, client),
        "the client joins no group whose protocol has heartbeats with an id of the client (KIP-848, KIP-932, KIP-1071)",
    ),
    "telemetry_ids": (
        lambda client: _sends_api(TELEMETRY_KEYS, client),
        "the client asks for no telemetry subscriptions",
    ),
    "reports_instance_id": (
        lambda client: bool(client.play(claiming_cluster()).result.instance_ids),
        "the driver of the client prints no client_instance_id, which it does if the library has an accessor for it",
    ),
}
"""The same of clients."""

NEEDS = {"brokers": BROKER_NEEDS, "clients": CLIENT_NEEDS}
"""All of them, by the folder of the properties that have them."""
