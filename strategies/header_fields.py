"""Strategies for the fields of request headers, and for unknown tagged fields of headers and bodies."""

from __future__ import annotations

import functools
from typing import NamedTuple

from hypothesis import strategies as st

from strategies.weights import one_branch
from wire.primitives import (
    INT16_MAX,
    INT32_MAX,
    INT32_MIN,
    UINT32_MAX,
    TaggedField,
    write_raw_tagged_fields,
)

FIRST_TAG_NOBODY_KNOWS = 100
"""Larger than every tag of ApiVersions, in all known versions. Only responses have tags: those of requests may be any."""
BUFFER_SIZES = (128, 256, 1024, 4096, 8192, 16384, 32768, 65536)
"""Sizes of buffers, and those from which a length takes another byte."""
LARGEST_TAG_SECTION = 65536
LARGEST_VALUE = LARGEST_TAG_SECTION - 5
"""The largest value of a section's only field, next to its count, its tag and its size."""

SHORT_VALUE_BYTES = 40
SHORT_CLIENT_ID_BYTES = 40
FEW_BYTES = 300
"""Longer client ids are drawn half as often, because they take time."""
FIRST_TWO_BYTE_SIZE = 128
"""The smallest value size, in bytes, that takes a varint of two bytes."""


def correlation_ids() -> st.SearchStrategy[int]:
    """Correlation ids: any int32."""
    return st.integers(INT32_MIN, INT32_MAX)


def lengths_at_buffer_sizes(max_length: int) -> st.SearchStrategy[int]:
    """Lengths of up to `max_length` that are one of `BUFFER_SIZES`, or one less or more."""
    lengths = (size + more for size in BUFFER_SIZES for more in (-1, 0, 1))
    return st.sampled_from([length for length in lengths if length <= max_length] or [max_length])


def client_ids(*, max_bytes: int = INT16_MAX) -> st.SearchStrategy[str | None]:
    """Client ids: null, empty, short with any characters, or long with up to `max_bytes` bytes of UTF-8."""
    short = st.text(st.characters(codec="utf-8"), max_size=min(20, max_bytes // 4))
    long = st.builds(
        lambda character, count: character * (count // len(character.encode())),
        st.sampled_from("aé漢𝄞"),
        st.integers(4, max_bytes) | lengths_at_buffer_sizes(max_bytes),
    )
    return st.one_of(st.none(), st.just(""), short, long)


def plain_client_ids(*, max_size: int = INT16_MAX) -> st.SearchStrategy[str | None]:
    """Client ids that every release handles: null, and all of `named_client_ids`."""
    return st.none() | named_client_ids(max_size=max_size)


def named_client_ids(*, max_size: int = INT16_MAX) -> st.SearchStrategy[str]:
    """Client ids that are empty or letters, digits, dots and hyphens; null is judged by PROTOCOL.client-id-free."""
    letters = st.sampled_from("abcXYZ019.-")
    short = st.text(letters, max_size=min(SHORT_CLIENT_ID_BYTES, max_size))
    few = st.integers(1, min(FEW_BYTES, max_size))
    sizes = few | st.integers(1, max_size) | lengths_at_buffer_sizes(max_size)
    return short | st.builds(lambda letter, count: letter * count, letters, sizes)


def unknown_tagged_fields(
    *, max_fields: int = 4, max_bytes: int = 1000, max_tag: int = UINT32_MAX >> 1
) -> st.SearchStrategy[tuple[TaggedField, ...]]:
    """Tagged fields that are in no schema of requests, which have none, with ascending, distinct tags.

    Tags above the default of `max_tag` are legal too, but some releases refuse them. One property covers that.
    """
    values = st.binary(max_size=min(SHORT_VALUE_BYTES, max_bytes))
    if max_bytes >= FIRST_TWO_BYTE_SIZE:
        sizes = st.integers(FIRST_TWO_BYTE_SIZE, max_bytes) | lengths_at_buffer_sizes(max_bytes)
        values |= sizes.map(bytes)
    field = st.builds(
        TaggedField,
        st.one_of(
            st.integers(0, FIRST_TAG_NOBODY_KNOWS - 1),
            st.integers(FIRST_TAG_NOBODY_KNOWS, 300),
            st.integers(0, max_tag),
        ),
        values,
    )
    fields = st.lists(field, min_size=1, max_size=max_fields, unique_by=lambda field: field.tag)
    return fields.map(lambda drawn: tuple(sorted(drawn)))


class ManyTags(NamedTuple):
    """A tag section with many fields, or with a long one; its tags are 0, 1, 2 and so on.

    Attributes:
        number: the number of fields.
        size: the length of each value, in bytes.
    """

    number: int
    size: int = 0

    @property
    def section(self) -> bytes:
        """The bytes of the section."""
        return _section_of(self.number, self.size)


@functools.lru_cache(maxsize=64)
def _section_of(number: int, size: int) -> bytes:
    return write_raw_tagged_fields(tuple(TaggedField(tag, bytes(size)) for tag in range(number)))


MOST_TAGS_SERVED = 10_000
"""The number of tags that every release takes."""


def many_tags() -> st.SearchStrategy[ManyTags]:
    """Sections of 5 to 10,000 empty fields, or of few fields, with up to 65,536 bytes in all."""
    counts = st.integers(5, 300) | st.integers(MOST_TAGS_SERVED - 2, MOST_TAGS_SERVED)
    empty = (counts | st.integers(5, MOST_TAGS_SERVED)).map(ManyTags)
    sizes = st.integers(1, LARGEST_VALUE) | lengths_at_buffer_sizes(LARGEST_VALUE)
    long = st.builds(ManyTags, st.just(1), sizes | st.just(LARGEST_VALUE))
    several = st.builds(ManyTags, st.integers(2, 300), st.integers(1, 200))
    return one_branch(st.one_of(empty, long, several))


def too_many_tags() -> st.SearchStrategy[ManyTags]:
    """Sections of more fields than some releases take; those that are too many by little are drawn often."""
    first = MOST_TAGS_SERVED + 1
    return (st.integers(first, first + 2) | st.integers(first, 2 * first)).map(ManyTags)
