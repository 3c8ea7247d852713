"""The reference broker's side of SCRAM, checked with an independent client."""

from __future__ import annotations

import pytest
from scramp import ScramClient

from reference_model.broker.model.scram import SCRAM, SCRAM_MECHANISMS, ScramExchange, ScramRefused
from reference_model.broker.model.state_machine import MECHANISMS, BrokerConnection, ReferenceBroker
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import Identity
from reference_model.broker.rules.sasl import Credentials, SaslConfiguration
from reference_model.profiles.listeners import SASL_PLAINTEXT
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.other_apis import METADATA
from wire.exchange import Request
from wire.frames import SIZE_BYTES
from wire.sasl import authenticate_request, handshake_request, read_authenticate

CREDENTIALS = Credentials(username="user", password="pencil")


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_right_password_comes_in(mechanism: str) -> None:
    exchange = ScramExchange(CREDENTIALS, mechanism)
    client = ScramClient([mechanism], "user", "pencil")
    client.set_server_first(exchange.answer_to(client.get_client_first().encode()).decode())
    assert not exchange.is_over
    client.set_server_final(exchange.answer_to(client.get_client_final().encode()).decode())
    assert exchange.is_over


@pytest.mark.parametrize(
    ("username", "password"),
    [pytest.param("user", "pen", id="password"), pytest.param("nobody", "pencil", id="user")],
)
def test_wrong_client_is_refused(username: str, password: str) -> None:
    """A wrong password or an unknown user is refused."""
    exchange = ScramExchange(CREDENTIALS, SCRAM)
    client = ScramClient([SCRAM], username, password)

    def come_in() -> None:
        client.set_server_first(exchange.answer_to(client.get_client_first().encode()).decode())
        exchange.answer_to(client.get_client_final().encode())

    with pytest.raises(ScramRefused):
        come_in()
    assert not exchange.is_over


@pytest.mark.parametrize("token", [b"", b"\xff", b"\0user\0pencil", b"n,,n=user", b"a" * 999])
def test_token_of_another_kind_is_refused(token: bytes) -> None:
    """Any token that is not SCRAM ends the exchange."""
    with pytest.raises(ScramRefused):
        ScramExchange(CREDENTIALS, SCRAM).answer_to(token)


def test_same_tokens_get_the_same_answers() -> None:
    """The answers are not random, so a run can be repeated byte for byte."""
    first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    answers = {ScramExchange(CREDENTIALS, SCRAM).answer_to(first) for _ in range(2)}
    assert len(answers) == 1


def response_to(sent: Request, connection: BrokerConnection) -> bytes:
    """Send a request, and return its response without size prefix; empty if there is none."""
    connection.receive_data(sent.data)
    return connection.data_to_send()[SIZE_BYTES:]


def connect_for_scram() -> BrokerConnection:
    """Open a connection to a SASL listener, and choose SCRAM in a handshake."""
    broker = ReferenceBroker(
        profile=profile_of(NEWEST_RELEASE, listener=SASL_PLAINTEXT),
        identity=Identity(),
        authentication=SaslConfiguration(credentials=CREDENTIALS, mechanisms=MECHANISMS),
    )
    connection = broker.connect()
    response_to(handshake_request(version=1, mechanism=SCRAM, correlation_id=1), connection)
    return connection


@pytest.mark.parametrize(
    ("password", "state"),
    [
        pytest.param("pencil", ConnectionState.AUTHENTICATED, id="right"),
        pytest.param("pen", ConnectionState.CLOSED, id="wrong"),
    ],
)
def test_connection_takes_both_tokens(password: str, state: ConnectionState) -> None:
    """After the handshake, a connection is authenticated by the second token, or closed."""
    connection = connect_for_scram()
    client = ScramClient([SCRAM], "user", password)
    first = authenticate_request(client.get_client_first().encode(), correlation_id=2)
    client.set_server_first(read_authenticate(response_to(first, connection)).token.decode())
    assert connection.state is ConnectionState.WRAPPED_TOKENS
    response_to(authenticate_request(client.get_client_final().encode(), correlation_id=3), connection)
    assert connection.state is state


def test_request_in_place_of_a_token_closes() -> None:
    """A request without a token ends a connection that awaits one."""
    connection = connect_for_scram()
    connection.receive_data(METADATA.data)
    assert connection.state is ConnectionState.CLOSED
