"""Requests that the sources do not specify: how each release of Apache Kafka handles them."""

from __future__ import annotations

import pytest
from hypothesis import example, given

from conformance.assertions.judging import assume_served, decode_answer, violation_context
from fixtures.under_test.broker import Broker
from reference_model.agreement import summary_of
from reference_model.oracle import reactions
from reference_model.same_response import stable_part
from strategies.api_versions import build_request
from strategies.odd_requests import (
    build_with_client_id_bytes,
    build_with_tag_section,
    build_with_tags,
    requests_with_odd_client_id,
    requests_with_odd_varints,
    requests_with_tags_out_of_order,
)
from wire.error_codes import ErrorCode
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES


def assert_served_as_pinned(broker: Broker, sent: Request) -> None:
    """Fail unless a request is served or closed as the release's profile says."""
    pinned = reactions(sent.data[SIZE_BYTES:], broker.profile, broker.identity)[0]
    with violation_context(sent.broken, sent.data.hex()):
        exchange = broker.exchange(sent)
        assert exchange.outcome is pinned.outcome, (
            f"Apache Kafka's response is {pinned}; {summary_of(exchange)}"
        )
        if exchange.outcome is Outcome.ANSWER:
            error_code = decode_answer(exchange, api_version=sent.api_version).error_code
            assert error_code is ErrorCode.NONE, f"answered with {error_code!r}"


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.client-id-bytes")
@given(sent=requests_with_odd_client_id())
@example(sent=build_with_client_id_bytes(0, b"\xff\xfe"))
@example(sent=build_with_client_id_bytes(3, b"\x80\x00"))
@example(sent=build_with_client_id_bytes(0, b"\x00\x02\xffa"))
def test_odd_client_id_does_not_change_the_answer(broker: Broker, sent: Request) -> None:
    """A client id of negative length, or one that is not UTF-8, gets the same response as a plain one."""
    assume_served(broker, sent)
    version = sent.api_version
    plain = decode_answer(broker.exchange(build_request(version=version)), api_version=version)
    with violation_context(sent.broken, sent.data.hex()):
        answer = decode_answer(broker.exchange(sent), api_version=version)
        assert stable_part(answer) == stable_part(plain), (
            "the response differs from that to a plain client id"
        )


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.varint-limits")
@given(sent=requests_with_odd_varints())
@example(sent=build_with_tag_section(3, "body", bytes.fromhex("808080808000"), broken="six bytes"))
@example(sent=build_with_tag_section(3, "header", b"\x80\x00", broken="long zero"))
@example(sent=build_with_tag_section(3, "body", b"\x80\x80\x80\x80\x70", broken="high bits"))
@example(sent=build_with_tag_section(3, "header", b"\xff\xff\xff\xff\x0f", broken="negative count"))
def test_odd_varints_go_as_pinned(broker: Broker, sent: Request) -> None:
    """A request with a long, too long or negative varint is served or closed as in the release's profile."""
    assume_served(broker, sent)
    assert_served_as_pinned(broker, sent)


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.tag-order-in-requests")
@given(sent=requests_with_tags_out_of_order())
@example(sent=build_with_tags(3, "header", (100, 100)))
@example(sent=build_with_tags(3, "body", (100, 100)))
@example(sent=build_with_tags(3, "body", (101, 100)))
def test_tags_out_of_order_go_as_pinned(broker: Broker, sent: Request) -> None:
    """A request with duplicate or descending tags is served or closed as in the release's profile."""
    assume_served(broker, sent)
    assert_served_as_pinned(broker, sent)
