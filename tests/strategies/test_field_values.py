"""Tests of the values of fields: the bounds that each strategy keeps.

They also check which values are reached besides the tails in `conformance/mutation/tails.py`.
"""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.profiles.profile import traits_of
from strategies.field_values import (
    BUFFER_SIZES,
    FIRST_TAG_NOBODY_KNOWS,
    PLAIN_SOFTWARE,
    ManyTags,
    Software,
    client_ids,
    correlation_ids,
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software,
    legal_software_texts,
    lengths_at_buffer_sizes,
    many_tags,
    plain_client_ids,
    software_with_one,
    too_many_tags,
    unknown_tagged_fields,
)
from tests.strategies.search import minimal, unmet
from wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from wire.headers import RequestHeader, ResponseHeader
from wire.primitives import TaggedField

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


@given(drawn=correlation_ids())
def test_correlation_id_is_an_int32(drawn: int) -> None:
    """Unbounded correlation ids are int32 numbers."""
    assert INT32_MIN <= drawn <= INT32_MAX


@given(data=st.data(), max_bytes=st.sampled_from([4, 7, 40, 300, 32767]))
def test_client_id_keeps_to_its_bytes(data: st.DataObject, max_bytes: int) -> None:
    """A client id is null or at most the given number of bytes of UTF-8."""
    drawn = data.draw(client_ids(max_bytes=max_bytes))
    assert drawn is None or len(drawn.encode()) <= max_bytes


def test_client_ids_reach() -> None:
    """Client ids have any characters, also when they are long."""
    assert not unmet(
        client_ids(),
        {
            "not-ascii": lambda drawn: drawn and not drawn.isascii(),
            "several-characters": lambda drawn: drawn and len(set(drawn)) > 3,
            "nul": lambda drawn: drawn and "\0" in drawn,
            "mark-that-0.11-hates": lambda drawn: drawn and set(drawn) & {*'\n"*,:=?'},
            "many-byte-letters": lambda drawn: drawn and len(drawn) < 16384 <= len(drawn.encode()),
        },
    )


@given(drawn=plain_client_ids(max_size=9))
def test_plain_client_id_is_one_that_every_release_likes(drawn: str | None) -> None:
    """A plain client id is null, or letters, digits, dots and hyphens up to its maximum size."""
    trouble = {*traits_of("0.11.0.3").unanswered_client_ids}
    assert drawn is None or (len(drawn) <= 9 and drawn.isascii() and not trouble & {*drawn})


@given(drawn=unknown_tagged_fields(max_fields=3, max_bytes=5))
def test_tagged_fields_are_unknown_and_in_order(drawn: tuple[TaggedField, ...]) -> None:
    """Tags ascend without repetition and keep to the bounds."""
    tags = [field.tag for field in drawn]
    assert 1 <= len(tags) <= 3
    assert tags == sorted(set(tags))
    # 2.4 to 2.7 read a tag in a body as a signed number that must ascend.
    assert tags[-1] < 2**31
    assert all(len(field.data) <= 5 for field in drawn)


@given(drawn=unknown_tagged_fields(min_tag=FIRST_TAG_NOBODY_KNOWS))
def test_tags_may_begin_with_the_first_that_nobody_knows(drawn: tuple[TaggedField, ...]) -> None:
    """Requests of other APIs may have tags of their own, which are smaller."""
    assert drawn[0].tag >= FIRST_TAG_NOBODY_KNOWS


def test_no_known_tag_is_as_large_as_the_first_unknown_one() -> None:
    """The tags of this project's messages and headers lie below the unknown ones."""
    messages = (ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader)
    known = [field.tag or 0 for message in messages for field in message.FIELDS]
    assert max(known) < FIRST_TAG_NOBODY_KNOWS


def test_requests_have_no_tags_of_their_own() -> None:
    """Every tag is unknown in a request: neither the body nor the header has a tagged field."""
    fields = (*ApiVersionsRequest.FIELDS, *RequestHeader.FIELDS)
    assert {field.tag for field in fields} == {None}


@given(data=st.data(), largest=st.sampled_from([5, 127, 200, 32767, 65536]))
def test_lengths_at_buffer_sizes_keep_to_their_bound(data: st.DataObject, largest: int) -> None:
    """A length is next to the size of a buffer, and not above the bound."""
    drawn = data.draw(lengths_at_buffer_sizes(largest))
    assert drawn <= largest
    assert drawn == largest or any(abs(drawn - size) <= 1 for size in BUFFER_SIZES)


@given(tags=many_tags())
def test_many_tags_are_taken_by_every_release(tags: ManyTags) -> None:
    """A section has at most 10,000 fields and 65,536 bytes."""
    assert tags.number <= 10_000
    assert len(tags.section) <= 65_536


@given(tags=too_many_tags())
@settings(max_examples=20)  # Each section is written out, and is as long as the next one
def test_too_many_tags_are_more_than_ten_thousand(tags: ManyTags) -> None:
    """A section has more than 10,000 fields, and still fits a frame before authentication."""
    assert tags.number > 10_000
    assert len(tags.section) < 100_000


def test_section_of_many_tags_has_its_literal_bytes() -> None:
    """The tags count up from 0, each with a value of zeros."""
    assert ManyTags(2, 1).section == bytes.fromhex("02 00 01 00 01 01 00")
    assert minimal(many_tags()) == ManyTags(5)
    assert minimal(too_many_tags()) == ManyTags(10_001)


KAFKAS_EXPRESSION = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
TEXT_OF_THE_KIP = re.compile(r"[.\-a-zA-Z0-9]+")


@given(text=legal_software_texts())
def test_legal_text_is_one_that_kafka_accepts(text: str) -> None:
    """A legal text matches Kafka's regular expression and is not longer than a string can be."""
    assert KAFKAS_EXPRESSION.fullmatch(text)
    assert len(text.encode()) <= 32767


@given(drawn=legal_software())
def test_legal_software_is_one_that_kafka_accepts(drawn: Software) -> None:
    """Name and version of legal software match Kafka's expression, also those of well-known clients."""
    assert KAFKAS_EXPRESSION.fullmatch(drawn.name)
    assert KAFKAS_EXPRESSION.fullmatch(drawn.version)


@given(text=edge_punctuation_texts())
def test_edge_punctuation_is_what_text_and_code_differ_on(text: str) -> None:
    """A text with punctuation at an edge matches the KIP's regular expression but not Kafka's."""
    assert TEXT_OF_THE_KIP.fullmatch(text)
    assert not KAFKAS_EXPRESSION.fullmatch(text)


@given(text=illegal_software_texts())
def test_illegal_text_is_one_that_nobody_accepts(text: str) -> None:
    """An illegal text matches neither regular expression, and can be encoded as UTF-8."""
    assert not TEXT_OF_THE_KIP.fullmatch(text)
    text.encode()


def test_illegal_texts_reach() -> None:
    """Illegal texts are empty, or have control characters, symbols or letters of other scripts."""
    assert not unmet(
        illegal_software_texts(),
        {
            "empty": lambda text: text == "",
            "newline-at-the-end": lambda text: text.endswith("\n"),
            "nul": lambda text: "\0" in text,
            "underscore-inside": lambda text: "_" in text[1:-1],
            "space-at-an-edge": lambda text: text.strip() != text,
            "beyond-16-bits": lambda text: any(ord(each) > 0xFFFF for each in text),
            "foreign-letter": lambda text: not text.isascii() and text.isalnum(),
            "long": lambda text: len(text) > 8,
            "about-300": lambda text: 290 < len(text) < 310,
            "longest": lambda text: len(text.encode()) == 32767,
            "long-and-wrong-at-the-end": lambda text: len(text) > 99 and text[-1] == "\n",
            "long-and-wrong-at-the-start": lambda text: len(text) > 99 and text[0] == "_",
            "long-and-wrong-inside": lambda text: len(text) > 99 and text[:9].isalnum() and text[-9:].isalnum(),
        },
    )


@given(drawn=software_with_one(st.just("odd text")))
def test_exactly_one_of_name_and_version_is_odd(drawn: Software) -> None:
    """Exactly one of name and version is drawn, and the other is plain."""
    assert drawn in {("odd text", PLAIN_SOFTWARE.version), (PLAIN_SOFTWARE.name, "odd text")}
