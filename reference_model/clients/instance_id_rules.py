"""What KIP-1313, a proposal, asks of clients: read from the requests with header v3 that a recording has.

Each function returns one sentence per fault, in the order of the requests.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from reference_model.clients.moves import api_name
from reference_model.clients.recording import Recording, SeenRequest
from wire.api_keys import CONSUMER_GROUP_HEARTBEAT_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.codec import decode, decode_prefix
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES
from wire.headers import (
    INSTANCE_ID_REQUEST_HEADER,
    NO_INSTANCE_ID,
    InstanceIdHeader,
)
from wire.instance_id_messages import CLIENT_APIS, has_instance_id


class Decoded(NamedTuple):
    """A request, its header, and its body if that decodes."""

    request: SeenRequest
    header: InstanceIdHeader
    body: Any

    def __str__(self) -> str:
        return _name(self.request)


def _name(request: SeenRequest) -> str:
    return f"{api_name(request.api_key)} v{request.api_version} on connection {request.connection}"


def sends_instance_ids(recording: Recording) -> bool:
    """Return whether a client sent a request in a version that has header v3."""
    return any(has_instance_id(each.api_key, each.api_version) for each in recording.requests)


def _decoded(request: SeenRequest) -> Decoded:
    """Return a request of an API that a client may send with header v3.

    Raises:
        DecodeError: it does not decode.
    """
    api, payload = CLIENT_APIS[request.api_key], request.data[SIZE_BYTES:]
    version = api.request_header_version(request.api_version)
    header, body_at = decode_prefix(InstanceIdHeader, payload, version=version)
    body = decode(api.request, payload[body_at:], version=request.api_version)
    return Decoded(request, header, body)


def _with_ids(recording: Recording) -> Iterator[Decoded]:
    """Yield the requests with header v3 that decode; the layout is judged by itself."""
    for request in recording.requests:
        if has_instance_id(request.api_key, request.api_version):
            try:
                yield _decoded(request)
            except DecodeError:
                continue


def wrong_layouts(recording: Recording) -> Iterator[str]:
    """Yield the requests whose header v3 or body does not decode."""
    for request in recording.requests:
        if has_instance_id(request.api_key, request.api_version):
            try:
                _decoded(request)
            except DecodeError as error:
                yield f"{_name(request)} has no header v{INSTANCE_ID_REQUEST_HEADER} that decodes: {error}"


def instance_ids_in(recording: Recording) -> set[UUID]:
    """Return the client instance ids in the headers."""
    return {each.header.client_instance_id for each in _with_ids(recording)}


def wrong_ids(recording: Recording) -> Iterator[str]:
    """Yield the requests that have the zero id, or another one than the first request."""
    first: UUID | None = None
    for each in _with_ids(recording):
        given = each.header.client_instance_id
        first = given if first is None else first
        if given == NO_INSTANCE_ID:
            yield f"{each} has the zero id"
        elif given != first:
            yield f"{each} has another id than the client's first request"


def repeated_client_ids(recording: Recording) -> Iterator[str]:
    """Yield the requests that repeat the client id after one with header v3 on the same connection, or lack it before."""
    connections: set[int] = set()
    for each in _with_ids(recording):
        connection = each.request.connection
        if connection in connections and each.header.client_id is not None:
            yield f"{each} repeats the client id"
        elif connection not in connections and each.header.client_id is None:
            yield f"{each} has no client id, but is the first with header v{INSTANCE_ID_REQUEST_HEADER}"
        connections.add(connection)


def wrong_member_ids(recording: Recording) -> Iterator[str]:
    """Yield the heartbeats whose member id is not the client instance id."""
    for each in _with_ids(recording):
        if each.request.api_key == CONSUMER_GROUP_HEARTBEAT_KEY:
            given = each.header.client_instance_id
            if each.body.member_id not in (str(given), _as_kafka_writes_it(given)):
                yield f"{each} has the member id {each.body.member_id!r}, and the id {given}"


def _as_kafka_writes_it(instance_id: UUID) -> str:
    return base64.urlsafe_b64encode(instance_id.bytes).decode().rstrip("=")


def wrong_telemetry(recording: Recording) -> Iterator[str]:
    """Yield the requests for telemetry subscriptions that leave the id to an older broker, or change it."""
    first: UUID | None = None
    for request in recording.requests:
        if request.api_key != GET_TELEMETRY_SUBSCRIPTIONS_KEY:
            continue
        try:
            decoded = _decoded(request)
        except DecodeError:
            yield f"{_name(request)} does not decode"
            continue
        if request.api_version > 0:
            continue
        given = decoded.body.client_instance_id
        first = given if first is None else first
        if given == NO_INSTANCE_ID:
            yield f"{decoded} leaves it to the broker to make an id"
        elif given != first:
            yield f"{decoded} has another id than the first one"
