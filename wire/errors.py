"""Faults of the bytes: what does not decode, and what cannot be encoded.

A `DecodeError` says where: the path of the field and the offsets of the bytes that are to blame. Whose
fault it is, the target's or ours, is not for this layer to say.
"""

from __future__ import annotations

import functools
from collections.abc import Callable


class WireError(Exception):
    """Base of everything this package raises."""


class EncodeError(WireError):
    """A value does not fit its field; writing it wrongly on purpose goes through `raw=`."""


class DecodeError(WireError):
    """Bytes that do not follow the schema.

    Attributes:
        field_path: the field being read, outermost first, such as "api_keys[3].min_version".
        start: offset of the first byte to blame, counted from the beginning of what was decoded.
        end: offset after the last byte to blame.
    """

    def __init__(self, problem: str, *, start: int, end: int, field_path: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.start = start
        self.end = end
        self.field_path = field_path

    def __str__(self) -> str:
        where = f"{self.field_path}: " if self.field_path else ""
        return f"{where}{self.problem} (bytes {self.start} to {self.end})"

    def __reduce__(self) -> tuple[Callable[[str], DecodeError], tuple[str]]:
        # Without this neither a copy nor another process gets it: the offsets are keyword-only.
        make = functools.partial(
            type(self), start=self.start, end=self.end, field_path=self.field_path
        )
        return make, (self.problem,)

    def within(self, field: str) -> DecodeError:
        """Put the name of the enclosing field in front of the path; returns the error itself."""
        separator = "" if not self.field_path or self.field_path.startswith("[") else "."
        self.field_path = f"{field}{separator}{self.field_path}"
        return self


class BufferUnderflow(DecodeError):
    """The bytes end inside a value."""


class VarintTooLong(DecodeError):
    """A varint is longer than five bytes or its value does not fit 32 bits."""


class NegativeLength(DecodeError):
    """A length or count is negative where -1 (or 0 for compact types) is the only special one."""


class FrameTooLarge(DecodeError):
    """A size prefix names more bytes than the reader accepts."""


class UnexpectedNull(DecodeError):
    """A field that is not nullable in this version is null."""


class InvalidUtf8(DecodeError):
    """The bytes of a string are not UTF-8."""


class InvalidBoolean(DecodeError):
    """A boolean is neither 0 nor 1."""


class DuplicateTag(DecodeError):
    """A tag stands twice in one tag section."""


class TrailingBytes(DecodeError):
    """Bytes are left after the message."""
