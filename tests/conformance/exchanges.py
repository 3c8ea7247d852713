"""Exchanges with the response to a request of ApiVersions v3, in hexadecimal."""

from __future__ import annotations

from typing import Any

from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome

V0_EMPTY = "00000007 0000 00000000"


def exchange_of(outcome: Outcome = Outcome.ANSWER, payload: str | None = None, **given: Any) -> Exchange:
    """An exchange of a v3 request, with a payload in hexadecimal."""
    data = None if payload is None else bytes.fromhex(payload)
    return Exchange(request=build_request(version=3), outcome=outcome, payload=data, **given)
