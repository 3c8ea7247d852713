"""Requests, exchanges and their outcomes, without I/O.

A `Request` keeps both the intended header and body and the bytes, because the bytes may be wrong on purpose.
An `Exchange` is one request with everything that came back for it on its connection.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode_prefix, encode
from wire.errors import DecodeError, EncodeError
from wire.frames import SIZE_BYTES, encode_frame
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, INSTANCE_ID_REQUEST_HEADER, Layout, request_header_version
from wire.headers import InstanceIdHeader, RequestHeader
from wire.plain_header import PLAIN_BODY, PLAIN_CLIENT_ID, PLAIN_INSTANCE_ID, plain_header


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it is written to a connection.

    Attributes:
        data: the bytes, size prefix included.
        header: the intended header; the bytes may differ from it.
        body: the intended body if it is an ApiVersions body.
        broken: what is wrong with the bytes, in a few words; empty for a well-formed request.
        layout: the layout of the request and its response if it comes from a schema.
        has_response: whether a response is due; the protocol has none to Produce with acks 0.
        is_hidden: whether the bytes have something else in place of a token that was sent, see `wire.hidden_tokens`.
    """

    data: bytes
    header: RequestHeader
    body: ApiVersionsRequest | None = None
    broken: str = ""
    layout: Layout | None = field(default=None, compare=False, repr=False)
    has_response: bool = field(default=True, compare=False, repr=False)
    is_hidden: bool = field(default=False, compare=False, repr=False)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis would print the field tables of header and body as if they were values.
        printer.text(repr(self))

    @property
    def api_version(self) -> int:
        """The intended version of the request."""
        return self.header.request_api_version

    @property
    def api_key(self) -> int:
        """The intended api key of the request."""
        return self.header.request_api_key

    @property
    def correlation_id(self) -> int:
        """The intended correlation id."""
        return self.header.correlation_id

    @property
    def kind(self) -> str:
        """The kind of input, one of a few names.

        It is `v0` to `v5` for a known version of ApiVersions, `unknown` for any other version, and `other` for
        another API. `-broken` is appended if the bytes are wrong on purpose.
        """
        kind = "other"
        if self.api_key == API_VERSIONS_KEY:
            is_known = 0 <= self.api_version <= NEWEST_VERSION
            kind = f"v{self.api_version}" if is_known else "unknown"
        return f"{kind}-broken" if self.broken else kind


def encode_request(
    header: RequestHeader,
    body: ApiVersionsRequest | bytes,
    *,
    header_version: int | None = None,
    layout: Layout | None = None,
    raw_header: Mapping[str, bytes] | None = None,
    raw_body: Mapping[str, bytes] | None = None,
    trailing: bytes = b"",
    size: int | None = None,
    broken: str = "",
) -> Request:
    """Encode an ApiVersions request, or one that is wrong on purpose.

    Args:
        header: the header; its version follows from the api version unless `header_version` or `layout` is given.
        body: the message, or the bytes to write instead. A message is written in the layout of the api version,
            or of the nearest known version if that version is unknown.
        header_version: a header version to use instead of the right one.
        layout: the layout of the request if it comes from a schema; the body is bytes then.
        raw_header: bytes for fields of the header, as for `wire.codec.encode`.
        raw_body: bytes for fields of the body, as for `wire.codec.encode`.
        trailing: bytes after the body, inside the frame.
        size: a size prefix to use instead of the payload's size.
        broken: what is wrong with the result, shown in failure reports.

    Raises:
        EncodeError: a value does not fit its field, or bytes are given for a field that does not exist.
        ValueError: both a layout and a header version are given, or neither is for an API other than ApiVersions.
    """
    api_version = header.request_api_version
    if layout is not None:
        if header_version is not None:
            raise ValueError("the header's version is that of the layout: give one of them")
        header_version = layout.request_header_version
    if header_version is None:
        header_version = request_header_version(header.request_api_key, api_version)
    payload = encode(header, version=header_version, raw=raw_header)
    if isinstance(body, bytes):
        if raw_body:
            raise EncodeError(f"a body of bytes has no place for {', '.join(sorted(raw_body))}")
        payload += body
    else:
        written = min(max(api_version, 0), NEWEST_VERSION)
        payload += encode(body, version=written, raw=raw_body)
    return Request(
        data=encode_frame(payload + trailing, size=size),
        header=header,
        body=body if isinstance(body, ApiVersionsRequest) else None,
        broken=broken,
        layout=layout,
    )


def with_instance_id(request: Request) -> Request:
    """Return the request with header v3 instead of v2, and an unchanged body.

    The client instance id is always the same.

    Args:
        request: a request with a header v2 that decodes.
    """
    payload = request.data[SIZE_BYTES:]
    header, body_at = decode_prefix(RequestHeader, payload, version=FLEXIBLE_REQUEST_HEADER)
    known = {each.name: getattr(header, each.name) for each in fields(header)}
    with_id = InstanceIdHeader(**known, client_instance_id=PLAIN_INSTANCE_ID)
    own = encode(with_id, version=INSTANCE_ID_REQUEST_HEADER)
    return replace(request, data=encode_frame(own + payload[body_at:]), header=with_id)


def probe_request(api_version: int, *, client_id: str = PLAIN_CLIENT_ID) -> Request:
    """Return a plain ApiVersions request, as a well-behaved client sends it."""
    header = plain_header(API_VERSIONS_KEY, api_version, client_id=client_id)
    return encode_request(header, PLAIN_BODY)


class Outcome(enum.StrEnum):
    """What became of a request.

    `IGNORED` and `SILENT` both mean that no response came. After an ignored request the sentinel was
    answered, so the connection is known to be alive, and then nothing came within the silence bound.
    """

    ANSWER = "answer"
    CLOSED = "closed"
    IGNORED = "ignored"
    SILENT = "silent"

    def __repr__(self) -> str:
        return self.value


class Arrival(enum.StrEnum):
    """How what a target did with a request relates to the sentinel; the value says it in words.

    `OVERTAKEN` and `LATE` mean that the sentinel was answered first; `PROTOCOL.answers-in-order` judges that. A late
    response came only after a wait. `ALONE` means that the request gets this response only if no sentinel follows it.
    """

    IN_TURN = ""
    OVERTAKEN = "after the response to the next request"
    LATE = "late, after the response to the next request"
    ALONE = "only without the next request on the same connection"

    @property
    def sentinel_came_first(self) -> bool:
        """Whether the sentinel was answered before the request."""
        return self in (Arrival.OVERTAKEN, Arrival.LATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and everything that came back for it.

    Attributes:
        request: the request that was sent.
        outcome: what became of it.
        payload: the response without its size prefix, if there is one.
        usable: whether the target answered the sentinel after the request. If no sentinel was sent, whether the
            target was not seen closing the connection after the response.
        arrival: how the outcome relates to the sentinel, if one was sent.
        stray: received bytes that are not a complete frame, or more than the request asked for.
        surplus: what came between the response and that to the sentinel, as far as it was seen; or frames after the
            last one due.
        framing_error: what is wrong with the size prefix if the response could not be cut out of the stream.
        latency_us: microseconds from the write to the response.
    """

    request: Request
    outcome: Outcome
    payload: bytes | None = None
    usable: bool = False
    arrival: Arrival = Arrival.IN_TURN
    stray: bytes = b""
    surplus: bytes = b""
    framing_error: DecodeError | None = None
    latency_us: int | None = None

    @property
    def came_twice(self) -> bool:
        """Whether the response came a second time, where that to the sentinel was due."""
        return self.payload is not None and self.surplus == encode_frame(self.payload)

    @property
    def received(self) -> bytes:
        """All bytes received for the request: the response with its size prefix, and stray bytes."""
        return (b"" if self.payload is None else encode_frame(self.payload)) + self.stray


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One recorded step on a connection, with all that is needed to replay it.

    Attributes:
        connection: which connection of the example, counted from 0; the first step on it opens it.
        listener: name of the listener that the connection is opened to.
        tls: whether the connection uses TLS.
        pieces: the bytes of each write, in order; empty for a step that only ends the stream, pauses or closes.
        exchanges: the exchange of each request, in order; empty if no response was awaited.
        sentinel: whether the last piece ends with a sentinel after the single request.
        end_of_stream: whether our side of the stream ends after the pieces while the other side stays open.
        following: complete frames without size prefix that came after those of the exchanges: the sentinel's response,
            and any frames beyond the requested ones.
        unread: bytes received by the end of the step that form no complete frame; the next step repeats them.
        ended: whether the target was seen ending its side of the stream.
        pause_s: for how long nothing was sent on the connection, in seconds, if the step is a pause.
    """

    connection: int
    listener: str = ""
    tls: bool = False
    pieces: tuple[bytes, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    sentinel: bool = False
    end_of_stream: bool = False
    following: tuple[bytes, ...] = ()
    unread: bytes = b""
    ended: bool = False
    pause_s: float = 0.0

    @property
    def received(self) -> bytes:
        """All bytes read in the step, including those that the previous step left unread."""
        answers = [each.payload for each in self.exchanges if each.payload is not None]
        frames = (*answers, *self.following)
        if self.sentinel and self.exchanges[0].arrival.sentinel_came_first:
            frames = (*self.following[:1], *answers, *self.following[1:])
        return b"".join(map(encode_frame, frames)) + self.unread

    @property
    def closes(self) -> bool:
        """Whether the step does nothing but close the connection from our side."""
        return not (self.pieces or self.end_of_stream or self.exchanges or self.pause_s)
