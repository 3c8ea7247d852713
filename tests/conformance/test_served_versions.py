"""What counts as a request of another API that is served as one of ApiVersions."""

from __future__ import annotations

import pytest

from conformance.brokers.test_served_versions import serves_table
from strategies.other_apis import build_with_key
from wire.exchange import Exchange, Outcome

TABLE = "00000001 0012 0000 0005"


@pytest.mark.parametrize(
    ("payload", "is_served"),
    [
        pytest.param(f"00000007 0000 {TABLE}", True, id="table"),
        pytest.param(f"00000007 0023 {TABLE}", False, id="refused-as-all-unknown-apis"),
        pytest.param("00000007 0023 00000000", False, id="refused"),
        pytest.param("00000007 0000 00000001 0003 0000 0005", False, id="another-table"),
        pytest.param("00000007 0023", False, id="error-alone"),
        pytest.param(None, False, id="closed"),
    ],
)
def test_only_a_success_with_the_table_is_one_of_api_versions(
    payload: str | None, is_served: bool
) -> None:
    """How an unknown API is refused is judged by a separate clause."""
    exchange = Exchange(
        request=build_with_key(274, 0),
        outcome=Outcome.CLOSED if payload is None else Outcome.ANSWER,
        payload=None if payload is None else bytes.fromhex(payload),
    )
    assert serves_table(exchange, 0) is is_served
