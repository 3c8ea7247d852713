"""Tests of listeners: service before authentication and TLS, controller's table.

The controller has a table of its own.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

from conformance.assertions.judging import (
    MalformedAnswer,
    ResponseFault,
    assert_error,
    assert_same_table,
    assume_seen,
    assume_served,
    decode_answer,
    decode_elsewhere,
    error_code_of,
    key_ranges,
)
from conformance.assertions.served_tables import assert_table
from fixtures.client.access import ClientCertificate
from fixtures.client.tls_stream import TlsShape
from fixtures.client.transport import client_hello
from fixtures.errors import TlsRefused
from fixtures.model_processes.tls import tls_records_size
from fixtures.under_test.broker import Broker
from reference_model.judging.agreement import summary_of
from reference_model.profiles.listeners import (
    CLIENT_AUTH_LISTENERS,
    CONTROLLER_LISTENERS,
    SASL_LISTENERS,
    SSL,
    SSL_CLIENT_AUTH,
    TLS_LISTENERS,
)
from strategies.api_versions import api_versions_requests, build_request, unknown_versions
from strategies.field_values import (
    Software,
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software_texts,
    named_client_ids,
    software_with_one,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request

TLS_VERSIONS = ("TLSv1_2", "TLSv1_3")
UNTRUSTED = ("none", "foreign", "expired")
"""What a client may show instead of a certificate that the broker trusts; see `ClientCertificate`."""
NOTHING_SERVED = (Outcome.CLOSED, Outcome.SILENT)
"""An ignored request is not among these outcomes: the sentinel after it would get the table."""
MAX_EXAMPLES_SLOW = 10
"""Number of examples for properties whose examples each cost a TLS handshake, or a silence bound on a silent target."""
WELL_FORMED_REQUESTS = api_versions_requests(client_ids=named_client_ids())


def answer_of(exchange: Exchange, sent: Request) -> ApiVersionsResponse:
    """Decode a response in the version that its error code implies."""
    unsupported = error_code_of(exchange) is ErrorCode.UNSUPPORTED_VERSION
    return decode_answer(exchange, api_version=0 if unsupported else sent.api_version)


@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("KIP-35.table-before-authentication")
@given(sent=WELL_FORMED_REQUESTS)
@example(sent=build_request(version=0))
@example(sent=build_request(version=1))
@example(sent=build_request(version=3))
@example(sent=build_request(version=5))
def test_table_is_served_before_authentication(broker: Broker, sent: Request) -> None:
    """Before SaslHandshake the complete table is served, and the handshake is answered afterwards."""
    assume_served(broker, sent)
    (authenticated,) = broker.converse([build_request(version=0)])
    expected = decode_answer(authenticated, api_version=0)
    exchange = broker.exchange(sent)
    answer = decode_answer(exchange, api_version=sent.api_version)
    assert_error(exchange, ErrorCode.NONE)
    assert_same_table(answer, expected, "after authentication")
    assert exchange.usable, "SaslHandshake is not answered after ApiVersions"


@pytest.mark.malformed
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("KIP-511.same-rules-before-authentication")
@given(
    sent=api_versions_requests(
        versions=st.integers(0, NEWEST_VERSION) | unknown_versions(),
        software=software_with_one(legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()),
    )
)
@example(sent=build_request(version=3))
@example(sent=build_request(version=3, software=Software("a_b", "1")))
@example(sent=build_request(version=3, software=Software("-a", "1")))
@example(sent=build_request(version=3, software=Software("", "1")))
@example(sent=build_request(version=99))
def test_rules_before_authentication_are_those_after_it(broker: Broker, sent: Request) -> None:
    """Before authentication a request gets the same error and layout, and a refusal the same table, as after it."""
    before = broker.exchange(sent)
    (after,) = broker.converse([sent])
    expected, answer = answer_of(after, sent), answer_of(before, sent)
    if answer.error_code is not expected.error_code:
        raise MalformedAnswer(
            before,
            f"{answer.error_code.name} before authentication, {expected.error_code.name} after it",
            fault=ResponseFault.OTHER_ERROR,
        )
    if answer.error_code is not ErrorCode.NONE:
        # The complete table is judged by a separate clause.
        assert_same_table(answer, expected, "after authentication")
    assert before.usable, "SaslHandshake is not answered after ApiVersions"


@pytest.mark.malformed
@pytest.mark.listeners(*TLS_LISTENERS)
@pytest.mark.clause("KIP-35.nothing-before-tls")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(sent=api_versions_requests(versions=st.integers(0, NEWEST_VERSION) | unknown_versions()))
@example(sent=build_request(version=0))
@example(sent=build_request(version=3))
def test_nothing_is_answered_before_tls(broker: Broker, sent: Request) -> None:
    """Without a TLS handshake a request on a TLS listener gets no byte of a response."""
    with broker.connect(plain=True) as connection:
        exchange = connection.exchange(sent)
    assert exchange.outcome in NOTHING_SERVED, summary_of(exchange)
    own_id = sent.correlation_id.to_bytes(4, signed=True)
    assert own_id not in exchange.received, "the target sent an unencrypted response"


@pytest.mark.malformed
@pytest.mark.listeners(*TLS_LISTENERS)
@pytest.mark.clause("KIP-35.nothing-before-tls")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    sent=api_versions_requests(versions=st.integers(0, NEWEST_VERSION) | unknown_versions()),
    newest=st.sampled_from(TLS_VERSIONS),
    at_once=st.booleans(),
)
@example(sent=build_request(version=0), newest="TLSv1_3", at_once=True)
@example(sent=build_request(version=3), newest="TLSv1_2", at_once=False)
def test_nothing_is_answered_during_the_handshake(broker: Broker, sent: Request, newest: str, at_once: bool) -> None:
    """An unencrypted request after a ClientHello gets nothing but TLS records, at once or after the server's first."""
    hello = client_hello(newest)
    with broker.connect(plain=True) as connection:
        received, _ = connection.exchange_bytes([hello + sent.data] if at_once else [hello, sent.data])
    assert tls_records_size(received) == len(received), (
        f"the target sent bytes outside TLS during the handshake: {received[:64].hex()}"
    )


@pytest.mark.needs("plaintext")
@pytest.mark.listeners(SSL, SSL_CLIENT_AUTH)
@pytest.mark.clause("KIP-35.nothing-before-tls")
@given(sent=WELL_FORMED_REQUESTS, newest=st.sampled_from(TLS_VERSIONS))
@example(sent=build_request(version=0), newest="TLSv1_2")
@example(sent=build_request(version=0), newest="TLSv1_3")
@example(sent=build_request(version=3), newest="TLSv1_2")
@example(sent=build_request(version=3), newest="TLSv1_3")
def test_table_behind_tls_is_the_plain_one(broker: Broker, sent: Request, newest: str) -> None:
    """Inside TLS 1.2 or 1.3 a broker returns the same table as on its plaintext listener."""
    assume_served(broker, sent)
    plain = broker.sibling("plaintext").exchange(build_request(version=0))
    try:
        connection = broker.connect(shape=TlsShape(newest=newest))
    except TlsRefused:
        # Nothing requires that a broker still speaks an older version of TLS.
        reject()
    with connection:
        answer = decode_answer(connection.exchange(sent), api_version=sent.api_version)
    assert_same_table(answer, decode_elsewhere(plain, api_version=0), "on the plaintext listener")


@pytest.mark.malformed
@pytest.mark.listeners(*CLIENT_AUTH_LISTENERS)
@pytest.mark.clause("KIP-35.client-certificate-guards-table")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    sent=api_versions_requests(versions=st.integers(0, NEWEST_VERSION) | unknown_versions()),
    others=st.integers(0, 2),
    shown=st.sampled_from(UNTRUSTED),
)
@example(sent=build_request(version=0), others=0, shown="none")
@example(sent=build_request(version=3), others=1, shown="none")
@example(sent=build_request(version=99), others=2, shown="none")
@example(sent=build_request(version=0), others=0, shown="foreign")
@example(sent=build_request(version=0), others=0, shown="expired")
def test_client_without_a_certificate_gets_no_table(broker: Broker, sent: Request, others: int, shown: str) -> None:
    """If a client certificate is required, a client without a valid one gets no response.

    That also holds while other connections with a certificate are open.
    """
    certificate = ClientCertificate(shown)
    assume_seen(broker.running.can_show(certificate))
    with ExitStack() as opened:
        for _ in range(others):
            opened.enter_context(broker.connect())
        try:
            connection = opened.enter_context(broker.connect(certificate=certificate))
        except TlsRefused:
            # The handshake failed, which is one of two ways; with TLS 1.3 the client learns of it only afterwards.
            broker.check_alive()
            return
        exchange = connection.exchange(sent)
    assert exchange.outcome in NOTHING_SERVED, summary_of(exchange)


@pytest.mark.needs("plaintext")
@pytest.mark.listeners(*CONTROLLER_LISTENERS)
@pytest.mark.clause("KIP-35.controller-listener-table")
@given(sent=WELL_FORMED_REQUESTS)
@example(sent=build_request(version=0))
@example(sent=build_request(version=3))
@example(sent=build_request(version=5))
def test_controller_has_its_own_table(broker: Broker, sent: Request) -> None:
    """A controller's table lists ApiVersions from v0, has valid ranges, and is not the broker's table."""
    assume_served(broker, sent)
    table = decode_answer(broker.exchange(sent), api_version=sent.api_version)
    own_range = table.range_of(API_VERSIONS_KEY)
    assert own_range is not None, "ApiVersions is not listed"
    assert own_range.min_version == 0, f"ApiVersions is listed from v{own_range.min_version}"
    keys = [entry.api_key for entry in table.api_keys]
    assert len(keys) == len(set(keys)), "an API key is listed twice"
    ranges = key_ranges(table)
    assert all(0 <= lowest <= highest for lowest, highest in ranges.values()), (
        "a range is negative or its maximum below its minimum"
    )
    plain = broker.sibling("plaintext").exchange(build_request(version=0))
    brokers_table = key_ranges(decode_elsewhere(plain, api_version=0))
    assert ranges.keys() != brokers_table.keys(), "the controller advertises the broker's table"


@pytest.mark.listeners(*CONTROLLER_LISTENERS)
@pytest.mark.clause("KIP-35.controller-listener-table")
@given(version=st.integers(0, NEWEST_VERSION))
@example(version=3)
def test_controller_has_one_table(broker: Broker, version: int) -> None:
    """A controller's table is the same at every version."""
    assume(version <= broker.max_version)
    plain = decode_answer(broker.exchange(build_request(version=0)), api_version=0)
    sent = build_request(version=version)
    assert_table(broker.exchange(sent), plain, "in v0", api_version=version)
