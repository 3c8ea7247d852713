"""Correct proxy without a socket, between a client and the reference broker.

It passes on every frame as it is, except for ApiVersions: it lists only what it and its upstream both know, and it
answers versions that it does not know itself. A planted fault is a subclass that overrides one of these methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.request_parser import Unreadable, parse_header
from reference_model.broker.rules.responses import encode_body
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from wire.codec import decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.header_versions import request_header_version
from wire.headers import CORRELATION_ID_BYTES, RequestHeader, correlation_id_bytes, read_error_code, read_request_start

MODEL_PROXY = "model-proxy"
"""The proxy's id; "model-proxy+<fault>" with a planted fault."""
LOWERED_KEYS = {METADATA_KEY: 8}
"""The proxy lists fewer versions of these APIs than its upstream: by key, the newest version that it knows."""
NO_RESPONSE = b""
"""Instead of a response: the connection ends."""
NOTHING_MORE = b""
"""Instead of further bytes: the connection ends."""
NEWER_THAN_UPSTREAM = 3
"""How many versions of every other API the proxy knows beyond those of its upstream, but must not list."""


class ModelProxy:
    """The state shared by all connections to a proxy.

    Attributes:
        upstream: the broker that it stands in front of.
        passed: the payloads of all requests that it has passed on.
        is_cut_off: whether its connections to the upstream break.
    """

    def __init__(self, upstream: ReferenceBroker) -> None:
        self.upstream = upstream
        self.passed: list[bytes] = []
        self.is_cut_off = False

    def connect(self) -> ProxyConnection:
        """Open a new connection."""
        return ProxyConnection(self)

    def knows(self, api_version: int) -> bool:
        """Return whether it can decode a version of ApiVersions."""
        return 0 <= api_version <= NEWEST_VERSION

    def refusal(self, request: bytes) -> bytes:
        """Return the response to a version of ApiVersions that it does not know, as KIP-511 has it."""
        own = ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=NEWEST_VERSION)
        body = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(own,))
        return correlation_id_bytes(request) + encode_body(body, 0)

    def listed(self, entry: ApiVersion, api_version: int) -> ApiVersion:
        """Return what it lists for an entry of its upstream's table, in a response of this version."""
        known = LOWERED_KEYS.get(entry.api_key, entry.max_version + NEWER_THAN_UPSTREAM)
        return ApiVersion(
            api_key=entry.api_key,
            min_version=entry.min_version,
            max_version=min(known, entry.max_version),
        )

    def bytes_read(self, data: bytes) -> bytes:
        """Return the bytes of a read as it splits them into requests: by their size prefixes."""
        return data

    def after_refused_size(self, unread: bytes) -> bytes:
        """Return what it still reads after a size that no frame has; empty if the connection ends."""
        return NOTHING_MORE

    def request_passed(self, request: bytes) -> bytes:
        """Return what reaches the upstream of a request other than ApiVersions."""
        return request

    def versions_request_passed(self, request: bytes) -> bytes:
        """Return what reaches the upstream of an ApiVersions request."""
        return request

    def response_passed(self, response: bytes) -> bytes:
        """Return what reaches the client of a response to a request other than ApiVersions."""
        return response

    def table_passed(self, response: bytes, api_version: int) -> bytes:
        """Return what reaches the client of a response to an ApiVersions request."""
        return with_changed_table(
            response,
            api_version,
            lambda table: (self.listed(entry, api_version) for entry in table),
        )

    def closes_with_upstream(self, was_served: bool) -> bool:
        """Return whether the client's connection ends when that to the upstream does.

        Args:
            was_served: whether the client got a response on that connection before.
        """
        return True


def with_changed_body(
    response: bytes,
    api_version: int,
    change: Callable[[ApiVersionsResponse], ApiVersionsResponse],
) -> bytes:
    """Return a response to ApiVersions with another body; one with an error as it is."""
    if read_error_code(response) != ErrorCode.NONE:
        return response
    after_id = response[CORRELATION_ID_BYTES:]
    body, _ = decode_prefix(ApiVersionsResponse, after_id, version=api_version)
    return response[:CORRELATION_ID_BYTES] + encode(change(body), version=api_version)


def with_changed_table(
    response: bytes,
    api_version: int,
    change: Callable[[Sequence[ApiVersion]], Iterable[ApiVersion]],
) -> bytes:
    """Return a response to ApiVersions with another table; one with an error as it is."""
    return with_changed_body(
        response,
        api_version,
        lambda body: dataclasses.replace(body, api_keys=tuple(change(body.api_keys))),
    )


def api_versions_body(request: bytes) -> tuple[RequestHeader, ApiVersionsRequest] | None:
    """Return header and body of an ApiVersions request with names; None for any other request."""
    start = read_request_start(request)
    if start.api_key != API_VERSIONS_KEY or start.api_version < FIRST_FLEXIBLE_VERSION:
        return None
    version = request_header_version(start.api_key, start.api_version)
    header, end = decode_prefix(RequestHeader, request, version=version)
    body, _ = decode_prefix(ApiVersionsRequest, request[end:], version=start.api_version)
    return header, body


class ProxyConnection:
    """One connection of a client to the proxy, with its own connection to the upstream.

    Attributes:
        state: OPEN or CLOSED.
        pause: always None: nothing takes time here.
    """

    pause = None

    def __init__(self, proxy: ModelProxy) -> None:
        self.state = ConnectionState.OPEN
        self._proxy = proxy
        self._upstream: BrokerConnection = proxy.upstream.connect()
        self._requests = FrameReader()
        self._responses = FrameReader()
        self._outgoing = bytearray()
        self._was_served = False

    def receive_data(self, data: bytes) -> None:
        """Accept bytes from the client; the results are in `data_to_send` and `state`."""
        self._requests.receive_data(self._proxy.bytes_read(data))
        while self.state is ConnectionState.OPEN:
            try:
                request = self._requests.next_payload()
            except DecodeError:
                self._refuse_size()
                continue
            if request is None:
                break
            self._handle(request)

    def _refuse_size(self) -> None:
        rest = self._proxy.after_refused_size(self._requests.unread)
        self._requests = FrameReader()
        self._requests.receive_data(rest)
        if rest == NOTHING_MORE:
            self.drop()

    def _handle(self, request: bytes) -> None:
        proxy = self._proxy
        start = read_request_start(request)
        is_about_versions = start.api_key == API_VERSIONS_KEY
        if self._has_lost_upstream:
            # Only a fault keeps such a connection open, and then it is silent.
            return
        if is_about_versions and not proxy.knows(start.api_version):
            answer = proxy.refusal(request) if self._has_header(request) else NO_RESPONSE
            if answer == NO_RESPONSE:
                self.drop()
            else:
                self._outgoing += encode_frame(answer)
            return
        passed = proxy.versions_request_passed if is_about_versions else proxy.request_passed
        for response in self._ask_upstream(passed(request)):
            answer = (
                proxy.table_passed(response, start.api_version)
                if is_about_versions
                else proxy.response_passed(response)
            )
            self._outgoing += encode_frame(answer)
            self._was_served = True
        if self._has_lost_upstream and proxy.closes_with_upstream(self._was_served):
            self.state = ConnectionState.CLOSED

    def _has_header(self, request: bytes) -> bool:
        """Return whether its upstream could read the header of a request."""
        try:
            parse_header(memoryview(request), self._proxy.upstream.profile.traits)
        except Unreadable:
            return False
        return True

    @property
    def _has_lost_upstream(self) -> bool:
        return self._upstream.state is ConnectionState.CLOSED

    def _ask_upstream(self, request: bytes) -> list[bytes]:
        if self._proxy.is_cut_off:
            self._upstream.drop()
            return []
        self._proxy.passed.append(request)
        self._upstream.receive_data(encode_frame(request))
        while self._upstream.pause is not None:
            self._upstream.resume()
        self._responses.receive_data(self._upstream.data_to_send())
        return list(iter(self._responses.next_payload, None))

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def receive_eof(self) -> None:
        """Accept the end of the client's stream."""
        self.drop()

    def resume(self) -> None:
        """Do nothing: there are no pauses."""

    def drop(self) -> None:
        """Close the connection."""
        self.state = ConnectionState.CLOSED
        self._upstream.drop()
