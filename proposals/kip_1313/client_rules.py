"""Rules of KIP-1313 for clients, checked on the requests of a recording.

KIP-1313 is a proposal.

Each function returns one sentence per fault, in the order of the requests.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

from proposals.kip_1313.messages import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
    TELEMETRY_KEYS,
    WITH_ID,
    has_instance_id,
    newest_with_id,
)
from proposals.kip_1313.streams_heartbeat import STREAMS_GROUP_HEARTBEAT_KEY
from reference_model.clients.rules.moves import History, Move
from reference_model.clients.rules.read_response import ResponseKind
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.profiles.known_apis import label_of
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES
from wire.header_versions import INSTANCE_ID_REQUEST_HEADER
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader
from wire.sasl import BARE_TOKEN

MEMBER_KEYS = (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
    STREAMS_GROUP_HEARTBEAT_KEY,
)
"""The APIs whose requests have the id of a client as a member of a group."""


_STANDARD_ALPHABET = str.maketrans("-_", "+/")
"""Kafka's Uuid uses the alphabet of base64 that is safe in a URL."""


class Decoded(NamedTuple):
    """A request, its header, and its body if that decodes."""

    request: SeenRequest
    header: InstanceIdHeader
    body: Any

    def __str__(self) -> str:
        return _name(self.request)


def _name(request: SeenRequest) -> str:
    return f"{label_of(request.api_key)} v{request.api_version} on connection {request.connection}"


def sends_instance_ids(recording: Recording) -> bool:
    """Return whether a client sent a request in a version that has header v3.

    ApiVersions does not count: a client sends its newest version before it knows whether the broker claims the
    proposal.
    """
    return any(
        has_instance_id(each.api_key, each.api_version) and not each.is_about_versions for each in recording.requests
    )


def _decoded(request: SeenRequest) -> Decoded:
    """Return a request of ApiVersions with header v3, or of an API that a client may send with it.

    Raises:
        DecodeError: it does not decode.
    """
    payload = request.data[SIZE_BYTES:]
    if request.is_about_versions:
        message, layout, version = ApiVersionsRequest, NEWEST_VERSION, INSTANCE_ID_REQUEST_HEADER
    else:
        api = WITH_ID[request.api_key]
        message, layout = api.request, request.api_version
        version = api.request_header_version(request.api_version)
    header, body_at = decode_prefix(InstanceIdHeader, payload, version=version)
    return Decoded(request, header, decode(message, payload[body_at:], version=layout))


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


def missing_ids(recording: Recording) -> Iterator[str]:
    """Yield the requests without an id on a connection whose first request has one.

    A request counts only if the broker lists a version of its API with an id.

    SaslHandshake has no such version, and in an older ApiVersions a client falls back, which other clauses judge. The
    proposal says nothing about a connection whose first request was refused.
    """
    begun_with_id: dict[int, bool] = {}
    for move in History(recording).moves:
        request = move.request
        has_id = has_instance_id(request.api_key, request.api_version)
        if request.connection not in begun_with_id:
            is_served = not request.is_about_versions or move.response_kind is ResponseKind.TABLE
            begun_with_id[request.connection] = has_id and is_served
        elif begun_with_id[request.connection] and not has_id and _may_have_id(move):
            yield f"{_name(request)} has no id, but the first request of its connection has one"


def _may_have_id(move: Move) -> bool:
    """Return whether the client knew a version of an API with an id when it sent a request."""
    if move.request.is_about_versions:
        return False
    newest = newest_with_id(move.request.api_key)
    return newest is not None and move.table is not None and move.table.lists(move.request.api_key, newest)


def wrong_ids(recording: Recording) -> Iterator[str]:
    """Yield the requests that have the zero id, or another one than the first request."""
    first: UUID | None = None
    for each in _with_ids(recording):
        instance_id = each.header.client_instance_id
        first = instance_id if first is None else first
        if instance_id == NO_INSTANCE_ID:
            yield f"{each} has the zero id"
        elif instance_id != first:
            yield f"{each} has another id than the client's first request"


def wrong_reported_ids(recording: Recording, reported: Iterable[str]) -> Iterator[str]:
    """Yield the ids that a client gave to its application and that are zero, or not the one in its headers.

    Args:
        recording: what the client sent. If its headers have several ids, or zero, that is judged by itself.
        reported: the ids as text, in any usual form.
    """
    of_headers = instance_ids_in(recording) - {NO_INSTANCE_ID}
    for text in reported:
        if stands_for(text, NO_INSTANCE_ID):
            yield "the application gets the zero id"
        elif len(of_headers) == 1 and not any(stands_for(text, each) for each in of_headers):
            yield f"the application gets the id {text}, and the headers have {next(iter(of_headers))}"


def _with_client_ids(recording: Recording) -> list[SeenRequest]:
    """Return the requests that can have a client id: all but tokens without a header."""
    return [each for each in recording.requests if each.api_version != BARE_TOKEN]


def wrong_client_ids(recording: Recording) -> Iterator[str]:
    """Yield the requests that lack the client id, or repeat it.

    A connection's first request has it, whatever its header. Later ones have it with an older header, and do not with
    header v3.
    """
    connections: set[int] = set()
    for each in _with_client_ids(recording):
        is_first = each.connection not in connections
        connections.add(each.connection)
        has_v3 = has_instance_id(each.api_key, each.api_version)
        if is_first and each.client_id is None:
            yield f"{_name(each)} has no client id, but is the first request of its connection"
        elif not is_first and has_v3 and each.client_id is not None:
            yield f"{_name(each)} repeats the client id"
        elif not is_first and not has_v3 and each.client_id is None:
            yield f"{_name(each)} has no client id, but an older header than v{INSTANCE_ID_REQUEST_HEADER}"


def has_client_id(recording: Recording) -> bool:
    """Return whether a client has a client id at all: it is an option, and without one the header has null."""
    return any(each.client_id is not None for each in recording.requests)


def has_client_id_everywhere(recording: Recording) -> bool:
    """Return whether each request has the client id, as the rejected alternatives of the proposal have it."""
    return all(each.client_id is not None for each in _with_client_ids(recording))


def wrong_member_ids(recording: Recording) -> Iterator[str]:
    """Yield the heartbeats whose member id is not the client instance id."""
    for each in _with_ids(recording):
        if each.request.api_key in MEMBER_KEYS:
            instance_id = each.header.client_instance_id
            if not stands_for(each.body.member_id, instance_id):
                yield f"{each} has the member id {each.body.member_id!r}, and the id {instance_id}"


def stands_for(text: str, instance_id: UUID) -> bool:
    """Return whether a text is an id in any usual form.

    The forms are hexadecimal digits and the alphabets of base64 and base32.
    """
    digits = text.lower().removeprefix("urn:uuid:").strip("{}").replace("-", "")
    if digits == instance_id.hex:
        return True
    bare = text.rstrip("=")
    in_base64 = base64.b64encode(instance_id.bytes).decode().rstrip("=")
    in_base32 = base64.b32encode(instance_id.bytes).decode().rstrip("=")
    return bare.translate(_STANDARD_ALPHABET) == in_base64 or bare.upper() == in_base32


def wrong_telemetry(recording: Recording) -> Iterator[str]:
    """Yield the telemetry requests that leave the id to the broker, change it, or use v0 although v1 is listed."""
    of_headers = instance_ids_in(recording) - {NO_INSTANCE_ID}
    # Whether the headers agree with each other is judged by itself.
    own = next(iter(of_headers)) if len(of_headers) == 1 else None
    for move in History(recording).moves:
        request = move.request
        if request.api_key not in TELEMETRY_KEYS:
            continue
        try:
            decoded = _decoded(request)
        except DecodeError:
            yield f"{_name(request)} does not decode"
            continue
        if request.api_version > 0:
            continue
        instance_id = decoded.body.client_instance_id
        own = instance_id if own is None else own
        if move.table is not None and move.table.lists(request.api_key, 1):
            yield f"{decoded} is sent to a broker that lists v1"
        if instance_id == NO_INSTANCE_ID:
            yield f"{decoded} leaves it to the broker to make an id"
        elif instance_id != own:
            yield f"{decoded} has another id than the client's other requests"
