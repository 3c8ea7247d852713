"""Tests of ApiVersions on a connection that authenticates with SCRAM.

Both rounds of SCRAM tokens use the same authenticator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

V0 = build_request(version=0)
LOGS_IN = "PROTOCOL.listed-sasl-versions-log-in"
HANDSHAKE_VERSIONS = st.integers(0, 1)


def assume_handshake(broker: Broker, version: int) -> None:
    """Reject the example unless the release supports the version of SaslHandshake."""
    assume(version <= broker.profile.traits.sasl_handshake_max)


@contextmanager
def connected_by_scram(broker: Broker, handshake_version: int, *, asked_before: bool) -> Iterator[Connection]:
    """Open a connection, authenticate with SCRAM, and close it after the block.

    Raises:
        JudgedElsewhere: there is no login in this way.

    Args:
        broker: the target.
        handshake_version: the version of SaslHandshake, which decides the format of the tokens.
        asked_before: whether to request the table before the handshake, too.
    """
    access = broker.running.sasl
    assert access is not None
    with broker.connect(authenticate=False) as connection:
        if asked_before:
            connection.converse([V0])
        try:
            connection.authenticate(access, mechanism=SCRAM, handshake_version=handshake_version)
        except AuthenticationFailed as failed:
            raise JudgedElsewhere(
                f"no login with {SCRAM} after SaslHandshake v{handshake_version}: {failed.why} (judged by {LOGS_IN})"
            ) from failed
        yield connection


@pytest.mark.needs("scram")
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("KIP-35.table-before-authentication")
@given(
    sent=api_versions_requests(client_ids=named_client_ids()),
    handshake_version=HANDSHAKE_VERSIONS,
    asked_before=st.booleans(),
)
@example(sent=V0, handshake_version=0, asked_before=False)
@example(sent=V0, handshake_version=1, asked_before=True)
@example(sent=build_request(version=3), handshake_version=1, asked_before=True)
@example(sent=build_request(version=5), handshake_version=1, asked_before=False)
def test_table_behind_scram_is_the_one_before_it(
    broker: Broker, sent: Request, handshake_version: int, asked_before: bool
) -> None:
    """After SCRAM authentication every version returns the same table as before authentication."""
    assume_served(broker, sent)
    assume_handshake(broker, handshake_version)
    expected = decode_answer(broker.exchange(V0), api_version=0)
    with connected_by_scram(broker, handshake_version, asked_before=asked_before) as connection:
        exchange = connection.exchange(sent)
    answer = decode_answer(exchange, api_version=sent.api_version)
    assert_error(exchange, ErrorCode.NONE)
    assert_same_table(answer, expected, "before authentication")
    assert exchange.usable, "the connection is unusable after the response"


@pytest.mark.needs("scram")
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("KIP-35.unknown-version-gives-35")
@given(
    sent=api_versions_requests(versions=unknown_versions(), client_ids=named_client_ids()),
    handshake_version=HANDSHAKE_VERSIONS,
)
@example(sent=build_request(version=99), handshake_version=0)
@example(sent=build_request(version=99), handshake_version=1)
def test_unknown_version_behind_scram_gives_35(broker: Broker, sent: Request, handshake_version: int) -> None:
    """After SCRAM authentication an unknown version gets UNSUPPORTED_VERSION."""
    assume_unserved(broker, sent)
    assume_handshake(broker, handshake_version)
    with connected_by_scram(broker, handshake_version, asked_before=False) as connection:
        (exchange,) = connection.converse([sent])
    assert_error(exchange, ErrorCode.UNSUPPORTED_VERSION)
