"""Reader of TLS records that finds unencrypted bytes in a client's handshake.

Such bytes come before the TLS handshake is finished and cannot be TLS records.

Source: RFC 8446, 5.1: a record begins with its type, a version whose first byte is 3, and the length of the rest.
"""

from __future__ import annotations

RECORD_TYPES = frozenset({20, 21, 22, 23})
"""Change of the cipher, alert, handshake, and application data, as which TLS 1.3 encrypts the end of a handshake."""
MAJOR_VERSION = 3
HEADER_BYTES = 5
_LENGTH_AT = 3


class TlsRecords:
    """The records that a client writes; only their headers are read."""

    def __init__(self) -> None:
        self._header = b""
        self._left = 0

    def unencrypted(self, data: bytes) -> bytes:
        """Take the next bytes, and return the rest from the first byte that cannot begin a record.

        Empty if all bytes may be records.
        """
        while data:
            if self._left:
                taken = min(self._left, len(data))
                self._left -= taken
                data = data[taken:]
                continue
            data, self._header = self._header + data, b""
            header = data[:HEADER_BYTES]
            # No Kafka request is so large that its size begins with the type of a record.
            if header[0] not in RECORD_TYPES or header[1:2] not in (b"", bytes([MAJOR_VERSION])):
                return data
            if len(header) < HEADER_BYTES:
                self._header = header
                return b""
            self._left = int.from_bytes(header[_LENGTH_AT:], "big")
            data = data[HEADER_BYTES:]
        return b""
