"""The objects that planted defects change, one for each kind of stage."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_model.broker.model.broker_state import BrokerState, OpenConnection
from reference_model.broker.model.stages import Pause
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import AnswerKind, Listing, Reaction
from reference_model.broker.rules.request_parser import (
    ParsedBody,
    ParsedHeader,
    Unreadable,
    parse_body,
)
from reference_model.broker.rules.responses import encode_body
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import encode_frame
from wire.headers import CLIENT_ID_OFFSET, ResponseHeader, read_request_start


@dataclass(slots=True, kw_only=True)
class RequestContext:
    """One frame while the reference broker handles it; a planted defect changes it at one stage.

    Attributes:
        broker: the broker that serves the connection.
        connection: the connection that received the frame.
        state: the state of the connection when the frame arrived.
        payload: the frame without its size prefix.
        segments: the number of pieces in which the frame arrived.
        header: the parsed header; None if it is unreadable or the frame is a bare token.
        reaction: the broker's decision.
        token: the broker's token in its response to a token of the client.
        response: the body of an ApiVersions response; None if there is none.
        answer: the frame of the response; empty if there is none.
        pause: the pause of the connection after this frame; None if there is none.
    """

    broker: BrokerState
    connection: OpenConnection
    state: ConnectionState
    payload: bytes
    segments: int
    header: ParsedHeader | None
    reaction: Reaction
    token: bytes = b""
    response: ApiVersionsResponse | None = None
    answer: bytes = b""
    pause: Pause | None = None

    def encode_answer(
        self,
        *,
        layout: int | None = None,
        header_version: int = 0,
        raw: Mapping[str, bytes] | None = None,
    ) -> bytes:
        """Return the frame of `response`; planted defects pass arguments that encode it wrongly."""
        assert self.header is not None
        assert self.response is not None
        header = ResponseHeader(correlation_id=self.header.correlation_id)
        version = self.reaction.response_version if layout is None else layout
        body = encode(self.response, version=version, raw=raw) if raw else encode_body(self.response, version)
        return encode_frame(encode(header, version=header_version) + body)

    @property
    def version(self) -> int:
        """The API version of the request; -1 if the header is unreadable."""
        return self.header.api_version if self.header is not None else -1

    @property
    def client_id(self) -> str:
        """The client id of the request; empty if it is null or the header is unreadable."""
        return (self.header.client_id or "") if self.header is not None else ""

    @property
    def tag_count(self) -> int:
        """The number of tagged fields in the header; 0 if it is unreadable."""
        return self.header.tag_count if self.header is not None else 0

    @property
    def succeeds(self) -> bool:
        """Whether the request is an ApiVersions request that is answered without an error."""
        reaction = self.reaction
        answered = reaction.outcome is Outcome.ANSWER and reaction.kind is AnswerKind.API_VERSIONS
        return answered and reaction.error_code is ErrorCode.NONE

    @property
    def refuses_name(self) -> bool:
        """Whether the request is answered with INVALID_REQUEST because of the software that it names."""
        is_refused = self.reaction.error_code is ErrorCode.INVALID_REQUEST
        return is_refused and self.body is not None and not self.body.name_is_valid

    @property
    def refuses_version(self) -> bool:
        """Whether the request is answered with UNSUPPORTED_VERSION."""
        return self.reaction.error_code is ErrorCode.UNSUPPORTED_VERSION

    @property
    def message(self) -> ApiVersionsResponse:
        """The response, at a stage and to a request that have one."""
        assert self.response is not None
        return self.response

    @property
    def body(self) -> ParsedBody | None:
        """The parsed body of a flexible request; None if there is none or it is unreadable."""
        if self.header is None or self.header.api_version < FIRST_FLEXIBLE_VERSION:
            return None
        try:
            return parse_body(memoryview(self.payload), self.header, self.broker.profile.traits)
        except Unreadable:
            return None

    @property
    def unread_version(self) -> int | None:
        """The version of a request that closes the connection although its version is supported and flexible."""
        if self.reaction.outcome is not Outcome.CLOSED or len(self.payload) < CLIENT_ID_OFFSET:
            return None
        start = read_request_start(self.payload)
        newest = self.broker.profile.traits.api_versions_max
        served = FIRST_FLEXIBLE_VERSION <= start.api_version <= newest
        return start.api_version if start.api_key == API_VERSIONS_KEY and served else None

    @property
    def unread_body(self) -> tuple[int, bytes] | None:
        """The version and body of a request that closes the connection although its header is readable.

        None for any other request.
        """
        version = self.unread_version
        if self.header is None or version is None:
            return None
        return version, self.payload[self.header.body_offset :]

    def read_as(self, layout: int) -> ApiVersionsRequest | None:
        """Return `unread_body`, decoded in the layout of a version without Kafka's limits.

        None if that fails.
        """
        if self.unread_body is None:
            return None
        try:
            return decode(ApiVersionsRequest, self.unread_body[1], version=layout)
        except DecodeError:
            return None

    def has_seen(self, what: str, *, now: bool) -> bool:
        """Return whether something was true at an earlier frame, and remember whether it is true now."""
        memory = self.connection.memory
        before = bool(memory.get(what))
        memory[what] = before or now
        return before

    def replace_response(self, **changes: Any) -> None:
        """Replace fields of the response."""
        self.response = dataclasses.replace(self.message, **changes)

    def replace_reaction(self, **changes: Any) -> None:
        """Replace fields of the reaction."""
        self.reaction = dataclasses.replace(self.reaction, **changes)

    def serve_in(self, version: int) -> None:
        """React with the complete table in the layout of a version."""
        self.reaction = Reaction(
            clause="KIP-35.same-table-at-every-version",
            response_version=version,
            listing=Listing.EVERYTHING,
        )

    def refuse_name_in(self, version: int) -> None:
        """React as to an illegal name, in the layout of a version."""
        self.reaction = Reaction(
            clause="KIP-511.refusal-in-request-version",
            error_code=ErrorCode.INVALID_REQUEST,
            response_version=version,
        )


@dataclass(slots=True, kw_only=True)
class TlsOpening:
    """The first bytes on a TLS listener, and the decisions made on them.

    Attributes:
        listener: the listener's name.
        first_bytes: the first bytes from the client.
        open_connections: number of open connections to the listener, including this one.
        serves_plaintext: whether the broker speaks Kafka's protocol without TLS.
        certificate_required: whether a client without a certificate is rejected.
        accepts_foreign: whether the certificate may be of an authority that the broker does not trust.
        accepts_expired: whether the certificate may be out of date.
        plaintext_after_hello: whether bytes that are not TLS are served while the handshake is not complete.
        header_must_be_whole: whether a record is refused whose header arrives in several pieces.
        most_pieces: number of pieces in which a record may arrive; one that comes in more is refused.
        most_tiny_records: number of one-byte records that are read at once; the rest waits for further bytes.
        refused_version: the version of TLS with which a client is refused after its handshake, such as "TLSv1.2".
    """

    listener: str
    first_bytes: bytes
    open_connections: int = 1
    serves_plaintext: bool = False
    certificate_required: bool = False
    accepts_foreign: bool = False
    accepts_expired: bool = False
    plaintext_after_hello: bool = False
    header_must_be_whole: bool = False
    most_pieces: float = math.inf
    most_tiny_records: float = math.inf
    refused_version: str = ""


@dataclass(slots=True, kw_only=True)
class StreamEnd:
    """The end of a connection: a refused size prefix, the end of the client's stream, or a reset.

    Attributes:
        connection: the connection.
        unread: received bytes that form no complete frame; after a refused size they begin with the size prefix.
        answer: bytes to send before the connection closes; empty unless a defect sets them.
        keeps_open: whether the connection stays open instead of closing.
        skipped_bytes: number of bytes of `unread` to skip after a refused size before reading on; 0 to close.
    """

    connection: OpenConnection
    unread: bytes
    answer: bytes = b""
    keeps_open: bool = False
    skipped_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class ReceivedBytes:
    """The bytes of one read, before they are split into frames.

    Attributes:
        connection: the connection.
        unread: earlier bytes that form no complete frame.
        data: the bytes; a defect may replace them.
    """

    connection: OpenConnection
    unread: bytes
    data: bytes
