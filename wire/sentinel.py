"""The sentinel: a request sent after the judged one.

Its response shows that the connection is alive.
"""

from __future__ import annotations

from functools import cache

from wire.api_keys import API_VERSIONS_KEY
from wire.exchange import Request, encode_request
from wire.plain_header import plain_header
from wire.sasl import handshake_request

SENTINEL_CORRELATION_ID = 0x5E471E1


def sentinel_for(correlation_id: int, *, before_authentication: bool = False) -> Request:
    """Return a request that a broker answers on every healthy connection: ApiVersions v0.

    Args:
        correlation_id: correlation id of the request before the sentinel; the sentinel's differs from it.
        before_authentication: whether the connection still has to authenticate. A second ApiVersions request
            would close such a connection, so the sentinel is a SaslHandshake v0.
    """
    own = SENTINEL_CORRELATION_ID + (correlation_id == SENTINEL_CORRELATION_ID)
    return _sentinel(own, before_authentication)


@cache
def _sentinel(own: int, before_authentication: bool) -> Request:
    if before_authentication:
        return handshake_request(version=0, correlation_id=own)
    return encode_request(plain_header(API_VERSIONS_KEY, 0, own, client_id="sentinel"), b"")
