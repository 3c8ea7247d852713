"""TLS on both sides of the watching proxy.

TLS towards the application has an authority of its own.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme

from fixtures.client.addresses import Address

_ALL_INTERFACES = ("0.0.0.0", "::")
_ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses that no machine has. Nothing is sent to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSides:
    """How the proxy listens and connects.

    Attributes:
        upstream: TLS towards the brokers; None for none.
        listen: TLS towards the application; None for none.
    """

    upstream: ssl.SSLContext | None = None
    listen: ssl.SSLContext | None = None


def tls_for_application(file: Path, address: Address) -> ssl.SSLContext:
    """Return the TLS that an application sees, and write the authority that it has to trust.

    Args:
        file: where the certificate of the authority is written, as PEM; its key is kept nowhere.
        address: the address on which the proxy listens.

    Raises:
        OSError: the file cannot be written.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names = [address.host, "localhost", "127.0.0.1", "::1"]
    if address.host in _ALL_INTERFACES:
        names += _names_of_machine()
    authority.issue_cert(*dict.fromkeys(names)).configure_cert(context)
    return context


def _names_of_machine() -> Iterator[str]:
    """Yield the names and addresses by which other machines reach this one."""
    name = socket.gethostname()
    yield from (name, socket.getfqdn())
    with contextlib.suppress(OSError):
        for *_, address in socket.getaddrinfo(name, None):
            yield str(address[0]).partition("%")[0]
    for family, elsewhere in _ELSEWHERE:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as endpoint:
            endpoint.connect((elsewhere, 9))
            yield str(endpoint.getsockname()[0]).partition("%")[0]
