"""Progress of authentication on a connection to a scripted broker.

It follows the order of Kafka's authenticator.

ApiVersions succeeds once, SaslHandshake follows, and then one token of any mechanism, because a script is about
ApiVersions. The states are those of the model of a broker.
"""

from __future__ import annotations

from typing import Any

from reference_model.broker.rules.connection_states import (
    SERVING,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.clients.scripts.script import EMPTY, Answer, LoginRefusal, Table
from reference_model.clients.scripts.served_apis import SASL_APIS
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.error_codes import ErrorCode
from wire.message_schemas import Api
from wire.sasl import PLAIN

_OTHER_MECHANISM = "SCRAM-SHA-512"
_BEFORE_HANDSHAKE = (ConnectionState.BEFORE_HANDSHAKE, ConnectionState.API_VERSIONS_SERVED)


class SaslSteps:
    """The authentication on one connection.

    Attributes:
        is_refused: whether the broker has refused it, and closes the connection.
    """

    def __init__(self, *, needed: bool, refusal: LoginRefusal = "") -> None:
        self.is_refused = False
        self._refusal = refusal
        self._state = ConnectionState.BEFORE_HANDSHAKE if needed else ConnectionState.OPEN

    @property
    def state(self) -> ConnectionState:
        """How far the authentication is."""
        return self._state

    @property
    def is_over(self) -> bool:
        """Whether the connection is authenticated, or needs no authentication."""
        return self._state in SERVING

    @property
    def token_is_bare(self) -> bool:
        """Whether the next frame is a token without a header, as after SaslHandshake v0."""
        return self._state is ConnectionState.BARE_TOKENS

    def give_table(self, table: Table) -> None:
        """Note that ApiVersions succeeded; releases before 1.0, which list no SaslAuthenticate, answer it again."""
        is_first = self._state is ConnectionState.BEFORE_HANDSHAKE
        if is_first and table.ranges_of(SASL_AUTHENTICATE_KEY):
            self._move(ConnectionEvent.VERSIONS_GIVEN)

    def answer_to_late_versions(self, layout: int | None) -> Answer | None:
        """Return what an ApiVersions request gets that comes too late; None if it does not.

        Args:
            layout: the version in whose layout an error is written; None for that of the request.
        """
        if self._state is ConnectionState.API_VERSIONS_SERVED:
            return Answer(action="close")
        if self._state is ConnectionState.WRAPPED_TOKENS:
            error_code = int(ErrorCode.ILLEGAL_SASL_STATE)
            return Answer(error_code=error_code, table=EMPTY, layout=layout, then="close")
        return None

    def api_of(self, api_key: int) -> Api | None:
        """Return the API of a request if it is the step that comes next; None if it is not."""
        next_key = SASL_HANDSHAKE_KEY if self._state in _BEFORE_HANDSHAKE else SASL_AUTHENTICATE_KEY
        return SASL_APIS[next_key] if api_key == next_key else None

    def take_step(self, api: Api, api_version: int) -> Any:
        """Take the next step of SASL with any mechanism or token.

        Return the response, or None if there is none.
        """
        if api.api_key == SASL_AUTHENTICATE_KEY:
            self.take_token()
            return self._response_to_token(api)
        if self._refusal == "mechanism":
            self.is_refused = True
            error_code = int(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
            return api.response(error_code=error_code, mechanisms=(_OTHER_MECHANISM,))
        is_oldest = api_version == 0
        self._move(ConnectionEvent.HANDSHAKE_V0 if is_oldest else ConnectionEvent.HANDSHAKE_V1)
        return api.response(mechanisms=(PLAIN,))

    def take_token(self) -> None:
        """Take a token, of which PLAIN needs a single one; the state after it counts only if it is not refused."""
        self.is_refused = self._refusal != ""
        self._move(ConnectionEvent.TOKEN_TAKEN)

    def _response_to_token(self, api: Api) -> Any:
        if self._refusal == "close":
            return None
        if self.is_refused:
            error_code = int(ErrorCode.SASL_AUTHENTICATION_FAILED)
            return api.response(error_code=error_code, error_message="Authentication failed")
        return api.response(error_message=None)

    def _move(self, event: ConnectionEvent) -> None:
        self._state = TRANSITIONS[self._state, event]
