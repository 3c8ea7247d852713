"""Addresses as users give them: HOST:PORT, and several with commas."""

from __future__ import annotations

import click

from fixtures.client.running_broker import Address


def addresses_of(text: str) -> list[Address]:
    """Return the addresses in a text, separated by commas.

    Raises:
        click.UsageError: one of them is no address.
    """
    return [address_of(part.strip()) for part in text.split(",")]


def address_of(text: str, *, may_be_any_port: bool = False) -> Address:
    """Return the address in a text; an IPv6 address has brackets.

    Args:
        text: the text.
        may_be_any_port: whether the port may be 0.

    Raises:
        click.UsageError: it is no address.
    """
    host, _, port = text.rpartition(":")
    lowest = 0 if may_be_any_port else 1
    if not host or not port.isdecimal() or not lowest <= int(port) < 65_536:
        raise click.UsageError(f"{text!r} is no address: expected HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))
