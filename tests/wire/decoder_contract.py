"""The contract of every decoder.

It is checked on complete bytes, on every prefix and with trailing bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wire.errors import BufferUnderflow, DecodeError

Decoder = Callable[[memoryview, int], tuple[Any, int]]
"""Takes the data and an offset; returns the value and the offset after it."""

AROUND = b"\x80\xff\x00\x01"
"""Surrounding bytes that read as long varints, negative lengths and small counts."""


def attempt(decoder: Decoder, data: bytes, offset: int = 0) -> tuple[Any, int] | DecodeError:
    """Decode bytes that may be wrong; return the value and the offset after it, or the error."""
    try:
        return decoder(memoryview(data), offset)
    except DecodeError as error:
        return error


def contract_breaches(decoder: Decoder, encoded: bytes, value: object) -> list[str]:
    """Return how a decoder breaks its contract on the bytes of one value; empty if it does not.

    The contract: the complete bytes decode to the value and their end, whatever bytes surround them;
    every proper prefix is a `BufferUnderflow` that blames bytes inside the prefix, up to its end.
    """
    return [
        *_breaches_of_whole(decoder, encoded, value, before=b"", after=b""),
        *_breaches_of_whole(decoder, encoded, value, before=b"", after=AROUND),
        *_breaches_of_whole(decoder, encoded, value, before=AROUND, after=AROUND),
        *_breaches_of_prefixes(decoder, encoded),
    ]


def _breaches_of_whole(
    decoder: Decoder, encoded: bytes, value: object, *, before: bytes, after: bytes
) -> Iterator[str]:
    where = f"between {len(before)} and {len(after)} other bytes"
    outcome = attempt(decoder, before + encoded + after, len(before))
    if isinstance(outcome, DecodeError):
        yield f"{where}: {outcome!r}"
        return
    decoded, end = outcome
    if decoded != value:
        yield f"{where}: {decoded!r} is not {value!r}"
    if end != len(before) + len(encoded):
        yield f"{where}: ends at {end}, not at {len(before) + len(encoded)}"


def _breaches_of_prefixes(decoder: Decoder, encoded: bytes) -> Iterator[str]:
    for length in range(len(encoded)):
        outcome = attempt(decoder, encoded[:length])
        if not isinstance(outcome, BufferUnderflow):
            yield f"prefix of {length}: {outcome!r} is no underflow"
        elif not 0 <= outcome.start <= outcome.end == length:
            yield f"prefix of {length}: blames {outcome.start} to {outcome.end}"
