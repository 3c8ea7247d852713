"""The header of one request, as far as the proxy reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wire.frames import SIZE_BYTES
from wire.headers import CLIENT_ID_LENGTH_END, CLIENT_ID_OFFSET, read_request_start

BYTES_BEFORE_CLIENT_ID = SIZE_BYTES + CLIENT_ID_LENGTH_END
"""Bytes of a frame before the text of the client id."""


@dataclass(slots=True, eq=False)
class RequestHead:
    """The header of one request, and what the proxy does with its response.

    Attributes:
        api_key: its API.
        api_version: its version.
        correlation_id: its correlation id.
        client_id: its client id; None if it is null, or does not fit into the frame.
        data: its bytes as far as they were read: size and header, and the body of ApiVersions.
        answer: what makes the response of another one; None if the broker's own response is passed on.
        is_last: whether nothing is passed on after it, because the connection ends with its response.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: bytes | None
    data: bytes
    answer: Callable[[bytes], bytes | None] | None = None
    is_last: bool = False

    @property
    def client_name(self) -> str | None:
        """The client id as text, whatever its bytes are."""
        return client_text(self.client_id)


def client_text(client_id: bytes | None) -> str | None:
    """Return a client id as text, whatever its bytes are; None if it is null."""
    return None if client_id is None else client_id.decode(errors="replace")


def read_head(data: bytes) -> RequestHead:
    """Return the head of a request whose header was read."""
    key, version, correlation_id = read_request_start(data[SIZE_BYTES:])
    length = -1
    if len(data) >= BYTES_BEFORE_CLIENT_ID:
        length = int.from_bytes(data[SIZE_BYTES + CLIENT_ID_OFFSET : BYTES_BEFORE_CLIENT_ID], signed=True)
    client_id = data[BYTES_BEFORE_CLIENT_ID : BYTES_BEFORE_CLIENT_ID + length] if length >= 0 else None
    return RequestHead(
        api_key=key,
        api_version=version,
        correlation_id=correlation_id,
        client_id=client_id if client_id is None or len(client_id) == length else None,
        data=data,
    )
