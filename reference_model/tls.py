"""In-memory TLS between a socket and a connection, so that the first bytes can be inspected before the handshake."""

from __future__ import annotations

import ssl

from reference_model.state_machine import TlsOpening

READ_BYTES = 65536
RECORD_HEADER_BYTES = 5
RECORD_TYPES = tuple(bytes([kind]) for kind in range(20, 25))
"""The first byte of a record: change of cipher, alert, handshake, data, heartbeat."""


def tls_records_size(data: bytes) -> int:
    """Return how many bytes at the beginning are TLS records; the last one may be incomplete."""
    size = 0
    while data[size : size + 1] in RECORD_TYPES:
        size += RECORD_HEADER_BYTES + int.from_bytes(data[size + 3 : size + RECORD_HEADER_BYTES])
    return min(size, len(data))


def unfinished_record(data: bytes) -> bytes:
    """Return the part of a record with which records end; empty if the last one is complete."""
    start = end = 0
    while end <= len(data):
        start = end
        end = start + RECORD_HEADER_BYTES
        end += int.from_bytes(data[start + 3 : end])
    return data[start:]


class TlsRefused(Exception):
    """The TLS handshake fails; the connection is closed."""


class TlsLayer:
    """The server side of TLS on one connection.

    Pass received bytes to `receive_data`, which returns them decrypted. Write to the socket what `data_to_send`
    returns.
    """

    def __init__(self, opening: TlsOpening, context: ssl.SSLContext) -> None:
        """Create the layer; the handshake starts with the first bytes.

        Args:
            opening: the decisions made on the client's first bytes.
            context: the server's certificate, and whether a client certificate is required.
        """
        self._opening = opening
        self._plain = opening.serves_plaintext
        self._unfinished = b""
        self._pieces = 0
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._shaken = False

    def receive_data(self, data: bytes) -> bytes:
        """Accept bytes from the client and return the decrypted ones, which are Kafka's protocol.

        Raises:
            TlsRefused: the bytes are not TLS, the client's certificate is missing, or a planted defect refuses them.
        """
        if self._opening.plaintext_after_hello and not self._shaken:
            data = data[tls_records_size(data) :] or data
            self._plain = data[:1] not in RECORD_TYPES
        if self._plain:
            return data
        self._incoming.write(data)
        self._unfinished = unfinished_record(self._unfinished + data)
        self._pieces = self._pieces + 1 if self._unfinished else 0
        received = bytearray()
        tiny_records = 0
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
            most = self._opening.most_tiny_records
            while tiny_records < most and (piece := self._tls.read(READ_BYTES)):
                received += piece
                tiny_records += len(piece) == 1
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise TlsRefused(str(error)) from error
        self._refuse_by_defect(has_data=bool(received))
        return bytes(received)

    def _refuse_by_defect(self, *, has_data: bool) -> None:
        cut = 0 < len(self._unfinished) < RECORD_HEADER_BYTES
        if cut and self._opening.header_must_be_whole:
            raise TlsRefused("the header of a record is cut")
        if self._pieces >= self._opening.most_pieces:
            raise TlsRefused("a record comes in too many pieces")
        if has_data and self._tls.version() == self._opening.refused_version:
            raise TlsRefused(f"{self._opening.refused_version} is refused")

    def encrypt(self, data: bytes) -> None:
        """Encrypt bytes of Kafka's protocol and add them to the bytes to send."""
        if self._plain:
            self._outgoing.write(data)
        else:
            self._tls.write(data)

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""
        return self._outgoing.read()
