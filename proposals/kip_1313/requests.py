"""Requests with header v3, and the requests around them on a connection.

The header is from KIP-1313, a proposal.

Which APIs a target has in a version with that header is known only when it is judged. So a drawn request names its API
by a number.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from uuid import UUID

from hypothesis import strategies as st

from proposals.kip_1313.messages import GET_TELEMETRY_SUBSCRIPTIONS, SASL_AUTHENTICATE_WITH_ID
from strategies.api_versions import ORDINARY_CORRELATION_IDS
from strategies.field_values import plain_client_ids, unknown_tagged_fields
from wire.api_keys import SASL_AUTHENTICATE_KEY
from wire.codec import encode
from wire.described_messages import SASL_HANDSHAKE
from wire.exchange import Request, encode_request
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader
from wire.message_schemas import Api
from wire.plain_header import PLAIN_CLIENT_ID, PLAIN_INSTANCE_ID
from wire.primitives import TaggedField
from wire.sasl import PLAIN

AN_ID = PLAIN_INSTANCE_ID
ANOTHER_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEE)
RESERVED_ID = UUID(int=1)
"""Apache Kafka keeps it for a topic of its own, and refuses PushTelemetry under it; no client makes it."""
MAX_APIS = 12
MAX_CLIENT_ID = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceIdRequest:
    """A request with header v3, or with an older one.

    Attributes:
        api: the index of an API among those that the target has with that header, modulo their number.
        correlation_id: its correlation id.
        client_id: its client id.
        tags: unknown tagged fields of its header.
        has_id: whether the header is v3.
    """

    api: int = 0
    correlation_id: int = 7
    client_id: str | None = PLAIN_CLIENT_ID
    tags: tuple[TaggedField, ...] = ()
    has_id: bool = True

    def named(self, client_id: str | None) -> InstanceIdRequest:
        """Return the same request with another client id."""
        return dataclasses.replace(self, client_id=client_id)


DRAWN_VALUES = {InstanceIdRequest.__name__: InstanceIdRequest}
"""What properties draw that the suite itself does not."""


def sasl_handshake() -> Request:
    """Return a SaslHandshake request, the only one that needs no client instance id on any connection."""
    return SASL_HANDSHAKE.plain_request(1, correlation_id=7, client_id="", mechanism=PLAIN)


def sasl_authenticate(token: bytes, version: int, instance_id: UUID = NO_INSTANCE_ID) -> Request:
    """Return a SaslAuthenticate request; its newest version has header v3."""
    header = InstanceIdHeader(
        request_api_key=SASL_AUTHENTICATE_KEY,
        request_api_version=version,
        correlation_id=8,
        client_id=None,
        client_instance_id=instance_id,
    )
    body = encode(SASL_AUTHENTICATE_WITH_ID.request(auth_bytes=token), version=version)
    return encode_request(header, body, layout=SASL_AUTHENTICATE_WITH_ID.layout(version))


def telemetry_v0(instance_id: UUID, api: Api = GET_TELEMETRY_SUBSCRIPTIONS) -> Request:
    """Return GetTelemetrySubscriptions v0 or PushTelemetry v0, as clients of today send it: with the id in the body."""
    return api.plain_request(0, correlation_id=7, client_id="", client_instance_id=instance_id)


def instance_ids() -> st.SearchStrategy[UUID]:
    """Ids that a client may have: random ones, and ones that are nearly zero."""
    nearly_zero = st.integers(1, 127).map(lambda bit: UUID(int=1 << bit))
    values = st.integers(RESERVED_ID.int + 1, (1 << 128) - 1)
    return values.map(lambda value: UUID(int=value)) | nearly_zero


def instance_id_requests() -> st.SearchStrategy[InstanceIdRequest]:
    """Requests with header v3, with any client id and unknown tags."""
    return st.builds(
        InstanceIdRequest,
        api=st.integers(0, MAX_APIS - 1),
        correlation_id=ORDINARY_CORRELATION_IDS,
        client_id=plain_client_ids(max_size=MAX_CLIENT_ID),
        tags=st.just(()) | unknown_tagged_fields(max_fields=3, max_bytes=200),
    )


def plain_instance_id_requests() -> st.SearchStrategy[InstanceIdRequest]:
    """The same with the usual client id, and no tags."""
    return st.integers(0, MAX_APIS - 1).map(lambda api: InstanceIdRequest(api=api))


def requests_of_any_header() -> st.SearchStrategy[InstanceIdRequest]:
    """The same with header v3 or an older one, and with the usual client id or none."""
    return st.builds(
        InstanceIdRequest,
        api=st.integers(0, MAX_APIS - 1),
        client_id=st.sampled_from([PLAIN_CLIENT_ID, None]),
        has_id=st.booleans(),
    )
