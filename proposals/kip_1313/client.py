"""The model client with KIP-1313: it sends its client instance id in header v3.

It uses the same id for its telemetry and its groups.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from types import MappingProxyType
from uuid import UUID, uuid4

from proposals.kip_1313.messages import (
    API_VERSIONS,
    API_VERSIONS_WITH_ID,
    CLIENT_APIS,
    CONSUMER_GROUP_HEARTBEAT,
    CONSUMER_GROUP_HEARTBEAT_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS,
    OFFSET_DELETE_KEY,
    PUSH_TELEMETRY,
    PUSH_TELEMETRY_KEY,
    SASL_APIS,
    SHARE_GROUP_HEARTBEAT,
    SHARE_GROUP_HEARTBEAT_KEY,
    STREAMS_GROUP_HEARTBEAT,
)
from proposals.kip_1313.streams_heartbeat import STREAMS_GROUP_HEARTBEAT_KEY
from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.clients.model.network import HostPort
from wire.api_keys import (
    API_VERSIONS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
    SASL_AUTHENTICATE_KEY,
)
from wire.codec import encode
from wire.header_versions import INSTANCE_ID_REQUEST_HEADER
from wire.headers import InstanceIdHeader, RequestHeader
from wire.message_schemas import Api

GROUP_ID = "model-group"


RANGES_OF_TODAY: Mapping[int, Range] = {
    **OWN_RANGES,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY: (0, 0),
    PUSH_TELEMETRY_KEY: (0, 0),
}
"""The versions that the client speaks with a broker of today, by API key."""
PROPOSED_RANGES: Mapping[int, Range] = {
    **OWN_RANGES,
    METADATA_KEY: (0, 14),
    SASL_AUTHENTICATE_KEY: (0, 3),
    GET_TELEMETRY_SUBSCRIPTIONS_KEY: (0, 1),
    PUSH_TELEMETRY_KEY: (0, 1),
    CONSUMER_GROUP_HEARTBEAT_KEY: (2, 2),
    SHARE_GROUP_HEARTBEAT_KEY: (2, 2),
    STREAMS_GROUP_HEARTBEAT_KEY: (2, 2),
    OFFSET_DELETE_KEY: (1, 1),
}
"""The same with a broker that claims the proposal, by listing OffsetDelete v1."""


class HeaderWithId(ModelClient):
    """Sends its id in the headers of requests to brokers that list them."""

    metadata_api = CLIENT_APIS[METADATA_KEY]
    sasl_apis: Mapping[int, Api] = MappingProxyType({**ModelClient.sasl_apis, **SASL_APIS})
    known_keys: Collection[int] = PROPOSED_RANGES.keys()

    @functools.cached_property
    def instance_id(self) -> UUID:
        """Its client instance id, the same for its whole life."""
        return uuid4()

    @functools.cached_property
    def _takes_ids(self) -> set[HostPort]:
        return set()

    def own_ranges(self, link: Link) -> Mapping[int, Range]:
        """Return the versions that the client speaks with the broker at the other end of a connection, by API key."""
        claims = link.table is not None and link.table.get(OFFSET_DELETE_KEY, (0, 0))[1] > 0
        return PROPOSED_RANGES if claims else RANGES_OF_TODAY

    def _table_from(self, link: Link, version: int) -> Mapping[int, Range]:
        """Ask a broker for its table, and remember whether it lists ApiVersions with header v3."""
        ranges = super()._table_from(link, version)
        if ranges.get(API_VERSIONS_KEY, (0, 0))[1] >= API_VERSIONS_WITH_ID:
            self._takes_ids.add(link.address)
        return ranges

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        """Return the version to ask in after one was refused; the broker may have been replaced by an older one."""
        self._takes_ids.discard(link.address)
        return super().version_after_refusal(link, refused, named)

    def newest_version(self, link: Link) -> int:
        """Return the version with header v3 only if a broker at this address has listed it.

        Older brokers cannot read that header.
        """
        is_read = link.address in self._takes_ids
        return API_VERSIONS_WITH_ID if is_read else super().newest_version(link)

    def _header_of_api_versions(self, version: int) -> int:
        """Return the header version of a request for the table."""
        return API_VERSIONS.request_header_version(version)

    def client_id_for(self, link: Link, header_version: int) -> str | None:
        """Return the client id of a request, or None for a later request with header v3.

        The first request has the client id with any header.
        """
        is_later = link.last_correlation_id > 0
        if is_later and header_version == INSTANCE_ID_REQUEST_HEADER:
            return None
        return super().client_id_for(link, header_version)

    def completed(self, link: Link, header: RequestHeader) -> InstanceIdHeader:
        """Return a header with the client instance id."""
        parts = {each.name: getattr(header, each.name) for each in dataclasses.fields(header)}
        return InstanceIdHeader(**parts, client_instance_id=self.instance_id_for(link))

    def instance_id_for(self, link: Link) -> UUID:
        """Return the client instance id that a request has on a connection."""
        return self.instance_id

    def reported_id(self) -> UUID | None:
        """Return the client instance id that the application gets when it asks for it; no broker is asked."""
        return self.instance_id


class InstanceIdClient(HeaderWithId):
    """Sends its id also as a member of groups, and as a source of telemetry to brokers that list these APIs."""

    def after_metadata(self, link: Link) -> None:
        """Ask for telemetry subscriptions, push metrics and send heartbeats.

        The client sends each request only if the broker lists it in a version that the client speaks.
        """
        super().after_metadata(link)
        for api_key, body_in in (
            (GET_TELEMETRY_SUBSCRIPTIONS_KEY, self.telemetry_body),
            (PUSH_TELEMETRY_KEY, self.push_body),
            (CONSUMER_GROUP_HEARTBEAT_KEY, self.heartbeat_body),
            (SHARE_GROUP_HEARTBEAT_KEY, self.share_heartbeat_body),
            (STREAMS_GROUP_HEARTBEAT_KEY, self.streams_heartbeat_body),
        ):
            if not self.may_send(link, api_key):
                continue
            version = self.version_of(link, api_key)
            header_version = CLIENT_APIS[api_key].request_header_version(version)
            self.exchange(link, api_key, version, body_in(link, version), header_version)

    def may_send(self, link: Link, api_key: int) -> bool:
        """Return whether both sides share a version of an API that the client can do without."""
        own = self.own_ranges(link).get(api_key)
        listed = None if link.table is None else link.table.get(api_key)
        if own is None or listed is None:
            return False
        return max(own[0], listed[0]) <= min(own[1], listed[1])

    def telemetry_body(self, link: Link, version: int) -> bytes:
        """Return the body of GetTelemetrySubscriptions."""
        return self._about_telemetry(GET_TELEMETRY_SUBSCRIPTIONS, version)

    def push_body(self, link: Link, version: int) -> bytes:
        """Return the body of PushTelemetry without metrics."""
        return self._about_telemetry(PUSH_TELEMETRY, version)

    def _about_telemetry(self, api: Api, version: int) -> bytes:
        """Return the body of a request about telemetry; v0 has the client's own id, which v1 has in its header."""
        ids = {} if version > 0 else {"client_instance_id": self.instance_id}
        return encode(api.request(**ids), version=version)

    def heartbeat_body(self, link: Link, version: int) -> bytes:
        """Return the body of a heartbeat that joins a group."""
        return _joining(CONSUMER_GROUP_HEARTBEAT, self.member_id(link), version)

    def share_heartbeat_body(self, link: Link, version: int) -> bytes:
        """Return the body of a heartbeat that joins a share group."""
        return _joining(SHARE_GROUP_HEARTBEAT, self.share_member_id(link), version)

    def streams_heartbeat_body(self, link: Link, version: int) -> bytes:
        """Return the body of a heartbeat that joins a streams group; it names no topics."""
        message = STREAMS_GROUP_HEARTBEAT.request(group_id=GROUP_ID, member_id=self.streams_member_id(link))
        return encode(message, version=version)

    def member_id(self, link: Link) -> str:
        """Return the id of the client as a member of a group."""
        return str(self.instance_id)

    def share_member_id(self, link: Link) -> str:
        """Return the id of the client as a member of a share group."""
        return str(self.instance_id)

    def streams_member_id(self, link: Link) -> str:
        """Return the id of the client as a member of a streams group."""
        return str(self.instance_id)


def _joining(api: Api, member_id: str, version: int) -> bytes:
    message = api.request(group_id=GROUP_ID, member_id=member_id, subscribed_topic_names=())
    return encode(message, version=version)
