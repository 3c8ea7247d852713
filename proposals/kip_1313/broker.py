"""KIP-1313 in memory: strips header v3, then calls the reference broker.

Every API but SaslHandshake has one version more than in the newest release, with header v3. A request in it is checked,
and reaches the reference broker in the version below with today's header. Each method that decides something can be
replaced by a planted fault.

Source: KIP-1313 (under discussion).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from proposals.kip_1313.messages import CHANGED_APIS, OFFSET_DELETE_KEY, TELEMETRY_KEYS
from reference_model.broker.model.stages import Pause
from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.broker.rules.connection_states import SERVING, ConnectionState
from reference_model.broker.rules.responses import encode_body, refusal_of_other_api
from reference_model.clients.scripts.reading import MIN_REQUEST_BYTES
from reference_model.profiles.profile import Profile
from reference_model.proxies.model_proxy import NO_RESPONSE, with_changed_table
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.codec import decode, decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, INSTANCE_ID_REQUEST_HEADER, PLAIN_REQUEST_HEADER
from wire.headers import (
    CORRELATION_ID_BYTES,
    NO_INSTANCE_ID,
    InstanceIdHeader,
    RequestHeader,
    RequestStart,
    correlation_id_bytes,
    read_error_code,
    read_request_start,
)
from wire.message_schemas import Api

GIVEN_ID = UUID(int=0x714 << 96 | 1)
"""The id that the broker makes for a client that has none, as in KIP-714; always the same one here."""


def with_more_served(profile: Profile) -> Profile:
    """Return a profile that also serves what Kafka does not list by default.

    These are telemetry of brokers and versions that are not yet stable.
    """
    there = {entry.api_key for entry in profile.api_keys}
    missing = set(TELEMETRY_KEYS) - there if OFFSET_DELETE_KEY in there else ()
    added = tuple(ApiVersion(api_key=key, min_version=0, max_version=0) for key in missing)
    readable = {each.api_key: each.max_version for each in profile.readable_keys}
    listed = (
        dataclasses.replace(entry, max_version=max(entry.max_version, readable.get(entry.api_key, 0)))
        for entry in (*profile.api_keys, *added)
    )
    table = tuple(sorted(listed, key=lambda entry: entry.api_key))
    return dataclasses.replace(profile, api_keys=table, served_keys=table)


class InstanceIdBroker:
    """The state shared by all connections to one listener of such a broker.

    Attributes:
        reference: the reference broker that serves the requests.
        first_client_id_counts: whether the client id of a connection's first request counts for the later ones. The
            text of the proposal has both readings.
    """

    def __init__(self, reference: ReferenceBroker, *, first_client_id_counts: bool = True) -> None:
        reference.profile = with_more_served(reference.profile)
        self.reference = reference
        self.first_client_id_counts = first_client_id_counts
        self._tables: dict[tuple[bytes, int], bytes] = {}
        self._newest = {entry.api_key: entry.max_version for entry in reference.profile.api_keys}

    def connect(self) -> InstanceIdConnection:
        """Open a new connection."""
        return InstanceIdConnection(self)

    def has_instance_id(self, api_key: int, api_version: int) -> bool:
        """Return whether requests of a version have header v3; of ApiVersions, unknown versions have it too."""
        if api_key == SASL_HANDSHAKE_KEY or api_key not in self._newest:
            return False
        beyond = api_version - self._newest[api_key]
        return beyond == 1 or (api_key == API_VERSIONS_KEY and beyond > 1)

    def listed(self, entry: ApiVersion) -> ApiVersion:
        """Return an entry of its table, given that of the newest release."""
        if entry.api_key == SASL_HANDSHAKE_KEY:
            return entry
        return dataclasses.replace(entry, max_version=self._newest[entry.api_key] + 1)

    def own_table(self, response: bytes, layout: int) -> bytes:
        """Return the reference broker's ApiVersions response with this broker's table.

        The results are cached, because the reference broker sends the same few responses again and again.
        """
        key = response[CORRELATION_ID_BYTES:], layout
        if key not in self._tables:
            changed = with_changed_table(response, layout, lambda table: map(self.listed, table))
            self._tables[key] = changed[CORRELATION_ID_BYTES:]
        return response[:CORRELATION_ID_BYTES] + self._tables[key]

    def can_read(self, header: InstanceIdHeader) -> bool:
        """Return whether it understands a header v3 that decodes: every one."""
        return True

    def accepts_first_id(self, given: UUID, api_key: int) -> bool:
        """Return whether a connection may begin with an id."""
        return given != NO_INSTANCE_ID

    def accepts_later_id(self, first: UUID, given: UUID, api_key: int) -> bool:
        """Return whether a later request may have an id."""
        return given == first

    def accepts_no_id(self, first: UUID | None, start: RequestStart) -> bool:
        """Return whether a request may have an older header.

        Args:
            first: the id of the connection; None if it has none.
            start: the beginning of the request.
        """
        return first is None or start.api_key == SASL_HANDSHAKE_KEY

    def kept_client_id(self, given: str | None, *, has_id: bool) -> tuple[str | None] | None:
        """Return what is kept of a connection's first request: its client id, which may be null; None for nothing."""
        return (given,)

    def client_id_of(self, first: str | None, header: RequestHeader, *, has_id: bool) -> str | None:
        """Return the client id that counts for a request that is not the first one of its connection."""
        return first if self.first_client_id_counts else header.client_id

    def refusal_of_version(self, request: bytes) -> bytes:
        """Return the response to a version of ApiVersions that it does not know, as KIP-511 has it."""
        own = ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=NEWEST_VERSION + 1)
        body = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(own,))
        return correlation_id_bytes(request) + encode_body(body, 0)

    def response_of(self, api: Api, api_version: int, message: Any) -> Any:
        """Return the response to a request of an API that KIP-1313 changes."""
        if api.api_key != GET_TELEMETRY_SUBSCRIPTIONS_KEY or api_version > 0:
            return api.response()
        makes_one = message.client_instance_id == NO_INSTANCE_ID
        return api.response(client_instance_id=GIVEN_ID if makes_one else NO_INSTANCE_ID)

    def old_version(self, api_key: int) -> int:
        """Return the version in which a request with header v3 reaches the reference broker."""
        return self._newest[api_key]

    def response_bytes(self, api: Api, api_version: int, correlation_id: int, message: Any) -> bytes:
        """Return the payload of the response of such an API."""
        return api.response_payload(message, api_version, correlation_id)


class InstanceIdConnection:
    """One connection to such a broker.

    Attributes:
        instance_id: the id of the connection; None if no request of it had header v3.
    """

    def __init__(self, broker: InstanceIdBroker) -> None:
        self.instance_id: UUID | None = None
        self._broker = broker
        self._inner: BrokerConnection = broker.reference.connect()
        self._requests = FrameReader()
        self._responses = FrameReader()
        self._outgoing = bytearray()
        self._first_client_id: tuple[str | None] | None = None

    @property
    def state(self) -> ConnectionState:
        """The state of the connection."""
        return self._inner.state

    @property
    def pause(self) -> Pause | None:
        """The current pause."""
        return self._inner.pause

    def receive_data(self, data: bytes) -> None:
        """Accept bytes from the client; the results are in `data_to_send` and `state`."""
        try:
            self._requests.receive_data(data)
            while self.state is not ConnectionState.CLOSED:
                request = self._requests.next_payload()
                if request is None:
                    break
                self._handle(request)
        except DecodeError:
            # An invalid size prefix: the reference broker knows what to do with it.
            self._inner.receive_data(self._requests.unread)

    def receive_eof(self) -> None:
        """Accept the end of the client's stream."""
        self._inner.receive_data(self._requests.unread)
        self._inner.receive_eof()
        self._outgoing += self._inner.data_to_send()

    def resume(self) -> None:
        """End the pause."""
        self._inner.resume()
        self._outgoing += self._inner.data_to_send()

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def drop(self) -> None:
        """Close the connection from the broker's side."""
        self._inner.drop()

    def _handle(self, request: bytes) -> None:
        start = read_request_start(request)
        broker = self._broker
        is_token = self._inner.state is ConnectionState.BARE_TOKENS
        if is_token or len(request) < MIN_REQUEST_BYTES:
            self._outgoing += b"".join(map(encode_frame, self._serve(request)))
        elif broker.has_instance_id(start.api_key, start.api_version):
            self._handle_with_id(request, start)
        elif not broker.accepts_no_id(self.instance_id, start):
            self._refuse(request, start)
        else:
            self._handle_without_id(request, start)

    def _handle_with_id(self, request: bytes, start: RequestStart) -> None:
        broker = self._broker
        try:
            version = INSTANCE_ID_REQUEST_HEADER
            header, body_at = decode_prefix(InstanceIdHeader, request, version=version)
        except DecodeError:
            self.drop()
            return
        if not broker.can_read(header):
            self.drop()
            return
        old_version = broker.old_version(start.api_key)
        if start.api_version > old_version + 1:
            # The reference broker does not know it either, and refuses it whatever its id.
            old_version = start.api_version
        elif self._accepts(header):
            self.instance_id = self.instance_id or header.client_instance_id
        else:
            self._refuse(request, start)
            return
        client_id = self._client_id_of(header, has_id=True)
        old = dataclasses.replace(header, request_api_version=old_version, client_id=client_id)
        flexible = encode(old, version=FLEXIBLE_REQUEST_HEADER)
        self._answer(request, start, body_at, flexible + request[body_at:])

    def _accepts(self, header: InstanceIdHeader) -> bool:
        """Return whether a request may have the id of its header."""
        given, api_key = header.client_instance_id, header.request_api_key
        if self.instance_id is None:
            return self._broker.accepts_first_id(given, api_key)
        return self._broker.accepts_later_id(self.instance_id, given, api_key)

    def _handle_without_id(self, request: bytes, start: RequestStart) -> None:
        body_at = 0
        api = CHANGED_APIS.get(start.api_key)
        if api is not None and start.api_version in api.valid_versions:
            with contextlib.suppress(DecodeError):
                version = api.request_header_version(start.api_version)
                _, body_at = decode_prefix(InstanceIdHeader, request, version=version)
        self._answer(request, start, body_at, self._with_counting_client_id(request))

    def _client_id_of(self, header: RequestHeader, *, has_id: bool) -> str | None:
        """Return the client id that counts for a request, and keep that of the connection's first one."""
        kept = self._first_client_id
        if kept is None:
            self._first_client_id = self._broker.kept_client_id(header.client_id, has_id=has_id)
            return header.client_id
        return self._broker.client_id_of(kept[0], header, has_id=has_id)

    def _with_counting_client_id(self, request: bytes) -> bytes:
        """Return a request with an older header, with its client id replaced by the one that counts.

        The client id has the same place in all older headers.
        """
        try:
            header, after = decode_prefix(RequestHeader, request, version=PLAIN_REQUEST_HEADER)
        except DecodeError:
            return request
        client_id = self._client_id_of(header, has_id=False)
        counting = dataclasses.replace(header, client_id=client_id)
        return encode(counting, version=PLAIN_REQUEST_HEADER) + request[after:]

    def _answer(self, request: bytes, start: RequestStart, body_at: int, old: bytes) -> None:
        """Let the reference broker serve a request, and answer as KIP-1313 has it."""
        broker, is_serving = self._broker, self.state in SERVING
        responses = self._serve(old)
        api, version = CHANGED_APIS.get(start.api_key), start.api_version
        if api is not None and body_at and responses and is_serving:
            try:
                message = decode(api.request, request[body_at:], version=version)
            except DecodeError:
                self.drop()
                return
            response = broker.response_of(api, version, message)
            responses = [broker.response_bytes(api, version, start.correlation_id, response)]
        elif start.api_key == API_VERSIONS_KEY:
            layout = read_request_start(old).api_version
            responses = [self._with_own_range(request, each, layout) for each in responses]
        self._send(responses)

    def _send(self, responses: Sequence[bytes]) -> None:
        if NO_RESPONSE in responses:
            self.drop()
        else:
            self._outgoing += b"".join(map(encode_frame, responses))

    def _with_own_range(self, request: bytes, response: bytes, layout: int) -> bytes:
        """Return a response to ApiVersions with this broker's own table."""
        if read_error_code(response) == ErrorCode.UNSUPPORTED_VERSION:
            return self._broker.refusal_of_version(request)
        return self._broker.own_table(response, layout)

    def _serve(self, request: bytes) -> list[bytes]:
        self._inner.receive_data(encode_frame(request))
        self._responses.receive_data(self._inner.data_to_send())
        return list(iter(self._responses.next_payload, None))

    def _refuse(self, request: bytes, start: RequestStart) -> None:
        """Answer with INVALID_REQUEST, in the layout of the request."""
        error_code = ErrorCode.INVALID_REQUEST
        correlation_id = correlation_id_bytes(request)
        api_key, api_version, number = start
        api = CHANGED_APIS.get(api_key)
        if api_key == API_VERSIONS_KEY:
            layout = min(max(api_version, 0), NEWEST_VERSION)
            body = encode_body(ApiVersionsResponse(error_code=error_code), layout)
            response = correlation_id + body
        elif api is not None and api_version in api.valid_versions:
            message = api.response(error_code=error_code)
            response = api.response_payload(message, api_version, number)
        else:
            has_id = self._broker.has_instance_id(api_key, api_version)
            version = self._broker.old_version(api_key) if has_id else api_version
            response = correlation_id + refusal_of_other_api(api_key, version, error_code)
        self._outgoing += encode_frame(response)


with_own_client_ids = functools.partial(InstanceIdBroker, first_client_id_counts=False)
"""Makes a broker that follows the other reading of the proposal: each request has its own client id."""
