"""Requests that a proxy has no reason to change: they and their responses name no broker's address."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from strategies.api_versions import ORDINARY_CORRELATION_IDS
from strategies.header_fields import client_ids
from wire.api_keys import (
    DESCRIBE_ACLS_KEY,
    DESCRIBE_CLIENT_QUOTAS_KEY,
    DESCRIBE_CONFIGS_KEY,
    DESCRIBE_GROUPS_KEY,
    HEARTBEAT_KEY,
    LIST_GROUPS_KEY,
    LIST_OFFSETS_KEY,
    LIST_TRANSACTIONS_KEY,
    OFFSET_FETCH_KEY,
)
from wire.headers import PLAIN_CLIENT_ID

PASSED_KEYS = (
    LIST_GROUPS_KEY,
    DESCRIBE_GROUPS_KEY,
    OFFSET_FETCH_KEY,
    LIST_OFFSETS_KEY,
    HEARTBEAT_KEY,
    DESCRIBE_CONFIGS_KEY,
    DESCRIBE_ACLS_KEY,
    DESCRIBE_CLIENT_QUOTAS_KEY,
    LIST_TRANSACTIONS_KEY,
)
"""APIs that only read, and whose responses name no address and no time."""
LONGEST_CLIENT_ID = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedRequest:
    """A request in a version that only the proxy's table tells.

    Attributes:
        api_key: the API, one of `PASSED_KEYS`.
        below_newest: how many versions below the newest one that the proxy lists.
        correlation_id: the correlation id.
        client_id: the client id.
    """

    api_key: int
    below_newest: int = 0
    correlation_id: int = 7
    client_id: str | None = PLAIN_CLIENT_ID


def passed_requests() -> st.SearchStrategy[PassedRequest]:
    """Requests of APIs that a proxy has no reason to change, with any client id."""
    return st.builds(
        PassedRequest,
        api_key=st.sampled_from(PASSED_KEYS),
        below_newest=st.integers(0, 3),
        correlation_id=ORDINARY_CORRELATION_IDS,
        client_id=client_ids(max_bytes=LONGEST_CLIENT_ID),
    )
