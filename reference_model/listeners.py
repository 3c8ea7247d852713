"""Names of the listeners that a broker may have, as used by targets, cells and profiles."""

from __future__ import annotations

PLAINTEXT = "plaintext"
SASL_PLAINTEXT = "sasl_plaintext"
SSL = "ssl"
SSL_CLIENT_AUTH = "ssl_client_auth"
SASL_SSL = "sasl_ssl"
CONTROLLER = "controller"

UPSTREAM = "upstream"
"""Not a listener of a target: the upstream of a proxy, which properties ask as well."""

LISTENERS = (PLAINTEXT, SASL_PLAINTEXT, SSL, SSL_CLIENT_AUTH, SASL_SSL, CONTROLLER)
"""All listeners, in display order."""
BROKER_LISTENERS = tuple(name for name in LISTENERS if name != CONTROLLER)
SASL_LISTENERS = (SASL_PLAINTEXT, SASL_SSL)
TLS_LISTENERS = (SSL, SSL_CLIENT_AUTH, SASL_SSL)
