"""The toy's message, what claims the toy, and what its properties draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wire.message_schemas import api

PING_KEY = 9999
PING = api(f"""
    {PING_KEY} Ping 0 0+
    request
    response
        ErrorCode int16 0+
    """)
APIS = {PING_KEY: PING}


@dataclass(frozen=True)
class Pings:
    """A number of pings."""

    count: int


DRAWN_VALUES = {Pings.__name__: Pings}


def claims_proposal(newest: Mapping[int, int]) -> bool:
    """Return whether a target lists Ping."""
    return PING_KEY in newest
