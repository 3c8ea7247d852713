"""SCRAM-SHA-256 and SCRAM-SHA-512: the reference broker's side.

It handles one authentication.

Nothing is random: the salt is fixed and the nonce is derived from the client's first token, so that a run can be
repeated byte by byte. The oracle does not model SCRAM tokens.
Source: RFC 5802 and RFC 7677.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from scramp import ScramException, ScramMechanism

from reference_model.broker.rules.sasl import Credentials

SCRAM = "SCRAM-SHA-256"
SCRAM_MECHANISMS = (SCRAM, "SCRAM-SHA-512")
"""The mechanisms that are understood; which of them a listener enables is said elsewhere."""
ITERATIONS = 4096
"""The smallest number that the mechanism allows."""
_SALT = b"reference broker"

Secrets = tuple[bytes, bytes, bytes, int]
"""A user's salt, stored key, server key and iteration count."""


class ScramRefused(Exception):
    """A token from the client is wrong."""


@functools.cache
def _secrets_of(password: str, mechanism: str) -> Secrets:
    salt, stored_key, server_key, iterations = ScramMechanism(mechanism).make_auth_info(
        password, iteration_count=ITERATIONS, salt=_SALT
    )
    return salt, stored_key, server_key, iterations


class ScramExchange:
    """The broker's side of one authentication.

    Attributes:
        is_over: whether the client has proved that it knows the password.
    """

    def __init__(self, credentials: Credentials, mechanism: str) -> None:
        """Start to wait for the first token of the only accepted user."""
        self.is_over = False
        self._mechanism = mechanism
        self._credentials = credentials
        self._exchange: Any = None

    def answer_to(self, token: bytes) -> bytes:
        """Accept the client's next token and return the broker's response token.

        Raises:
            ScramRefused: the client's token is wrong.
        """
        try:
            text = token.decode()
            if self._exchange is None:
                nonce = hashlib.sha256(token).hexdigest()
                mechanism = ScramMechanism(self._mechanism)
                self._exchange = mechanism.make_server(self._secrets, s_nonce=nonce)
                self._exchange.set_client_first(text)
                return str(self._exchange.get_server_first()).encode()
            self._exchange.set_client_final(text)
            self.is_over = True
            return str(self._exchange.get_server_final()).encode()
        except (ScramException, UnicodeDecodeError) as error:
            raise ScramRefused(str(error)) from error

    def _secrets(self, username: str) -> Secrets:
        if username != self._credentials.username:
            raise ScramException(f"there is no user {username!r}")
        return _secrets_of(self._credentials.password, self._mechanism)
