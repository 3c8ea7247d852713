"""What the model client says about itself after Metadata: KIP-1313, a proposal, gives its telemetry and its groups one id."""

from __future__ import annotations

from reference_model.clients.model.authentication import Authentication
from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.negotiation import own_ranges
from wire.api_keys import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    PUSH_TELEMETRY_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
)
from wire.codec import encode
from wire.instance_id_messages import (
    CLIENT_APIS,
    CONSUMER_GROUP_HEARTBEAT,
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
    SHARE_GROUP_HEARTBEAT,
)

GROUP_ID = "model-group"


class Introduction(Authentication):
    """Sends its id as a member of groups and as a source of telemetry to brokers that list these APIs."""

    def tell_who_it_is(self, link: Link) -> None:
        """Ask for telemetry subscriptions, push metrics and send heartbeats, each if the broker lists it in a version of this client."""
        for api_key, body_in in (
            (GET_TELEMETRY_SUBSCRIPTIONS_KEY, self.telemetry_body),
            (PUSH_TELEMETRY_KEY, self.push_body),
            (CONSUMER_GROUP_HEARTBEAT_KEY, self.heartbeat_body),
            (SHARE_GROUP_HEARTBEAT_KEY, self.share_heartbeat_body),
        ):
            if not self.may_send(link, api_key):
                continue
            version = self.version_of(link, api_key)
            header_version = CLIENT_APIS[api_key].request_header_version(version)
            self.exchange(link, api_key, version, body_in(link, version), header_version)

    def may_send(self, link: Link, api_key: int) -> bool:
        """Return whether both sides know an API that the client can do without."""
        return link.table is not None and api_key in link.table and api_key in own_ranges(link)

    def telemetry_body(self, link: Link, version: int) -> bytes:
        """Return the body of GetTelemetrySubscriptions; v0 has the client's own id, which v1 has in its header."""
        request = GET_TELEMETRY_SUBSCRIPTIONS.request
        message = request() if version > 0 else request(client_instance_id=self.instance_id)
        return encode(message, version=version)

    def push_body(self, link: Link, version: int) -> bytes:
        """Return the body of PushTelemetry without metrics; v0 has the client's own id, which v1 has in its header."""
        request = PUSH_TELEMETRY.request
        message = request() if version > 0 else request(client_instance_id=self.instance_id)
        return encode(message, version=version)

    def heartbeat_body(self, link: Link, version: int) -> bytes:
        """Return the body of a heartbeat that joins a group."""
        message = CONSUMER_GROUP_HEARTBEAT.request(
            group_id=GROUP_ID, member_id=self.member_id(link), subscribed_topic_names=()
        )
        return encode(message, version=version)

    def share_heartbeat_body(self, link: Link, version: int) -> bytes:
        """Return the body of a heartbeat that joins a share group."""
        message = SHARE_GROUP_HEARTBEAT.request(
            group_id=GROUP_ID, member_id=self.share_member_id(link), subscribed_topic_names=()
        )
        return encode(message, version=version)

    def member_id(self, link: Link) -> str:
        """Return the id of the client as a member of a group."""
        return str(self.instance_id)

    def share_member_id(self, link: Link) -> str:
        """Return the id of the client as a member of a share group."""
        return str(self.instance_id)
