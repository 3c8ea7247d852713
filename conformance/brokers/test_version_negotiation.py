"""Versions that are not served: the error, its layout, and the fallback to v0."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

NEXT, FARTHEST = UnservedRequest(), UnservedRequest(distance=INT16_MAX)
FAR = UnservedRequest(distance=94)
NO_BODY_AT_ALL = UnservedRequest(body=b"\xff\xff")
"""Bytes that no version's body begins with, in the version after the target's highest one."""


def assert_no_success(exchange: Exchange) -> None:
    """Fail if the response to a version that is not served has no error: then it is no refusal, whatever it lists."""
    if error_code_of(exchange) is not ErrorCode.NONE:
        return
    version = exchange.request.api_version
    raise MalformedAnswer(
        exchange,
        f"no refusal: v{version} is above the highest version, and is answered with the error NONE",
        fault=ResponseFault.OTHER_ERROR,
    )


@pytest.mark.clause("KIP-35.unknown-version-gives-35")
@given(drawn=unserved_requests(), history=histories())
@example(drawn=NEXT, history=ALONE)
@example(drawn=FARTHEST, history=ALONE)
@example(drawn=NEXT, history=after(Earlier.NEWEST))
def test_unknown_version_gets_unsupported_version(
    broker: Broker, drawn: UnservedRequest, history: ConnectionHistory
) -> None:
    """A broker answers any version above its highest with UNSUPPORTED_VERSION."""
    sent = request_above(broker, drawn)
    assert_error(exchange_after(broker, history, sent), ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.malformed
@pytest.mark.clause("KIP-35.negative-version-gives-35")
@given(sent=api_versions_requests(versions=negative_versions()), history=histories())
@example(sent=build_request(version=-1), history=ALONE)
@example(sent=build_request(version=-32768), history=ALONE)
def test_negative_version_gets_unsupported_version(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker answers a negative version with UNSUPPORTED_VERSION."""
    assert_error(exchange_after(broker, history, sent), ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.clause("KIP-35.revert-to-v0-on-same-connection")
@given(drawn=unserved_requests())
@example(drawn=NEXT)
@example(drawn=FAR)
def test_refused_connection_reverts_to_v0(broker: Broker, drawn: UnservedRequest) -> None:
    """After an unsupported version the same connection serves v0 and then every other version."""
    sent = request_above(broker, drawn)
    versions = (0, *range(broker.described_version + 1))
    fallback = [build_request(version=version, correlation_id=version) for version in versions]
    with broker.connect() as connection:
        (refused,) = connection.converse([sent])
        exchanges = connection.converse_in_turn(fallback)
    has_id = isinstance(refused.request.header, InstanceIdHeader)
    for exchange in exchanges:
        if has_id and error_code_of(exchange) is ErrorCode.INVALID_REQUEST:
            raise Unjudged(
                "a request without an id is refused after an unknown version with one (header v3): KIP-1313, a proposal, "
                "does not say whether that version counts as the first request of its connection"
            )
        assert_error(exchange, ErrorCode.NONE)


@pytest.mark.clause("KIP-511.unsupported-version-answered-in-v0")
@given(drawn=unserved_requests(), history=histories())
@example(drawn=NEXT, history=ALONE)
@example(drawn=NEXT, history=in_one_write_with(Earlier.NEWEST))
def test_unknown_version_is_answered_in_v0(broker: Broker, drawn: UnservedRequest, history: ConnectionHistory) -> None:
    """A broker answers a version that it does not know in the v0 layout."""
    exchange = exchange_after(broker, history, request_above(broker, drawn))
    assert_no_success(exchange)
    decode_answer(exchange, api_version=0, exactly=True)


@pytest.mark.clause("KIP-511.unsupported-version-names-range")
@given(drawn=unserved_requests(), history=histories())
@example(drawn=NEXT, history=ALONE)
@example(drawn=NEXT, history=after(Earlier.ILLEGAL_NAME))
def test_refusal_names_the_served_range(broker: Broker, drawn: UnservedRequest, history: ConnectionHistory) -> None:
    """A broker lists ApiVersions in its response to a version that it does not know."""
    sent = request_above(broker, drawn)
    answer = decode_answer(exchange_after(broker, history, sent), api_version=0)
    assert answer.range_of(API_VERSIONS_KEY) is not None, "ApiVersions is not listed"


@pytest.mark.clause("KIP-511.unsupported-range-is-true")
@given(drawn=unserved_requests(), history=histories())
@example(drawn=NEXT, history=ALONE)
@example(drawn=NEXT, history=after(Earlier.NEWEST))
def test_refusal_names_the_range_that_a_success_lists(
    broker: Broker, drawn: UnservedRequest, history: ConnectionHistory
) -> None:
    """The range of ApiVersions in a refusal is the one that a success lists."""
    sent = request_above(broker, drawn)
    served = decode_answer(exchange_after(broker, history, build_request(version=0)), api_version=0)
    refused = decode_answer(exchange_after(broker, history, sent), api_version=0)
    named = key_ranges(refused).get(API_VERSIONS_KEY)
    # Whether the range is named at all is judged by a separate clause.
    listed = key_ranges(served).get(API_VERSIONS_KEY)
    assert named in (None, listed), f"the refusal names {named}, the table lists {listed}"


@pytest.mark.clause("KIP-511.unsupported-table-is-only-itself")
@given(drawn=unserved_requests(), history=histories())
@example(drawn=NEXT, history=ALONE)
def test_refusal_lists_nothing_else(broker: Broker, drawn: UnservedRequest, history: ConnectionHistory) -> None:
    """The table of a refusal has no entry except the one for ApiVersions."""
    exchange = exchange_after(broker, history, request_above(broker, drawn))
    assert_no_success(exchange)
    refused = decode_answer(exchange, api_version=0)
    others = key_ranges(refused).keys() - {API_VERSIONS_KEY}
    assert not others, f"the refusal also lists {len(others)} other API keys"


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.unparsed-when-unsupported")
@given(
    drawn=unserved_requests(bodies=st.binary(max_size=40) | one_branch(PLAINLY_ILLEGAL.map(body_with))),
    history=histories(),
)
@example(drawn=NO_BODY_AT_ALL, history=ALONE)
@example(drawn=UnservedRequest(distance=94, body=b"\xff\xff"), history=ALONE)
@example(drawn=UnservedRequest(body=body_with(Software("a b", "1"))), history=ALONE)
@example(drawn=UnservedRequest(distance=94, body=body_with(Software("a", ""))), history=ALONE)
def test_body_of_an_unknown_version_does_not_matter(
    broker: Broker, drawn: UnservedRequest, history: ConnectionHistory
) -> None:
    """A broker answers an unknown version with any body as without a body.

    One such body has the newest layout with an illegal name.
    """
    sent = request_above(broker, drawn)
    bare = build_request(version=sent.api_version, correlation_id=sent.correlation_id, body=b"")
    assert payload_of(exchange_after(broker, history, sent)) == payload_of(exchange_after(broker, history, bare)), (
        "the response is not that to a request without a body"
    )
