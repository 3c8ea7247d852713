"""The listeners that a broker may have, by the names that targets, cells and profiles use."""

from __future__ import annotations

PLAINTEXT = "plaintext"
SASL_PLAINTEXT = "sasl_plaintext"
SSL = "ssl"
SSL_CLIENT_AUTH = "ssl_client_auth"
CONTROLLER = "controller"

LISTENERS = (PLAINTEXT, SASL_PLAINTEXT, SSL, SSL_CLIENT_AUTH, CONTROLLER)
"""All of them, in the order in which they are shown."""
BROKER_LISTENERS = tuple(name for name in LISTENERS if name != CONTROLLER)
SASL_LISTENERS = (SASL_PLAINTEXT,)
TLS_LISTENERS = (SSL, SSL_CLIENT_AUTH)
