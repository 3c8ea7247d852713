"""Names of the listeners of a broker, for targets, cells and profiles."""

from __future__ import annotations

from collections.abc import Collection

PLAINTEXT = "plaintext"
SASL_PLAINTEXT = "sasl_plaintext"
SSL = "ssl"
SSL_CLIENT_AUTH = "ssl_client_auth"
SASL_SSL = "sasl_ssl"
CONTROLLER = "controller"

UPSTREAM = "upstream"
"""Not a listener of a target: the upstream of a proxy, which properties ask as well."""


BROKER_LISTENERS = (PLAINTEXT, SASL_PLAINTEXT, SSL, SSL_CLIENT_AUTH, SASL_SSL)
CONTROLLER_LISTENER_OF = {
    PLAINTEXT: CONTROLLER,
    **{name: f"{CONTROLLER}_{name}" for name in BROKER_LISTENERS if name != PLAINTEXT},
}
"""Maps a listener of a broker to that of a KRaft controller with the same security."""
CONTROLLER_LISTENERS = tuple(CONTROLLER_LISTENER_OF.values())
LISTENERS = (*BROKER_LISTENERS, *CONTROLLER_LISTENERS)
"""All listeners, in display order."""
USUAL_LISTENERS = (*BROKER_LISTENERS, CONTROLLER)
"""Those of a target that the suite starts, unless it names others."""


_PLAIN_OF = {SSL: PLAINTEXT, SSL_CLIENT_AUTH: PLAINTEXT, SASL_SSL: SASL_PLAINTEXT}
_WITHOUT_TLS = _PLAIN_OF | {CONTROLLER_LISTENER_OF[a]: CONTROLLER_LISTENER_OF[b] for a, b in _PLAIN_OF.items()}


def _with_controllers(*names: str) -> tuple[str, ...]:
    """Return listeners of a broker, and those of a controller with the same security."""
    return (*names, *(CONTROLLER_LISTENER_OF[name] for name in names))


SASL_LISTENERS = _with_controllers(SASL_PLAINTEXT, SASL_SSL)
TLS_LISTENERS = _with_controllers(SSL, SSL_CLIENT_AUTH, SASL_SSL)
TLS_WITHOUT_SASL_LISTENERS = _with_controllers(SSL, SSL_CLIENT_AUTH)
HALF_CLOSING_LISTENERS = tuple(name for name in LISTENERS if name not in TLS_LISTENERS)
"""The listeners without TLS. Up to TLS 1.2, the end of one side obliges the other to end at once and to drop responses
that it has not written, which Apache Kafka does more or less often. With TLS 1.3 it answers, and may stay open."""
CLIENT_AUTH_LISTENERS = _with_controllers(SSL_CLIENT_AUTH)
"""Those that require a certificate of the client."""


def other_node(node_id: int) -> str:
    """Return how properties name the plaintext listener of another node of a target's cluster."""
    return f"node_{node_id}"


def first_but_for_tls(listener: str, listeners: Collection[str]) -> str:
    """Return the first of a target's listeners that serves what a given one serves, with or without TLS.

    A standard run sweeps whole ranges of versions and learns with an extra state on that listener only. On the others
    it takes the ends of ranges and the states of the model. So only the deep tier finds a broker that serves a version
    in the middle of a range otherwise over TLS alone.
    """
    served = _WITHOUT_TLS.get(listener, listener)
    return next(each for each in listeners if _WITHOUT_TLS.get(each, each) == served)
