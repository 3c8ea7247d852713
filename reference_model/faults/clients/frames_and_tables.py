"""Faults against KIP-35's clause about nonsensical responses.

Such clients trust a frame's size or its end, or keep an unusable table.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import Aborted, BrokerError, ConnectionLost, Hung
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.clients.model.network import Unreachable
from reference_model.faults.clients.registry import fault
from wire.api_keys import METADATA_KEY
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode_prefix
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES, read_size
from wire.headers import CORRELATION_ID_BYTES, NO_ERROR

CLAUSE = "KIP-35.client-survives-nonsense"
HUGE_SIZE = 2**31 - 1
TLS_ALERT_SIZE = int.from_bytes(bytes.fromhex("15 03 03 00"))
"""What the first bytes of an alert of TLS are if they are read as a size: 352,518,912."""


def _refused_size(link: Link) -> int | None:
    """Return the size prefix of the frame that a connection's reader cannot read; None if there is none."""
    unread = link.reader.unread
    return read_size(unread) if len(unread) >= SIZE_BYTES else None


def _is_short(frame: bytes) -> bool:
    """Return whether a frame has a few bytes, too few for a correlation id."""
    return 0 < len(frame) < CORRELATION_ID_BYTES


@fault(CLAUSE)
class NegativeFrameSizeAborts(ModelClient):
    """Makes room for a frame of a negative size, and aborts the process."""

    def next_frame(self, link: Link) -> bytes:
        try:
            return super().next_frame(link)
        except DecodeError as error:
            if (_refused_size(link) or 0) < 0:
                raise Aborted from error
            raise


@fault(CLAUSE)
class EmptyFrameHangsTheProcess(ModelClient):
    """Takes a frame without bytes for one that has not begun, and waits for it without an end."""

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        if not frame:
            raise Hung
        return frame


@fault(CLAUSE)
class ShortFrameLeftOpenHangsTheProcess(ModelClient):
    """Reads on until the connection ends if a frame ends before its correlation id."""

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        while _is_short(frame):
            try:
                rest = link.stream.receive(self.patience_ms(link))
            except Unreachable:
                break
            if not rest:
                raise Hung
        return frame


@fault(CLAUSE)
class CloseAfterAShortFrameAborts(ModelClient):
    """Frees a connection twice that ends after a frame without a complete correlation id, and aborts the process."""

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        while _is_short(frame):
            try:
                if not link.stream.receive(self.patience_ms(link)):
                    raise ConnectionLost("the broker did not respond in time")
            except Unreachable as error:
                raise Aborted from error
        return frame


@fault(CLAUSE)
class HugeFrameEndsTheClient(ModelClient):
    """Fails for good after a frame of the largest size, as its thread ends without memory."""

    def next_frame(self, link: Link) -> bytes:
        if "dead" in self.notes:
            raise BrokerError("the client's thread has ended")
        try:
            return super().next_frame(link)
        except DecodeError:
            if _refused_size(link) == HUGE_SIZE:
                self.notes["dead"] = True
            raise


@fault(CLAUSE)
class TlsAlertIsGivenRoom(ModelClient):
    """Makes room for the 352,518,912 bytes that an alert of TLS seems to announce, as Java clients do."""

    def next_frame(self, link: Link) -> bytes:
        try:
            return super().next_frame(link)
        except DecodeError:
            if _refused_size(link) == TLS_ALERT_SIZE:
                self.allocated_mb = TLS_ALERT_SIZE / 1_000_000
            raise


@fault(CLAUSE)
class TlsAlertAfterATableAborts(ModelClient):
    """Aborts the process if an alert of TLS follows a table that it has read."""

    def next_frame(self, link: Link) -> bytes:
        frame = super().next_frame(link)
        if _refused_size(link) == TLS_ALERT_SIZE:
            raise Aborted
        return frame


@fault(CLAUSE)
class TlsAlertEndsTheClient(ModelClient):
    """Takes a broker for one with TLS for good once it sent an alert, which may have been that of a proxy before it."""

    def next_frame(self, link: Link) -> bytes:
        if link.address in self.notes:
            raise BrokerError("the broker speaks TLS")
        try:
            return super().next_frame(link)
        except DecodeError:
            if _refused_size(link) == TLS_ALERT_SIZE:
                self.notes[link.address] = True
            raise


@fault(CLAUSE)
class TrailingBytesAbort(ModelClient):
    """Aborts the process if a response has bytes after its body."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        response = super().decoded_response(link, version, body)
        if body.startswith(NO_ERROR):
            _, end = decode_prefix(ApiVersionsResponse, body, version=version)
            if end < len(body):
                raise Aborted
        return response


@fault(CLAUSE)
class EndlessCountAborts(ModelClient):
    """Aborts the process if the count of a table goes on after the bytes that a count may have."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        if body.startswith(NO_ERROR + bytes.fromhex("8080808080")):
            raise Aborted
        return super().decoded_response(link, version, body)


@fault(CLAUSE)
class HugeFeatureCountAborts(ModelClient):
    """Makes room for as many features as the response claims to have, and aborts the process."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        if body.startswith(NO_ERROR) and body.endswith(bytes.fromhex("0005ffffffff0f")):
            raise Aborted
        return super().decoded_response(link, version, body)


class _KeepingTables(ModelClient):
    """Keeps an unusable table of an address for good."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        table = super().ranges_in(link, response)
        kept: dict[object, Mapping[int, Range]] = self.notes.setdefault("unusable", {})
        if self.is_unusable(table.get(METADATA_KEY), table):
            kept[link.address] = table
        return kept.get(link.address, table)

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        """Return whether the range of Metadata makes a table unusable; None for a table without one."""
        raise NotImplementedError


@fault(CLAUSE)
class TableAboveItsVersionsIsKept(_KeepingTables):
    """Takes a broker for too new for good once a table listed only versions that it does not know."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is not None and OWN_RANGES[METADATA_KEY][1] < range_[0] <= range_[1]


@fault(CLAUSE)
class NegativeTableIsKept(_KeepingTables):
    """Takes a broker for too old for good once a table listed only negative versions."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is not None and range_[1] < 0


@fault(CLAUSE)
class ReversedTableIsKept(_KeepingTables):
    """Gives a broker up for good once the lowest version of a range was above its highest."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is not None and range_[0] > range_[1] >= 0


@fault(CLAUSE)
class TableWithoutAnApiIsKept(_KeepingTables):
    """Takes a broker for one without Metadata for good once a table did not list it, but others."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return range_ is None and bool(table)


@fault(CLAUSE)
class EmptyTableIsKept(_KeepingTables):
    """Takes a broker for one without any API for good once a table was empty."""

    def is_unusable(self, range_: Range | None, table: Mapping[int, Range]) -> bool:
        return not table


@fault(CLAUSE)
class NullTableIsKept(ModelClient):
    """Never reads a table of a broker again after one was null."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        kept: dict[object, DecodeError] = self.notes.setdefault("null", {})
        if link.address in kept:
            raise kept[link.address]
        try:
            return super().decoded_response(link, version, body)
        except DecodeError as error:
            if body.startswith((bytes(3), bytes(2) + b"\xff" * 4)):
                kept[link.address] = error
            raise
