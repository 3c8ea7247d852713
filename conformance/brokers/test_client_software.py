"""Tests of client software names and versions: accepted, refused, and how."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

import pytest
from hypothesis import example, given, settings

from conformance.brokers.vocabulary import *

MAX_EXAMPLES_NOT_TEXT = 30
ONE_BYTE_TOO_LONG = compact_string(INT16_MAX + 1, b"a" * (INT16_MAX + 1))
"""A legal name but for its length."""
ILLEGAL_REQUESTS = api_versions_requests(
    min_version=FIRST_FLEXIBLE_VERSION, software=software_with_one(illegal_software_texts())
)


def naming_software(sent: Request) -> AbstractContextManager[None]:
    """Add to a violation which of software name and version is illegal, and both of them."""
    assert sent.body is not None
    texts = {
        "name": sent.body.client_software_name,
        "version": sent.body.client_software_version,
    }
    illegal = " and ".join(field for field, text in texts.items() if not is_valid_name(text))
    where = f"an illegal software {illegal}" if illegal else "a legal software name and version"
    return violation_context(where, json.dumps(texts))


@pytest.mark.clause("KIP-511.names-accepted")
@given(
    sent=api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=legal_software()),
    history=histories(),
)
@example(sent=build_request(version=3, software=Software("a", "9")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a.b--c", "1..2")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a" * INT16_MAX, "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("librdkafka", "2.16.0")), history=ALONE)
@example(
    sent=build_request(version=3, software=Software("librdkafka", "2.16.0")),
    history=after(Earlier.NEWEST),
)
def test_legal_name_is_accepted(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker serves a client whose software name and version are legal."""
    assume_served(broker, sent)
    with naming_software(sent):
        assert_error(exchange_after(broker, history, sent), ErrorCode.NONE)


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.names-refused")
@given(sent=ILLEGAL_REQUESTS, history=histories())
@example(sent=build_request(version=3, software=Software("", "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a", "")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a_b", "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a\n", "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("é", "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a" * 299 + "_", "1")), history=ALONE)
@example(
    sent=build_request(version=3, software=Software("a", "_" + "a" * (INT16_MAX - 1))),
    history=ALONE,
)
@example(sent=build_request(version=3, software=Software("a_b", "1")), history=after(Earlier.NEWEST))
@example(
    sent=build_request(version=3, software=Software("a_b", "1")),
    history=in_one_write_with(Earlier.V0),
)
def test_illegal_name_is_refused(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker answers an illegal software name or version with INVALID_REQUEST."""
    assume_served(broker, sent)
    with naming_software(sent):
        assert_error(exchange_after(broker, history, sent), ErrorCode.INVALID_REQUEST)


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.names-refused")
@settings(max_examples=MAX_EXAMPLES_NOT_TEXT)
@given(sent=names_with_wrong_text(), history=histories())
@example(sent=build_with_string(3, NAMES[0], b"\x03a\xff", broken=NOT_TEXT), history=ALONE)
@example(sent=build_with_string(3, NAMES[1], b"\x04\xed\xa0\x80", broken=NOT_TEXT), history=ALONE)
@example(
    sent=build_with_string(3, NAMES[0], b"\x03a\xff", broken=NOT_TEXT),
    history=after(Earlier.NEWEST),
)
def test_name_that_is_not_utf_8_is_refused(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """Apache Kafka answers a name that is not UTF-8 with INVALID_REQUEST; no broker serves the request."""
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    explained = unless_explained_by_earlier(broker, exchange, illegal_like(sent), ErrorCode.INVALID_REQUEST)
    with violation_context(sent.broken, sent.data.hex()), explained:
        if broker.pin_is_binding:
            assert_error(exchange, ErrorCode.INVALID_REQUEST)
        else:
            assert_refused(exchange)


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.edge-punctuation")
@given(
    sent=api_versions_requests(
        min_version=FIRST_FLEXIBLE_VERSION, software=software_with_one(edge_punctuation_texts())
    ),
    history=histories(),
)
@example(sent=build_request(version=3, software=Software("-a", "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("a", "1.")), history=ALONE)
@example(sent=build_request(version=3, software=Software("-a", "1")), history=after(Earlier.NEWEST))
def test_punctuation_at_an_edge_is_refused(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """Apache Kafka refuses a dot or hyphen at an edge; another broker consistently serves or refuses it."""
    assume_served(broker, sent)
    allowed = [ErrorCode.INVALID_REQUEST]
    if not broker.pin_is_binding:
        allowed.append(ErrorCode.NONE)
    exchange = exchange_after(broker, history, sent)
    explained = unless_explained_by_earlier(broker, exchange, illegal_like(sent), ErrorCode.INVALID_REQUEST)
    with naming_software(sent), explained:
        seen = assert_error(exchange, *allowed)
        if not broker.pin_is_binding:
            assert error_code_of(broker.exchange(sent)) is seen, "the response to the repeated request differs"


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.refusal-in-request-version")
@given(
    sent=api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=PLAINLY_ILLEGAL),
    history=histories(),
)
@example(sent=build_request(version=3, software=Software("", "")), history=ALONE)
@example(sent=build_request(version=3, software=Software("\u00e9", "1")), history=ALONE)
@example(sent=build_request(version=3, software=Software("", "")), history=after(Earlier.NEWEST))
def test_refusal_is_written_in_the_request_version(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A refused name is answered in the request's version with an empty table, on a usable connection."""
    assume_served(broker, sent)
    with naming_software(sent):
        exchange = answer_after(broker, history, sent, ErrorCode.INVALID_REQUEST)
        answer = decode_answer(exchange, api_version=sent.api_version, exactly=True)
        assert answer.api_keys == (), "the response refuses the name and lists API versions"
        assert_kept(exchange, "the connection serves no request after the refusal")


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.null-name-refused")
@given(sent=requests_with_null_name(), history=histories())
@example(sent=build_with_null_name(3, "client_software_name"), history=ALONE)
@example(sent=build_with_null_name(3, "client_software_version"), history=ALONE)
@example(sent=build_with_null_name(3, "client_software_name"), history=after(Earlier.NEWEST))
@example(sent=build_with_string(3, NAMES[0], ONE_BYTE_TOO_LONG, broken=TOO_LONG), history=ALONE)
@example(sent=build_with_string(3, NAMES[1], ONE_BYTE_TOO_LONG, broken=TOO_LONG), history=ALONE)
def test_null_name_closes_the_connection(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker closes the connection if the software name or version is null, or longer than 32767 bytes."""
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    with unless_explained_by_earlier(broker, exchange, plain_like(sent)):
        assert exchange.outcome is Outcome.CLOSED, summary_of(exchange)
