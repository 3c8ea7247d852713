"""TLS between a socket and a connection, in memory, so that the first bytes can be looked at before the handshake."""

from __future__ import annotations

import ssl

from reference_model.state_machine import TlsOpening

READ_BYTES = 65536


class TlsRefused(Exception):
    """The client does not speak TLS, or not as it has to; the connection is closed."""


class TlsLayer:
    """The server's side of TLS on one connection.

    Feed what arrived to `receive_data`, which gives what it means; write what `data_to_send` gives.
    """

    def __init__(self, opening: TlsOpening, context: ssl.SSLContext) -> None:
        """Begin before the handshake.

        Args:
            opening: what the client's first bytes are taken for.
            context: the certificate to show, and the one to ask for.
        """
        self._plain = opening.serves_plaintext
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._shaken = False

    def receive_data(self, data: bytes) -> bytes:
        """Take bytes from the client and return those of Kafka's protocol among them.

        Raises:
            TlsRefused: the bytes are no TLS, or the client's certificate is missing.
        """
        if self._plain:
            return data
        self._incoming.write(data)
        received = bytearray()
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
            while piece := self._tls.read(READ_BYTES):
                received += piece
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise TlsRefused(str(error)) from error
        return bytes(received)

    def encrypt(self, data: bytes) -> None:
        """Put bytes of Kafka's protocol among those to send."""
        if self._plain:
            self._outgoing.write(data)
        else:
            self._tls.write(data)

    def data_to_send(self) -> bytes:
        """Return what is to be written, once."""
        return self._outgoing.read()
