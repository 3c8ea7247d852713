"""Replaces a user's secrets in received bytes by bytes of the same length.

A secret is found however it is written: a target may repeat a password in an error message, in the name of a feature
or a host, or in bytes that belong nowhere.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator

from wire.hidden_bytes import MIN_MARK_BYTES, filler

MIN_SECRET_BYTES = MIN_MARK_BYTES
"""A shorter secret is not looked for: bytes that only look like it would be replaced as well, and show it by their
absence."""
_SCRAM_TOKENS = (b"n,,", b"c=")
"""How the tokens begin with which a client of SCRAM proves that it knows the password."""
_BASE64_DIGIT = b"[A-Za-z0-9+/_-]"
_BASE64_BITS = 6


def written_forms(secret: bytes) -> Iterator[bytes]:
    """Yield patterns of the ways in which a secret may be written: as it is or percent-encoded, hexadecimal, base64."""
    yield b"".join(b"(?:%s|%%(?i:%02x))" % (re.escape(bytes([each])), each) for each in secret)
    yield b"(?i:%s)" % secret.hex().encode()
    for shift in range(3):
        yield _base64_form(secret, shift)


def _base64_form(secret: bytes, shift: int) -> bytes:
    """Return the pattern of a secret that begins so many bytes after a multiple of three, in both alphabets.

    A digit at its ends that depends on a neighbour of the secret as well is replaced whatever it is.
    """
    bits = 8 * shift, 8 * (shift + len(secret))
    first, end = -(-bits[0] // _BASE64_BITS), bits[1] // _BASE64_BITS
    digits = base64.b64encode(b"\0" * shift + secret)[first:end]
    inner = digits.replace(b"+", b"[+-]").replace(b"/", b"[/_]")
    before, after = (_BASE64_DIGIT if each % _BASE64_BITS else b"" for each in bits)
    return before + inner + after


class SecretHider:
    """Hides the secrets of one user in what is received on a connection."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        """Store what is hidden from the beginning."""
        self._secrets: list[bytes] = []
        self._pattern: re.Pattern[bytes] | None = None
        for secret in secrets:
            self._add(secret)

    def learn(self, token: bytes) -> None:
        """Hide a token that was sent from now on as well, if it is one of SCRAM; one of PLAIN contains the password."""
        if token.startswith(_SCRAM_TOKENS):
            self._add(token)

    def _add(self, secret: bytes) -> None:
        if len(secret) >= MIN_SECRET_BYTES and secret not in self._secrets:
            self._secrets.append(secret)
            self._secrets.sort(key=len, reverse=True)
            forms = (form for each in self._secrets for form in written_forms(each))
            self._pattern = re.compile(b"|".join(forms))

    def hide(self, data: bytes) -> bytes:
        """Return bytes of the same length without the secrets."""
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda match: filler(len(match[0])), data)
