"""Frames with a wrong size, frames too short for a header, and incomplete frames.

A size below the payload cuts a request short: a broker reads the bytes after it as the next frame. What follows is
therefore chosen: a complete frame, or a size that every broker refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from strategies.api_versions import build_request
from strategies.weights import one_branch
from wire.api_versions import NEWEST_VERSION
from wire.exchange import Request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, encode_frame, read_size
from wire.headers import CLIENT_ID_LENGTH_END
from wire.plain_header import PLAIN_CORRELATION_ID
from wire.primitives import INT32_MAX, INT32_MIN, write_int32

OTHER_PROTOCOLS: Mapping[str, bytes] = {
    "the PROXY protocol, v1": b"PROXY TCP4 192.0.2.1 192.0.2.2 51234 9092\r\n",
    "the PROXY protocol, v2": bytes.fromhex("0d0a0d0a000d0a515549540a 21 11 000c c0000201 c0000202 c822 2384"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost:9092\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
    "TLS": bytes.fromhex(
        "16030100490100004503030000000000000000000000000000000000000000000000000000000000000000"
        "00000213010100001a002b0003020304000a00040002001d000d0004000208040033000200 00"
    ),
}
"""What reaches a broker's port by mistake. The first four bytes of each are a size above every limit."""


def build_with_size(size: int, *, sent_bytes: int | None = None) -> Request:
    """Return a plain request with this size prefix; `sent_bytes` truncates its payload."""
    plain = build_request(version=0)
    payload = plain.data[SIZE_BYTES:][:sent_bytes]
    return Request(
        data=encode_frame(payload, size=size),
        header=plain.header,
        broken=f"size prefix {size} on {len(payload)} bytes",
    )


def frames_with_negative_size() -> st.SearchStrategy[Request]:
    """A size below zero, followed by a plain request or by nothing."""
    sizes = st.integers(-40, -1) | st.integers(INT32_MIN, -1)
    return st.builds(
        lambda size, sent_bytes: build_with_size(size, sent_bytes=sent_bytes),
        sizes,
        st.sampled_from((None, 0)),
    )


def is_cut_short(request: Request) -> bool:
    """Return whether a request's size prefix is below its payload, so that its last bytes belong to the next frame."""
    return 0 <= read_size(request.data) < len(request.data) - SIZE_BYTES


def build_cut_short(plain: Request, kept: int, tail: bytes = b"") -> Request:
    """Return a request whose size prefix counts only the first `kept` bytes; the rest follows, or another tail."""
    payload = plain.data[SIZE_BYTES:]
    after = tail or payload[kept:]
    return Request(
        data=encode_frame(payload[:kept] + after, size=kept),
        header=plain.header,
        broken=f"size prefix {kept} on {kept + len(after)} bytes",
    )


def build_with_frame_inside(inner: Request) -> Request:
    """Return a v0 request whose client id is another request.

    The size prefix ends where the other request begins.
    """
    plain = build_request(version=0, client_id=inner.data.decode())
    return build_cut_short(plain, CLIENT_ID_LENGTH_END)


def _refused_sizes() -> st.SearchStrategy[bytes]:
    """A size that every broker refuses, and a few bytes."""
    sizes = st.integers(INT32_MIN, -1) | st.integers(SOCKET_REQUEST_MAX_BYTES + 1, INT32_MAX)
    return st.builds(lambda size, after: write_int32(size) + after, sizes, st.binary(max_size=8))


def frames_with_small_size() -> st.SearchStrategy[Request]:
    """Requests whose size prefix is below their payload; a complete frame follows, or a size that is refused.

    The size counts the complete request, or cuts it anywhere. The request itself is an ApiVersions request, so that
    none of its parts becomes a request that changes the broker.
    """
    plain = st.builds(
        lambda version, correlation_id: build_request(version=version, correlation_id=correlation_id),
        st.integers(0, NEWEST_VERSION + 1),
        st.integers(8, 99),
    )
    frames = plain.map(lambda request: request.data)
    cut = st.builds(
        lambda request, percent, tail: build_cut_short(
            request, percent * (len(request.data) - SIZE_BYTES) // 100, tail
        ),
        plain,
        st.just(100) | st.integers(0, 100),
        frames | one_branch(_refused_sizes()),
    )
    return cut | st.builds(build_with_frame_inside, plain.filter(_is_text))


def _is_text(request: Request) -> bool:
    return request.data.isascii()


def surpluses() -> st.SearchStrategy[int]:
    """Excesses of a size over a limit: a few bytes, or up to two gigabytes."""
    return st.integers(1, 3) | st.integers(1, INT32_MAX)


def short_frames() -> st.SearchStrategy[Request]:
    """Complete frames with the first 0 to 9 bytes of a plain request; they end before the client id's length does."""
    return st.builds(
        build_short_frame,
        st.integers(0, NEWEST_VERSION + 1),
        st.integers(0, CLIENT_ID_LENGTH_END - 1),
    )


def build_short_frame(version: int, kept: int, *, correlation_id: int = PLAIN_CORRELATION_ID) -> Request:
    """Return a complete frame with the first `kept` bytes of a plain request."""
    plain = build_request(version=version, correlation_id=correlation_id)
    payload = plain.data[SIZE_BYTES:][:kept]
    return Request(data=encode_frame(payload), header=plain.header, broken=f"a frame of {kept} bytes")


def build_whole_frame_of(size: int) -> Request:
    """Return a plain v0 request, padded after its body so that the frame has this size."""
    plain = build_request(version=0)
    return build_request(version=0, trailing=bytes(size - len(plain.data) + SIZE_BYTES))


def build_part(plain: Request, kept: int) -> Request:
    """Return the first `kept` bytes of a request, size prefix included."""
    return Request(
        data=plain.data[:kept],
        header=plain.header,
        broken=f"the first {kept} of {len(plain.data)} bytes",
    )


def partial_frames() -> st.SearchStrategy[Request]:
    """The first bytes of a plain request in any version: at least one byte, never all of them."""

    def cut(version: int, position: int) -> Request:
        plain = build_request(version=version)
        return build_part(plain, 1 + position % (len(plain.data) - 1))

    return st.builds(cut, st.integers(0, NEWEST_VERSION + 1), st.integers(0, 200))


def build_first_bytes(protocol: str, *, following: bool = False) -> Request:
    """Return the first bytes of another protocol; a plain request may follow them, as after a header of PROXY."""
    plain = build_request(version=0)
    data = OTHER_PROTOCOLS[protocol] + (plain.data if following else b"")
    return Request(data=data, header=plain.header, broken=f"bytes of {protocol}")


def first_bytes_of_other_protocols() -> st.SearchStrategy[Request]:
    """The first bytes of a connection that speaks another protocol, some with a plain request after them."""
    return st.builds(
        lambda protocol, following: build_first_bytes(protocol, following=following),
        st.sampled_from(tuple(OTHER_PROTOCOLS)),
        st.booleans(),
    )
