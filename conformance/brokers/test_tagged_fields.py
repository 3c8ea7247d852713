"""Tests of tagged fields in requests and responses.

Requests carry unknown tagged fields, and tag sections with false sizes.
"""

from __future__ import annotations

import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

MAX_EXAMPLES_SLOW = 10
"""Number of examples for properties whose requests have tens of thousands of bytes, or are several on a connection."""
MAX_EXAMPLES_OF_OTHER_APIS = 30
LONG_TAG = (TaggedField(100, bytes(200)),)
ONE_TAG = (TaggedField(100, b"\x01"),)
FIRST_TAG = (TaggedField(0, b"\x01"),)
LAST_TAG = (TaggedField(UINT32_MAX, b""),)


@pytest.mark.clause("KIP-482.unknown-tags-ignored")
@given(
    sent=api_versions_requests(
        min_version=FIRST_FLEXIBLE_VERSION,
        header_tags=st.just(()) | unknown_tagged_fields(max_tag=UINT32_MAX),
        body_tags=st.just(()) | unknown_tagged_fields(max_tag=UINT32_MAX),
    ),
    history=histories(),
)
@example(sent=build_request(version=3, header_tags=ONE_TAG), history=ALONE)
@example(sent=build_request(version=3, body_tags=ONE_TAG), history=ALONE)
@example(sent=build_request(version=3, header_tags=FIRST_TAG), history=ALONE)
@example(sent=build_request(version=3, body_tags=FIRST_TAG), history=ALONE)
@example(sent=build_request(version=3, header_tags=LAST_TAG), history=ALONE)
@example(sent=build_request(version=3, body_tags=LAST_TAG), history=ALONE)
@example(sent=build_request(version=3, header_tags=LONG_TAG), history=ALONE)
@example(sent=build_request(version=3, body_tags=LONG_TAG), history=ALONE)
@example(sent=build_request(version=3, body_tags=ONE_TAG), history=after(Earlier.NEWEST))
def test_unknown_tags_do_not_change_the_answer(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker answers a request with unknown tagged fields in the same way as one without."""
    assume_served(broker, sent)
    version = sent.api_version
    plain = decode_answer(exchange_after(broker, history, build_request(version=version)), api_version=version)
    assert sent.body is not None
    tags = {
        "header": sent.header.unknown_tagged_fields,
        "body": sent.body.unknown_tagged_fields,
    }
    parts = " and ".join(part for part, fields in tags.items() if fields)
    highest = ", ".join(
        f"{max(field.tag for field in fields):#010x} in the {part}" for part, fields in tags.items() if fields
    )
    with violation_context(f"unknown tags in {parts or 'no place'}", f"highest tag: {highest}"):
        answer = decode_answer(exchange_after(broker, history, sent), api_version=version)
        assert stable_part(answer) == stable_part(plain), "the response differs from that without them"


@pytest.mark.clause("KIP-482.unknown-tags-ignored")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    version=st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
    place=st.sampled_from(PARTS),
    tags=many_tags(),
    history=histories(),
)
@example(version=3, place="header", tags=ManyTags(MAX_TAGS_SERVED), history=ALONE)
@example(version=3, place="body", tags=ManyTags(MAX_TAGS_SERVED), history=ALONE)
@example(version=3, place="header", tags=ManyTags(1, MAX_VALUE), history=ALONE)
@example(version=3, place="body", tags=ManyTags(1, MAX_VALUE), history=ALONE)
@example(version=3, place="body", tags=ManyTags(MAX_TAGS_SERVED), history=after(Earlier.NEWEST))
def test_many_unknown_tags_do_not_change_the_answer(
    broker: Broker, version: int, place: str, tags: ManyTags, history: ConnectionHistory
) -> None:
    """A broker answers a request with up to 10,000 unknown tags, or 65,536 bytes of them, as one without."""
    sent = build_with_tag_section(version, place, tags.section, broken=f"{tags.number} tags")
    assume_served(broker, sent)
    _, plain = success_after(broker, history, build_request(version=version))
    with violation_context(f"many or long tags in the {place}", repr(tags)):
        answer = decode_answer(exchange_after(broker, history, sent), api_version=version)
        assert stable_part(answer) == stable_part(plain), "the response differs from that without them"


@pytest.mark.needs("flexible_apis")
@pytest.mark.clause("KIP-482.unknown-tags-ignored")
@settings(max_examples=MAX_EXAMPLES_OF_OTHER_APIS)
@given(drawn=tagged_headers(unknown_tagged_fields(max_tag=UINT32_MAX).map(write_raw_tagged_fields)))
@example(drawn=TaggedHeader(section=bytes.fromhex("01 00 01 ff")))
@example(drawn=TaggedHeader(place=1, section=bytes.fromhex("02 64 01 ff 65 00")))
@example(drawn=TaggedHeader(place=2, section=bytes.fromhex("01 ff ff ff ff 0f 00")))
def test_unknown_tags_in_headers_of_other_apis_are_ignored(broker: Broker, drawn: TaggedHeader) -> None:
    """A flexible request of another API with unknown tags in its header gets the error codes of one without."""
    plain = codes_of_other_api(broker, drawn.plain())
    with violation_context("unknown tags in the header", drawn.section.hex()):
        assert codes_of_other_api(broker, drawn) == plain, "the response has other error codes"


@pytest.mark.needs("flexible_apis")
@pytest.mark.clause("KIP-482.unknown-tags-ignored")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(tags=unknown_tagged_fields(min_tag=FIRST_TAG_NOBODY_KNOWS))
@example(tags=ONE_TAG)
@example(tags=(*LONG_TAG, TaggedField(INT32_MAX, b"")))
def test_unknown_tags_in_bodies_of_other_apis_are_ignored(broker: Broker, tags: tuple[TaggedField, ...]) -> None:
    """A flexible request of another API with unknown tags in its body gets the error codes of one without."""
    section = write_raw_tagged_fields(tags)
    with violation_context("unknown tags in the body of another API", section.hex()):
        assert_served_as_plain(
            broker,
            flexible_items(broker),
            functools.partial(request_with_body_tags, section=section),
        )


@pytest.mark.clause("KIP-482.tags-ascending-in-answers")
@given(
    sent=api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION) | refused_requests(),
    history=histories(),
)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=ILLEGAL_NAME, history=ALONE)
@example(sent=WRONG_IDS, history=ALONE)
@example(sent=HALF_AN_IDENTITY, history=ALONE)
def test_tags_in_answers_ascend(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """The tags of every tag section in an answer ascend, each at most once, also in a refusal."""
    assume_served(broker, sent)
    answer = decode_success_or_refusal(exchange_after(broker, history, sent), api_version=sent.api_version)
    assert_rule(unordered_tags, answer, sent.api_version)


@pytest.mark.clause("KIP-482.default-tags-omitted")
@given(
    sent=api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION) | refused_requests(),
    history=histories(),
)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=ILLEGAL_NAME, history=ALONE)
@example(sent=WRONG_IDS, history=ALONE)
@example(sent=HALF_AN_IDENTITY, history=ALONE)
def test_tags_at_their_default_are_not_sent(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A response, refusals included, carries no known tagged field that has its default value."""
    assume_served(broker, sent)
    answer = decode_success_or_refusal(exchange_after(broker, history, sent), api_version=sent.api_version)
    assert_rule(sent_defaults, answer, sent.api_version)


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.tag-overrun-refused")
@given(sent=requests_with_tag_overrun(), history=histories())
@example(sent=build_with_body_tag_section(3, b"\x01\x01\x7f"), history=ALONE)
@example(sent=build_with_body_tag_section(3, write_unsigned_varint(INT32_MAX)), history=ALONE)
@example(sent=build_with_body_tag_section(3, b"\x01\x01\x7f"), history=after(Earlier.NEWEST))
def test_tag_section_beyond_the_frame_is_refused(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker closes or answers with an error if a tag section extends beyond the frame."""
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    with unless_explained_by_earlier(broker, exchange, plain_like(sent)):
        assert_refused(exchange)


@pytest.mark.deep
@pytest.mark.malformed
@pytest.mark.clause("KIP-482.tag-overrun-refused")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    version=st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
    place=st.sampled_from(PARTS),
    size=st.integers(MAX_HARMLESS_SIZE + 1, 1 << 20) | st.integers(MAX_HARMLESS_SIZE + 1, INT32_MAX),
    history=histories(),
)
@example(version=3, place="body", size=MAX_HARMLESS_SIZE + 1, history=ALONE)
@example(version=3, place="header", size=SOCKET_REQUEST_MAX_BYTES, history=ALONE)
def test_large_tag_size_beyond_the_frame_is_refused(
    broker: Broker, version: int, place: str, size: int, history: ConnectionHistory
) -> None:
    """A tag that announces more bytes than the frame has is refused, however many it announces."""
    # Some releases allocate the bytes first, so only the deep tier, which the owner of a target chooses, announces so
    # many.
    section = b"".join(map(write_unsigned_varint, (1, 0, size)))
    sent = build_with_tag_section(version, place, section, broken=f"a tag of {size} bytes")
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    with unless_explained_by_earlier(broker, exchange, plain_like(sent)):
        assert_refused(exchange)
