"""Frames without a header: the tokens of SASL that follow SaslHandshake v0."""

from __future__ import annotations

from upgrade.request_kinds import is_known
from upgrade.watching.request_head import BYTES_BEFORE_CLIENT_ID
from wire.frames import SIZE_BYTES
from wire.headers import read_request_start
from wire.primitives import STRING_LENGTH_BYTES

MAX_TOKENS = 100
"""More than any mechanism exchanges: a client that sends more has sent requests that were not recognized."""
_MAX_BETWEEN = 1000
"""By how much the correlation ids of the handshake and of the next request may differ."""


class SaslTokens:
    """What may follow SaslHandshake v0 on one connection.

    Attributes:
        may_come: whether the next frame may be a token.
        count: how many tokens there were since the handshake.
    """

    def __init__(self) -> None:
        self.may_come = False
        self.count = 0
        self._client_id = b""
        self._correlation_id = 0

    @property
    def needed(self) -> int:
        """How many bytes of a frame, size included, distinguish a token from a request."""
        return BYTES_BEFORE_CLIENT_ID + len(self._client_id)

    def begin(self, handshake: bytes, client_id: bytes | None) -> None:
        """Expect tokens after a handshake, of which the frame as far as the client id is given."""
        self.may_come, self.count = True, 0
        end = BYTES_BEFORE_CLIENT_ID + STRING_LENGTH_BYTES + len(client_id or b"")
        self._client_id = handshake[BYTES_BEFORE_CLIENT_ID:end]
        self._correlation_id = read_request_start(handshake[SIZE_BYTES:]).correlation_id

    def take(self, data: bytes) -> bool:
        """Return whether a frame is a token.

        A token has no header like that of the handshake. After the first request no more tokens come.
        """
        self.may_come = self.may_come and not self._is_request(data)
        self.count += self.may_come
        return self.may_come

    def _is_request(self, data: bytes) -> bool:
        if data[BYTES_BEFORE_CLIENT_ID : self.needed] != self._client_id:
            return False
        api_key, version, correlation_id = read_request_start(data[SIZE_BYTES:])
        if api_key < 0 or version < 0 or not is_known(api_key, version):
            return False
        # A token may have zeros where the length of an empty client id is.
        has_name = len(self._client_id) > STRING_LENGTH_BYTES
        return has_name or 0 <= correlation_id - self._correlation_id <= _MAX_BETWEEN
