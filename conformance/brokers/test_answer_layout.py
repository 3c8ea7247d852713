"""Tests of the layout of responses: error code, flexible body and fixed header.

The place of the error code is checked.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

KNOWN_ANSWERS = (
    ErrorCode.NONE,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.REBOOTSTRAP_REQUIRED,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
"""Every error code that the sources name for an ApiVersions response."""


def assert_known_code(exchange: Exchange, broker: Broker) -> None:
    """Fail unless the code at the beginning of a body is one that a response to the version can have.

    Whether a version that is not served gets UNSUPPORTED_VERSION is judged by a separate clause.
    """
    served = exchange.request.api_version <= broker.max_version
    not_for_served = {ErrorCode.UNSUPPORTED_VERSION} if served else set()
    assert_error(exchange, *(code for code in KNOWN_ANSWERS if code not in not_for_served))


@pytest.mark.clause("KIP-35.error-code-first")
@given(
    sent=api_versions_requests(versions=st.integers(0, NEWEST_VERSION) | unknown_versions())
    | api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=PLAINLY_ILLEGAL)
    | requests_with_cluster_ids(),
    history=histories(),
)
@example(sent=build_request(version=3, software=Software("", "")), history=ALONE)
@example(sent=WRONG_IDS, history=ALONE)
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=NEWEST_VERSION + 1), history=ALONE)
@example(sent=build_request(version=99), history=ALONE)
def test_body_begins_with_the_error_code(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """The body of every response, refusals included, begins with an error code that is possible for it."""
    exchange = exchange_after(broker, history, sent)
    if exchange.payload is None and not is_plain(sent):
        # What has no response has no body: a separate clause judges whether an illegal name or id is answered.
        reject()
    assert_known_code(exchange, broker)


@pytest.mark.clause("KIP-511.v3-body-flexible")
@given(
    sent=api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=legal_software()),
    history=histories(),
)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=build_request(version=3, software=Software("name", "v" * 30)), history=ALONE)
@example(sent=build_request(version=3), history=after(Earlier.V0))
def test_body_is_flexible_from_v3(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """From v3 the body of a response decodes exactly in the flexible encoding."""
    assume_served(broker, sent)
    exchange = answer_after(broker, history, sent, ErrorCode.NONE)
    # What follows a body after others is judged by a separate clause.
    decode_answer(exchange, api_version=sent.api_version, exactly=not history.earlier)


@pytest.mark.clause("KIP-511.response-header-fixed")
@given(
    sent=api_versions_requests(
        min_version=FIRST_FLEXIBLE_VERSION, software=legal_software() | one_branch(PLAINLY_ILLEGAL)
    ),
    history=histories(),
)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=build_request(version=3, software=Software("n" * 30, "1")), history=ALONE)
@example(sent=build_request(version=3, software=ILLEGAL_SOFTWARE), history=ALONE)
@example(sent=build_request(version=3), history=after(Earlier.NEWEST))
@example(sent=build_request(version=3, software=ILLEGAL_SOFTWARE), history=after(Earlier.NEWEST))
def test_response_header_has_no_tag_section(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """The body directly follows the correlation id, without a tag section between them, also if a name is refused."""
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    if exchange.payload is None and (history.earlier or not is_plain(sent)):
        # What has no response has no header: separate clauses judge whether a name, or a request after others, is
        # answered.
        reject()
    flexible = answer_after_flexible_header(exchange, api_version=sent.api_version)
    assert flexible is None, "there is a tag section between the correlation id and the body"
