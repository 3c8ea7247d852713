"""The reference broker's side of SCRAM, checked with an independent client."""

from __future__ import annotations

import pytest
from scramp import ScramClient

from reference_model.sasl import Credentials
from reference_model.scram import SCRAM, ScramExchange, ScramRefused

CREDENTIALS = Credentials(username="user", password="pencil")


def test_right_password_comes_in() -> None:
    """Both client tokens are answered, and the second answer proves that the broker knows the password."""
    exchange = ScramExchange(CREDENTIALS)
    client = ScramClient([SCRAM], "user", "pencil")
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
    exchange = ScramExchange(CREDENTIALS)
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
        ScramExchange(CREDENTIALS).answer_to(token)


def test_same_tokens_get_the_same_answers() -> None:
    """The answers are not random, so a run can be repeated byte for byte."""
    first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert ScramExchange(CREDENTIALS).answer_to(first) == ScramExchange(CREDENTIALS).answer_to(
        first
    )
