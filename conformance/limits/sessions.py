"""Sessions that end: `connections.max.reauth.ms` (KIP-368).

A broker with this setting tells a client that logs in how long its session lasts. A client that wants to go on logs in
again on the same connection: it begins with SaslHandshake, so it needs no second ApiVersions. Once the session has
ended, the broker closes the connection at the first request that does not begin a login.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.assertions.clause_ids import (
    REAUTHENTICATION_GOES_ON,
    SESSION_ENDS,
    SESSION_LIFETIME_TOLD,
)
from conformance.limits.asking import AskedBroker, AskedConnection, LimitProblem, ask_for_versions, table_in
from fixtures.artefacts.schema_jars import api_catalogue
from fixtures.client.access import SaslAccess
from fixtures.client.own_connection import Reply
from fixtures.errors import AuthenticationFailed
from wire.api_keys import SASL_AUTHENTICATE_KEY
from wire.errors import DecodeError
from wire.headers import read_error_code
from wire.sasl import PLAIN, authenticate_request, handshake_request, plain_token

LIFETIME_MS = 5000
"""How long a session lasts. Kafka closes a connection that logs in twice within a second."""
SETTING = "connections.max.reauth.ms"
FIRST_RELEASE = "2.2"
_AUTHENTICATE_VERSION = 1
"""The first version whose response states a lifetime."""
_PAUSE_S = 1.5
"""How long a client waits until it logs in again."""
_MARGIN_S = 0.5
"""How long before the end of a session a connection is asked, and how long after the end of all of them."""


class Login(NamedTuple):
    """A login that worked.

    Attributes:
        began_s: a time before the broker completed it.
        ended_s: a time after that.
        lifetime_ms: how long the session lasts, as the broker says.
        payload: the response that says so.
    """

    began_s: float
    ended_s: float
    lifetime_ms: int
    payload: bytes

    @property
    def ends_s(self) -> float:
        """The earliest time at which the session may end, as the broker says."""
        return self.began_s + self.lifetime_ms / 1000


def session_problems(broker: AskedBroker, access: SaslAccess, *, lifetime_ms: int = LIFETIME_MS) -> list[LimitProblem]:
    """Return what a SASL listener does wrong whose sessions last for a time.

    Args:
        broker: the listener.
        access: the user.
        lifetime_ms: the setting.

    Raises:
        AuthenticationFailed: the first login of a connection fails.
    """
    return list(_problems(broker, access, lifetime_ms))


def _problems(broker: AskedBroker, access: SaslAccess, lifetime_ms: int) -> Iterator[LimitProblem]:
    lasting, late, *ending = (broker.open() for _ in range(4))
    logins = [_log_in(broker, each, access) for each in (lasting, late, *ending)]
    failed = next((each for each in logins if isinstance(each, str)), None)
    if failed is not None:
        raise AuthenticationFailed(f"{PLAIN}: {failed}", failed)
    sessions = [each for each in logins if isinstance(each, Login)]
    for login in sessions:
        if not 0 < login.lifetime_ms <= lifetime_ms:
            told = f"the session lasts {login.lifetime_ms} ms, as the broker says; {SETTING} is {lifetime_ms}"
            yield LimitProblem(SESSION_LIFETIME_TOLD, told, login.payload)
    yield from _served(broker, lasting, sessions[0], "during its session", SESSION_ENDS)
    # On a slow machine that request came too late, and has closed the connection.
    is_open = broker.now_s < sessions[0].ends_s

    broker.wait_until(sessions[0].ended_s + _PAUSE_S)
    again = _log_in(broker, lasting, access) if is_open else None
    if isinstance(again, str):
        yield LimitProblem(REAUTHENTICATION_GOES_ON, f"a second login during the session fails: {again}")

    broker.wait_until(sessions[2].ends_s - _MARGIN_S)
    yield from _served(broker, ending[0], sessions[2], "shortly before the end of its session", SESSION_ENDS)

    broker.wait_until(max(each.ended_s for each in sessions) + lifetime_ms / 1000 + _MARGIN_S)
    if isinstance(again, Login):
        after = "after a second login, when the first session has ended"
        yield from _served(broker, lasting, again, after, REAUTHENTICATION_GOES_ON)
    for connection, version in zip(ending, (0, 1), strict=True):
        reply, payload = ask_for_versions(connection, version)
        if reply is not Reply.CLOSED:
            what = f"ApiVersions v{version} after the end of the session: {reply}"
            yield LimitProblem(SESSION_ENDS, f"{what}, instead of a closed connection", payload)
    once_more = _log_in(broker, late, access)
    if isinstance(once_more, str):
        yield LimitProblem(REAUTHENTICATION_GOES_ON, f"a login after the end of the session fails: {once_more}")
    else:
        after = "after a login that came after the session"
        yield from _served(broker, late, once_more, after, REAUTHENTICATION_GOES_ON)


def _served(
    broker: AskedBroker, connection: AskedConnection, session: Login, when: str, clause: str
) -> Iterator[LimitProblem]:
    """Yield a problem unless a connection is served; nothing is known if its session may have ended meanwhile."""
    reply, payload = ask_for_versions(connection)
    if table_in(reply, payload) is None and broker.now_s < session.ends_s:
        yield LimitProblem(clause, f"ApiVersions v0 {when}: {reply}, instead of a table", payload)


def _log_in(broker: AskedBroker, connection: AskedConnection, access: SaslAccess) -> Login | str:
    """Log in, and return the session or why it failed."""
    began_s = broker.now_s
    reply, payload = connection.ask(handshake_request(version=1, mechanism=PLAIN))
    if reply is not Reply.ANSWERED or read_error_code(payload) != 0:
        return f"SaslHandshake: {_in_words(reply, payload)}"
    token = plain_token(access.username, access.password)
    reply, payload = connection.ask(authenticate_request(token, version=_AUTHENTICATE_VERSION))
    if reply is not Reply.ANSWERED or read_error_code(payload) != 0:
        return f"SaslAuthenticate: {_in_words(reply, payload)}"
    api = api_catalogue().find(SASL_AUTHENTICATE_KEY, _AUTHENTICATE_VERSION)
    assert api is not None
    try:
        lifetime_ms = api.read_response(payload, _AUTHENTICATE_VERSION).session_lifetime_ms
    except DecodeError as error:
        return f"SaslAuthenticate: {error}"
    return Login(began_s, broker.now_s, lifetime_ms, payload)


def _in_words(reply: Reply, payload: bytes) -> str:
    return f"error code {read_error_code(payload)}" if reply is Reply.ANSWERED else str(reply)
