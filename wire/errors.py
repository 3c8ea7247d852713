"""Errors of the codec: undecodable bytes and values that cannot be encoded.

A `DecodeError` carries the path of the field and the offsets of the bytes at fault. This layer does not
decide whose fault it is, the target's or the suite's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable


class WireError(Exception):
    """Base class of all errors that this package defines."""


class EncodeError(WireError):
    """A value does not fit its field. To write wrong bytes on purpose, use `raw=`."""


class NotReadOnly(WireError):
    """A request is not among those that a read-only run may send; the message names it."""


class DecodeError(WireError):
    """The bytes do not follow the schema.

    Attributes:
        field_path: the field being read, outermost first, such as "api_keys[3].min_version".
        start: offset of the first byte at fault, counted from the beginning of the decoded data.
        end: offset after the last byte at fault.
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
        # Without this the error can be neither copied nor pickled, because the offsets are keyword-only.
        make = functools.partial(type(self), start=self.start, end=self.end, field_path=self.field_path)
        return make, (self.problem,)

    def within(self, field: str) -> DecodeError:
        """Prepend the name of the enclosing field to the path; return the error itself."""
        separator = "" if not self.field_path or self.field_path.startswith("[") else "."
        self.field_path = f"{field}{separator}{self.field_path}"
        return self


class BufferUnderflow(DecodeError):
    """The bytes end inside a value."""


class VarintTooLong(DecodeError):
    """A varint is longer than five bytes or its value does not fit 32 bits."""


class NegativeLength(DecodeError):
    """A length or count is negative, and it is not the -1 that stands for null."""


class FrameTooLarge(DecodeError):
    """A size prefix announces more bytes than the reader accepts."""


class UnexpectedNull(DecodeError):
    """A field that is not nullable in this version is null."""


class InvalidUtf8(DecodeError):
    """The bytes of a string are not UTF-8."""


class InvalidBoolean(DecodeError):
    """A boolean is neither 0 nor 1."""


class DuplicateTag(DecodeError):
    """A tag occurs twice in one tag section."""


class TrailingBytes(DecodeError):
    """Bytes are left after the message."""
