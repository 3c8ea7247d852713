"""Data with which a reproducer sends its own token in place of a hidden one.

The recorded steps hide the original token.
"""

from __future__ import annotations

from collections.abc import Sequence

from wire.api_keys import SASL_HANDSHAKE_KEY
from wire.exchange import Request, Step
from wire.frames import SIZE_BYTES
from wire.hidden_tokens import token_in
from wire.primitives import write_unsigned_varint
from wire.sasl import BARE_TOKEN, FIRST_FLEXIBLE_AUTHENTICATE, PLAIN

A_TOKEN = "a token"
"""Stands for a response that may differ, because its token does."""
BARE, INT32, VARINT = "bare", "int32", "varint"
"""How the length of a token is written: not at all, or as one of the two kinds of numbers."""
_INT32_BYTES = 4
SCRAM_FAMILY = b"SCRAM-"
"""How the names of the mechanisms that need more than the password begin."""


def hidden_tokens(steps: Sequence[Step]) -> list[list[dict[str, str]]]:
    """Return for each step what its requests need in place of their hidden tokens; nothing for a step without one.

    Returns:
        Of each request the token's mechanism, how its length is written, and the bytes around it in hexadecimal,
        without
        the frame's size; an empty mapping for a request that is sent as it was.
    """
    mechanisms: dict[int, str] = {}
    tokens = []
    for step in steps:
        for exchange in step.exchanges:
            mechanism = _mechanism_of(exchange.request)
            if mechanism is not None:
                mechanisms[step.connection] = mechanism
        named = mechanisms.get(step.connection, PLAIN)
        parts = [_around_token(each.request, named) for each in step.exchanges]
        tokens.append(parts if any(parts) else [])
    return tokens


def _mechanism_of(request: Request) -> str | None:
    """Return the mechanism that a handshake names last; None for any other request."""
    if request.api_key != SASL_HANDSHAKE_KEY:
        return None
    _, scram, rest = request.data.rpartition(SCRAM_FAMILY)
    return (scram + rest).decode("ascii", "replace") if scram else PLAIN


def _around_token(request: Request, mechanism: str) -> dict[str, str]:
    span = token_in(request) if request.is_hidden else None
    if span is None:
        return {}
    length_bytes = _INT32_BYTES
    form = INT32
    if request.api_version == BARE_TOKEN:
        form, length_bytes = BARE, 0
    elif request.api_version >= FIRST_FLEXIBLE_AUTHENTICATE:
        form = VARINT
        length_bytes = len(write_unsigned_varint(span.stop - span.start + 1))
    return {
        "mechanism": mechanism,
        "form": form,
        "head": request.data[SIZE_BYTES : span.start - length_bytes].hex(),
        "tail": request.data[span.stop :].hex(),
    }
