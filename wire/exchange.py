"""What is sent, and what came of it: requests, exchanges and their outcomes, without I/O.

A `Request` keeps both what is meant and the bytes, since the bytes may be wrong on purpose. An `Exchange` is
one request with what came back for it on its connection.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.api_versions import API_VERSIONS_KEY, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.errors import DecodeError, EncodeError
from wire.frames import encode_frame
from wire.headers import RequestHeader, request_header_version
from wire.layouts import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it is written to a connection.

    Attributes:
        data: the bytes, size prefix included.
        header: the header that is meant; the bytes may say something else.
        body: the body that is meant, where it is an ApiVersions body.
        broken: what is wrong with the bytes, in a few words; empty for a well-formed request.
        layout: how the request and its answer are written, where a schema says so.
    """

    data: bytes
    header: RequestHeader
    body: ApiVersionsRequest | None = None
    broken: str = ""
    layout: Layout | None = field(default=None, compare=False, repr=False)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis would print the field tables of header and body as if they were values.
        printer.text(repr(self))

    @property
    def api_version(self) -> int:
        """The version of the request that is meant."""
        return self.header.request_api_version

    @property
    def api_key(self) -> int:
        """The key of the request that is meant."""
        return self.header.request_api_key

    @property
    def correlation_id(self) -> int:
        """The correlation id that is meant."""
        return self.header.correlation_id

    @property
    def kind(self) -> str:
        """What kind of input it is, one of few.

        `v0` and so on for ApiVersions in a version that is known here, `unknown` in any other, `other` for another
        API; with `-broken` behind it where the bytes are wrong on purpose.
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
        header: the header; its version follows from the api version unless `header_version` or `layout` says otherwise.
        body: the message, written in the layout of the api version (of the newest known one for a version
            that is not known), or the bytes to write instead.
        header_version: another header version than the right one.
        layout: how the request is written, where a schema says so; the body is bytes then.
        raw_header: bytes for fields of the header, as for `wire.codec.encode`.
        raw_body: bytes for fields of the body.
        trailing: bytes behind the body, inside the frame.
        size: another size prefix than the payload's.
        broken: what is wrong with the result, for the reader of a failure.

    Raises:
        EncodeError: a value does not fit its field, or bytes are given for one that is not there.
        ValueError: neither layout nor header version of another API is given, or both are.
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


class Outcome(enum.StrEnum):
    """What became of a request.

    `IGNORED` and `SILENT` both mean that no answer came; an ignored request is one behind which the
    sentinel was answered, so that the connection is known to be alive.
    """

    ANSWER = "answer"
    CLOSED = "closed"
    IGNORED = "ignored"
    SILENT = "silent"

    def __repr__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what came back for it.

    Attributes:
        request: what was sent.
        outcome: what became of it.
        payload: the answer without its size prefix, where there is one.
        usable: whether the connection served the sentinel behind the request; where none was sent, whether
            the target was not seen closing behind the answer.
        stray: bytes that came and are no whole frame, or are more than were asked for.
        framing_error: what is wrong with the size prefix, where the answer could not be cut out.
        latency_us: microseconds from the write to the answer.
    """

    request: Request
    outcome: Outcome
    payload: bytes | None = None
    usable: bool = False
    stray: bytes = b""
    framing_error: DecodeError | None = None
    latency_us: int | None = None

    @property
    def received(self) -> bytes:
        """Everything that came for the request: the answer with its size prefix, and stray bytes."""
        return (b"" if self.payload is None else encode_frame(self.payload)) + self.stray


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was done on a connection, so that it can be done again.

    Attributes:
        connection: which connection of the example, counted from 0; the first step on it opens it.
        listener: name of the listener that the connection goes to.
        tls: whether the bytes go through TLS.
        pieces: what was written, write by write; nothing for a step that ends the stream or closes.
        exchanges: what came of each request, in order; empty where no answer was awaited.
        sentinel: whether the last piece ends with a sentinel behind the one request.
        end_of_stream: whether our side of the stream ends behind the pieces, and the other stays open.
        behind: whole frames without size prefix that came behind those of the exchanges: the sentinel's answer, and
            what was more than was asked for.
        unread: bytes that came up to the end of the step and were taken for no frame; the next step has them again.
        ended: whether the target was seen ending its side of the stream.
    """

    connection: int
    listener: str = ""
    tls: bool = False
    pieces: tuple[bytes, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    sentinel: bool = False
    end_of_stream: bool = False
    behind: tuple[bytes, ...] = ()
    unread: bytes = b""
    ended: bool = False

    @property
    def received(self) -> bytes:
        """Everything that was read in the step, what the one before it had left unread included."""
        answers = [each.payload for each in self.exchanges if each.payload is not None]
        return b"".join(map(encode_frame, (*answers, *self.behind))) + self.unread

    @property
    def closes(self) -> bool:
        """Whether the step is nothing but the end of the connection from our side."""
        return not self.pieces and not self.end_of_stream and not self.exchanges
