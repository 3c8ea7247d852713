"""Strategies for header fields, unknown tagged fields and client software.

Client software has a name and a version.

Software is legal, has punctuation at an end, or is illegal. Source: KIP-511, validation of the fields.
"""

from __future__ import annotations

import functools
import string
from typing import NamedTuple

from hypothesis import strategies as st

from strategies.weights import one_branch
from wire.plain_header import PLAIN_CLIENT_ID, PLAIN_SOFTWARE_VERSION
from wire.primitives import (
    INT16_MAX,
    INT32_MAX,
    INT32_MIN,
    UINT32_MAX,
    TaggedField,
    write_raw_tagged_fields,
)

FIRST_TAG_NOBODY_KNOWS = 100
"""Larger than every tag of ApiVersions, in all known versions. Only responses have tags: those of requests may be
any."""
BUFFER_SIZES = (128, 256, 1024, 4096, 8192, 16384, 32768, 65536)
"""Sizes of buffers, and those from which a length takes another byte."""
MAX_TAG_SECTION = 65536
MAX_VALUE = MAX_TAG_SECTION - 5
"""The largest value of a section's only field, next to its count, its tag and its size."""

SHORT_VALUE_BYTES = 40
SHORT_CLIENT_ID_BYTES = 40
FEW_BYTES = 300
"""Longer client ids are drawn half as often, because they take time."""
FIRST_TWO_BYTE_SIZE = 128
"""The smallest value size, in bytes, that takes a varint of two bytes."""


MAX_TAGS_SERVED = 10_000
"""The number of tags that every release takes."""
_ALPHANUMERIC = string.ascii_letters + string.digits
_LEGAL = _ALPHANUMERIC + ".-"


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
    *, max_fields: int = 4, max_bytes: int = 1000, min_tag: int = 0, max_tag: int = UINT32_MAX >> 1
) -> st.SearchStrategy[tuple[TaggedField, ...]]:
    """Tagged fields that are in no schema of requests, which have none, with ascending, distinct tags.

    Tags above the default of `max_tag` are legal too, but some releases refuse them. One property covers that. With
    `FIRST_TAG_NOBODY_KNOWS` as `min_tag` they are unknown to newer brokers and in other APIs as well.
    """
    values = st.binary(max_size=min(SHORT_VALUE_BYTES, max_bytes))
    if max_bytes >= FIRST_TWO_BYTE_SIZE:
        sizes = st.integers(FIRST_TWO_BYTE_SIZE, max_bytes) | lengths_at_buffer_sizes(max_bytes)
        values |= sizes.map(bytes)
    ranges = (0, FIRST_TAG_NOBODY_KNOWS - 1), (FIRST_TAG_NOBODY_KNOWS, 300), (0, max_tag)
    tags = [st.integers(max(low, min_tag), high) for low, high in ranges if min_tag <= high]
    field = st.builds(TaggedField, st.one_of(tags), values)
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


def many_tags() -> st.SearchStrategy[ManyTags]:
    """Sections of 5 to 10,000 empty fields, or of few fields, with up to 65,536 bytes in all."""
    counts = st.integers(5, 300) | st.integers(MAX_TAGS_SERVED - 2, MAX_TAGS_SERVED)
    empty = (counts | st.integers(5, MAX_TAGS_SERVED)).map(ManyTags)
    sizes = st.integers(1, MAX_VALUE) | lengths_at_buffer_sizes(MAX_VALUE)
    long = st.builds(ManyTags, st.just(1), sizes | st.just(MAX_VALUE))
    several = st.builds(ManyTags, st.integers(2, 300), st.integers(1, 200))
    return one_branch(st.one_of(empty, long, several))


def too_many_tags() -> st.SearchStrategy[ManyTags]:
    """Sections of more fields than some releases take; those that are too many by little are drawn often."""
    first = MAX_TAGS_SERVED + 1
    return (st.integers(first, first + 2) | st.integers(first, 2 * first)).map(ManyTags)


class Software(NamedTuple):
    """The client software name and version in ApiVersions v3 and later."""

    name: str
    version: str


PLAIN_SOFTWARE = Software(PLAIN_CLIENT_ID, PLAIN_SOFTWARE_VERSION)

KNOWN_CLIENTS = (
    Software("apache-kafka-java", "4.3.0"),
    Software("apache-kafka-java", "2.4.0"),
    Software("librdkafka", "2.16.0"),
    Software("librdkafka", "1.4.0"),
    Software("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"),
    Software("confluent-kafka-javascript", "v1.6.0-librdkafka-2.12.0"),
    Software("karafka", "v2.5.0-rdkafka-ruby-v0.19.5-librdkafka-v2.8.0"),
    Software("kafka-python", "3.0.12"),
    Software("sarama", "v1.46.3"),
    Software("sarama", "dev"),
    Software("kgo", "v1.22.0"),
    Software("kgo", "unknown"),
    Software("platformatic-kafka", "1.35.0"),
    Software("kafka-ts", "unknown"),
    Software("rskafka", "0.6.0"),
)
"""Names and versions as well-known clients send them. Brokers treat some of these specially, to work round their
bugs."""


def is_illegal_text(text: str) -> bool:
    """Return whether a name or version is illegal by every reading of KIP-511.

    It is illegal if it is empty or has a character other than the legal ones.
    """
    return not text or any(each not in _LEGAL for each in text)


def legal_software_texts() -> st.SearchStrategy[str]:
    """Texts that a broker must accept as name or version: up to 200 characters, or as long as a buffer."""
    edge = st.sampled_from(_ALPHANUMERIC)
    marks = st.sampled_from(".-")
    short = st.text(st.sampled_from(_LEGAL), max_size=12)
    middle = short | st.builds(lambda text, count: text * count, short, st.integers(1, 16))
    return one_branch(
        st.one_of(
            edge,
            st.builds(lambda letter, count: letter * count, edge, st.integers(1, 200) | _lengths()),
            st.builds(lambda first, text, last: first + text + last, edge, middle, edge),
            st.builds(
                lambda first, mark, count, last: first + mark * count + last,
                edge,
                marks,
                st.integers(1, 3),
                edge,
            ),
        )
    )


def _lengths() -> st.SearchStrategy[int]:
    """Lengths at the sizes of buffers, up to the longest string."""
    return lengths_at_buffer_sizes(INT16_MAX)


def known_clients() -> st.SearchStrategy[Software]:
    """Name and version of a client that is in wide use."""
    return st.sampled_from(KNOWN_CLIENTS)


def legal_software() -> st.SearchStrategy[Software]:
    """Name and version that a broker must accept; those of a well-known client in a third of the examples."""
    drawn = software(legal_software_texts())
    return one_branch(st.one_of(drawn, one_branch(drawn), known_clients()))


def edge_punctuation_texts() -> st.SearchStrategy[str]:
    """Texts of legal characters that begin or end with a dot or hyphen."""
    mark = st.sampled_from(".-")
    middle = st.text(st.sampled_from(_LEGAL), max_size=8)
    return st.one_of(
        mark,
        st.builds(lambda first, text: first + text, mark, middle),
        st.builds(lambda text, last: text + last, middle, mark),
    )


def illegal_software_texts() -> st.SearchStrategy[str]:
    """The empty text, and texts of any length with a character that is not a letter, digit, dot or hyphen."""
    around = st.text(st.sampled_from(_LEGAL), max_size=6)
    common = st.sampled_from("_ /+@:,;='\"\\\n\0é")
    any_other = st.characters(codec="utf-8", exclude_characters=_LEGAL)
    # In ASCII alone, so that the length in bytes is the drawn one.
    long = st.builds(
        lambda bad, position, length: (
            "a" * (position * (length - 1) // 2) + bad + "a" * (length - 1 - position * (length - 1) // 2)
        ),
        st.sampled_from("_ +\n"),
        st.sampled_from((0, 1, 2)),
        st.integers(9, 400) | _lengths(),
    )
    return one_branch(
        st.one_of(
            st.just(""),
            one_branch(long),
            one_branch(st.builds(lambda a, bad, b: a + bad + b, around, common | any_other, around)),
            st.builds(lambda bad, around: bad + around, st.sampled_from("_ é+"), around),
            st.builds(lambda around, bad: around + bad, around, st.sampled_from("_\n")),
        )
    )


def software(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Software]:
    """Name and version, both drawn from `texts`."""
    return st.builds(Software, texts, texts)


def software_with_one(
    texts: st.SearchStrategy[str],
) -> st.SearchStrategy[Software]:
    """Name and version: one is drawn from `texts`, the other is a plain legal one."""
    return st.one_of(
        st.builds(Software, texts, st.just(PLAIN_SOFTWARE.version)),
        st.builds(Software, st.just(PLAIN_SOFTWARE.name), texts),
    )


PLAINLY_ILLEGAL = software_with_one(st.sampled_from(("", " ", "a b", "a/b", "é")))
"""Name and version, one of which is short and illegal by any reading of the KIP."""
