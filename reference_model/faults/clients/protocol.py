"""Faults against the clauses of the protocol guide."""

from __future__ import annotations

from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.client_errors import ConnectionLost, Nonsense
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.rules.software_rules import OLD_ENCODING
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.codec import encode
from wire.frames import SIZE_BYTES
from wire.header_versions import FLEXIBLE_REQUEST_HEADER
from wire.headers import RequestHeader
from wire.primitives import write_compact_nullable_string

SPLIT_INDEPENDENT = "PROTOCOL.split-independent"
MIN_PATIENCE_MS = 450


def _in_api_versions(header: RequestHeader, version: int) -> bool:
    """Return whether a header is the flexible one of ApiVersions.

    A broker that answers without reading the header accepts a wrong one.
    """
    return version == FLEXIBLE_REQUEST_HEADER and header.request_api_key == API_VERSIONS_KEY


def _with_compact_client_id(header: RequestHeader, version: int) -> bytes:
    client_id = write_compact_nullable_string(header.client_id)
    return encode(header, version=version, raw={"client_id": client_id})


@fault(OLD_ENCODING)
class ClientIdsAreCompact(ModelClient):
    """Writes the client id of ApiVersions like any other string of a flexible version."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        write = _with_compact_client_id if _in_api_versions(header, version) else super().header_bytes
        return write(header, version)


@fault(OLD_ENCODING)
class ClientIdsAreCompactForNodes(ModelClient):
    """Writes the client id of ApiVersions in compact form as soon as it knows its cluster."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        is_late = bool(self.cluster.nodes) and _in_api_versions(header, version)
        return (_with_compact_client_id if is_late else super().header_bytes)(header, version)


@fault(OLD_ENCODING)
class ClientIdsAreCompactInV3(ModelClient):
    """Takes the first flexible version of ApiVersions for one without strings of the old kind."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        is_first = header.request_api_version == FIRST_FLEXIBLE_VERSION
        compact = is_first and _in_api_versions(header, version)
        return (_with_compact_client_id if compact else super().header_bytes)(header, version)


@fault(SPLIT_INDEPENDENT)
class SlowResponsesAreGivenUp(ModelClient):
    """Waits less than half a second for a response, though it may come in slow pieces."""

    def patience_ms(self, link: Link) -> int:
        return min(super().patience_ms(link), MIN_PATIENCE_MS)


class _JudgingFirstPieces(ModelClient):
    """Looks at the first bytes that it receives before the rest of their frame has come."""

    def is_refused(self, link: Link) -> bool:
        """Return whether the client cannot go on with what it has received of a frame."""
        raise NotImplementedError

    def next_frame(self, link: Link) -> bytes:
        if not link.reader.unread:
            data = link.stream.receive(self.patience_ms(link))
            if not data:
                raise ConnectionLost("the broker did not respond in time")
            link.reader.receive_data(data)
        if self.is_refused(link):
            raise Nonsense("the response has ended before its frame")
        return super().next_frame(link)


@fault(SPLIT_INDEPENDENT)
class FirstPieceIsTakenForTheResponse(_JudgingFirstPieces):
    """Receives once, and takes what came for the complete response, as it is on one machine."""

    def is_refused(self, link: Link) -> bool:
        unread = link.reader.unread
        return len(unread) >= SIZE_BYTES and 0 < int.from_bytes(unread[:SIZE_BYTES]) > len(unread)


@fault(SPLIT_INDEPENDENT)
class SplitSizeIsNotRead(_JudgingFirstPieces):
    """Receives the size of a response at once, and fails if fewer than its four bytes have come."""

    def is_refused(self, link: Link) -> bool:
        return len(link.reader.unread) < SIZE_BYTES
