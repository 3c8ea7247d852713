"""Authentication of the model client by SASL PLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import BrokerError
from reference_model.clients.model.negotiation import Negotiation
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.codec import encode
from wire.described_messages import SASL_APIS
from wire.error_codes import ErrorCode
from wire.message_schemas import Api
from wire.sasl import PLAIN, plain_token

VERSION_BEFORE_AUTHENTICATION = 0


class Authentication(Negotiation):
    """Authenticates each connection by SASL PLAIN, if the client has credentials.

    As the Java client of KIP-511 it asks for versions before and after: first in version 0, which every broker supports
    and which shows the versions of the SASL requests, then in the newest version, with the client's name.

    Attributes:
        sasl_apis: the APIs by which it authenticates, by key.
    """

    sasl_apis: Mapping[int, Api] = SASL_APIS

    def authenticated_table(self, link: Link) -> Mapping[int, Range]:
        """Return the table of a connection, after authentication if the client has credentials."""
        if self.credentials is not None and not link.is_authenticated:
            link.table = self.table_before_authentication(link)
            self.authenticate(link, *self.credentials)
            link.is_authenticated = True
            link.table = self.table_to_keep(link)
        return self.table_for(link)

    def table_before_authentication(self, link: Link) -> Mapping[int, Range]:
        """Ask for the table from which the versions of the SASL requests are chosen."""
        return self._table_from(link, VERSION_BEFORE_AUTHENTICATION)

    def table_to_keep(self, link: Link) -> Mapping[int, Range] | None:
        """Return the table that is kept after authentication: none, so that the broker is asked again."""
        return None

    def authenticate(self, link: Link, username: str, password: str) -> None:
        """Send SaslHandshake and one SaslAuthenticate.

        Raises:
            ClientError: the broker accepts neither the mechanism nor the token.
        """
        self.sasl_step(link, SASL_HANDSHAKE_KEY, mechanism=PLAIN)
        token = plain_token(username, password)
        self.sasl_step(link, SASL_AUTHENTICATE_KEY, auth_bytes=token)

    def sasl_step(self, link: Link, api_key: int, **fields: Any) -> None:
        """Send one request of SASL, in the newest common version, and check its response."""
        api, version = self.sasl_apis[api_key], self.version_of(link, api_key)
        body = encode(api.request(**fields), version=version)
        response = self.exchange(link, api_key, version, body, api.request_header_version(version))
        error_code = api.read_response(response, version).error_code
        if error_code != ErrorCode.NONE:
            raise BrokerError(f"SASL: the broker responded with error {error_code}")
