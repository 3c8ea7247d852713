"""Listeners that differ in TLS alone, and names of other nodes."""

from __future__ import annotations

import pytest

from reference_model.profiles.listeners import LISTENERS, first_but_for_tls, other_node


@pytest.mark.parametrize(
    ("listener", "listeners", "first"),
    [
        ("plaintext", LISTENERS, "plaintext"),
        ("ssl", LISTENERS, "plaintext"),
        ("ssl_client_auth", LISTENERS, "plaintext"),
        ("sasl_ssl", LISTENERS, "sasl_plaintext"),
        ("controller", LISTENERS, "controller"),
        ("controller_sasl_ssl", LISTENERS, "controller_sasl_plaintext"),
        ("ssl_client_auth", ("ssl", "ssl_client_auth"), "ssl"),
        ("sasl_ssl", ("ssl", "sasl_ssl"), "sasl_ssl"),
        ("upstream", ("plaintext", "upstream"), "upstream"),
    ],
)
def test_first_listener_that_serves_the_same(listener: str, listeners: tuple[str, ...], first: str) -> None:
    assert first_but_for_tls(listener, listeners) == first


def test_another_node_is_named_by_its_id_and_is_no_listener() -> None:
    assert other_node(2) == "node_2"
    assert other_node(2) not in LISTENERS
