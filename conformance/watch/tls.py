"""TLS towards the application, with an authority of its own."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme

from fixtures.client.running_broker import Address


def tls_for_application(file: Path, place: Address) -> ssl.SSLContext:
    """Return the TLS that an application sees, and write the authority that it has to trust.

    Args:
        file: where the certificate of the authority is written, as PEM; its key is kept nowhere.
        place: the address on which the proxy listens.

    Raises:
        OSError: the file cannot be written.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names = dict.fromkeys((place.host, "localhost", "127.0.0.1", "::1"))
    authority.issue_cert(*names).configure_cert(context)
    return context
