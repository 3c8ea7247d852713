"""Tests of requests that the sources do not specify.

They check how each release of Apache Kafka handles them.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

MAX_EXAMPLES_SLOW = 10
"""Number of examples for a property whose requests have tens of thousands of bytes."""
MAX_SHOWN_BYTES = 200
MAX_EXAMPLES_OF_OTHER_APIS = 30


def assert_handled_as_pinned(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """Fail unless a request, after others, is served, refused or closed as the release's profile says.

    With SASL the profile is about requests before authentication, and after others a request comes after it: then the
    example is rejected.
    """
    assume(not (history.earlier and broker.asks_for_authentication))
    allowed = reactions(sent.data[SIZE_BYTES:], broker.profile, broker.identity)
    exchange = exchange_after(broker, history, sent)
    if exchange.outcome is not Outcome.ANSWER:
        # Whether a plain request is answered is judged by separate clauses.
        assume(broker.exchange_apart(plain_like(sent)).outcome is Outcome.ANSWER)
    explained = unless_explained_by_earlier(broker, exchange, plain_like(sent))
    with violation_context(sent.broken, sent.data[:MAX_SHOWN_BYTES].hex()), explained:
        seen = (exchange.outcome, ErrorCode.NONE)
        if exchange.outcome is Outcome.ANSWER:
            answer = decode_answer(exchange, api_version=sent.api_version)
            seen = (exchange.outcome, answer.error_code)
        if seen not in [(each.outcome, each.error_code) for each in allowed]:
            problem = f"Apache Kafka's response is {in_words(allowed)}; {summary_of(exchange)}"
            if exchange.outcome is not Outcome.ANSWER:
                raise AssertionError(problem)
            raise MalformedAnswer(exchange, problem, fault=ResponseFault.OTHER_ERROR)


def are_tags_read(section: bytes, traits: Traits) -> bool:
    """Return whether a release reads a tag section of a header."""
    try:
        skip_tags(memoryview(section), 0, traits, ascending=False)
    except Unreadable:
        return False
    return True


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.client-id-bytes")
@given(sent=requests_with_odd_client_id(), history=histories())
@example(sent=build_with_client_id_bytes(0, b"\xff\xfe"), history=ALONE)
@example(sent=build_with_client_id_bytes(3, b"\x80\x00"), history=ALONE)
@example(sent=build_with_client_id_bytes(0, b"\x00\x02\xffa"), history=ALONE)
@example(sent=build_with_client_id_bytes(0, b"\x00\x02\xffa"), history=after(Earlier.V0))
def test_odd_client_id_does_not_change_the_answer(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A client id of negative length, or one that is not UTF-8, gets the same response as a plain one."""
    assume_served(broker, sent)
    version = sent.api_version
    _, plain = success_after(broker, history, build_request(version=version))
    with violation_context(sent.broken, sent.data.hex()):
        answer = decode_answer(exchange_after(broker, history, sent), api_version=version)
        assert stable_part(answer) == stable_part(plain), "the response differs from that to a plain client id"


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.varint-limits")
@given(sent=requests_with_odd_varints() | requests_with_odd_string_lengths(), history=histories())
@example(
    sent=build_with_tag_section(3, "body", bytes.fromhex("808080808000"), broken="six bytes"),
    history=ALONE,
)
@example(sent=build_with_tag_section(3, "header", b"\x80\x00", broken="long zero"), history=ALONE)
@example(
    sent=build_with_tag_section(3, "body", b"\x80\x80\x80\x80\x70", broken="high bits"),
    history=ALONE,
)
@example(
    sent=build_with_tag_section(3, "header", b"\xff\xff\xff\xff\x0f", broken="negative count"),
    history=ALONE,
)
@example(sent=build_with_string(3, NAMES[0], b"\x83\x001a", broken=ODD_LENGTH), history=ALONE)
@example(sent=build_with_string(3, NAMES[1], b"\x83\x80\x80\x80\x701a", broken=ODD_LENGTH), history=ALONE)
@example(
    sent=build_with_string(3, NAMES[0], b"\x83\x80\x80\x80\x80\x001a", broken=ODD_LENGTH),
    history=ALONE,
)
@example(sent=build_with_string(3, NAMES[1], b"\xff\xff\xff\xff\x0f", broken=ODD_LENGTH), history=ALONE)
@example(sent=build_with_string(5, CLUSTER_ID, b"\x80\x80\x00", broken=ODD_LENGTH), history=ALONE)
@example(
    sent=build_with_tag_section(3, "header", b"\x80\x00", broken="long zero"),
    history=after(Earlier.NEWEST),
)
def test_odd_varints_go_as_pinned(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A request with a long, too long or negative varint is served or closed as by that release of Apache Kafka."""
    assume_served(broker, sent)
    assert_handled_as_pinned(broker, sent, history)


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.tag-order-in-requests")
@given(sent=requests_with_tags_out_of_order(), history=histories())
@example(sent=build_with_tags(3, "header", (100, 100)), history=ALONE)
@example(sent=build_with_tags(3, "body", (100, 100)), history=ALONE)
@example(sent=build_with_tags(3, "body", (101, 100)), history=ALONE)
@example(sent=build_with_tags(3, "header", (100, 100)), history=after(Earlier.NEWEST))
def test_tags_out_of_order_go_as_pinned(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A request with duplicate or descending tags is served or closed as by that release of Apache Kafka."""
    assume_served(broker, sent)
    assert_handled_as_pinned(broker, sent, history)


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.varint-limits")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    version=st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
    place=st.sampled_from(PARTS),
    tags=too_many_tags(),
    history=histories(),
)
@example(version=3, place="header", tags=ManyTags(MAX_TAGS_SERVED + 1), history=ALONE)
@example(version=3, place="body", tags=ManyTags(MAX_TAGS_SERVED + 1), history=ALONE)
@example(version=3, place="body", tags=ManyTags(MAX_TAGS_SERVED + 1), history=after(Earlier.NEWEST))
def test_too_many_tags_go_as_pinned(
    broker: Broker, version: int, place: str, tags: ManyTags, history: ConnectionHistory
) -> None:
    """A request with more than ten thousand tags in a section is served or closed as by that release of Kafka."""
    sent = build_with_tag_section(version, place, tags.section, broken=f"{tags.number} tags")
    assume_served(broker, sent)
    assert_handled_as_pinned(broker, sent, history)


@pytest.mark.malformed
@pytest.mark.needs("flexible_apis")
@pytest.mark.clause("KIP-482.varint-limits")
@settings(max_examples=MAX_EXAMPLES_OF_OTHER_APIS)
@given(drawn=tagged_headers(tag_sections_with_odd_varints()))
@example(drawn=TaggedHeader(section=b"\x80\x00"))
@example(drawn=TaggedHeader(place=1, section=bytes.fromhex("808080808000")))
@example(drawn=TaggedHeader(place=2, section=b"\xff\xff\xff\xff\x0f"))
def test_odd_varints_in_headers_of_other_apis_go_as_pinned(broker: Broker, drawn: TaggedHeader) -> None:
    """A flexible request of another API with an odd varint in its header is served or closed as by Apache Kafka."""
    served = are_tags_read(drawn.section, broker.profile.traits)
    with violation_context("an odd varint in the header of another API", drawn.section.hex()):
        outcome = send_tagged(broker, drawn, broken="" if served else "an odd varint").outcome
        assert outcome is (Outcome.ANSWER if served else Outcome.CLOSED), f"the outcome is {outcome}"
