"""Only a success with the table shows another API served as ApiVersions.

A target that ends on any unknown key gets only one such request.
"""

from __future__ import annotations

from typing import cast

import pytest

from conformance.assertions import other_apis
from conformance.brokers.test_served_versions import serves_table
from conformance.roles.broker import NEEDS
from fixtures.errors import BrokerGone
from fixtures.under_test.broker import Broker
from strategies.other_apis import build_with_key
from wire.exchange import Exchange, Outcome, Request

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
def test_only_a_success_with_the_table_is_one_of_api_versions(payload: str | None, is_served: bool) -> None:
    """How an unknown API is refused is judged by a separate clause."""
    exchange = Exchange(
        request=build_with_key(274, 0),
        outcome=Outcome.CLOSED if payload is None else Outcome.ANSWER,
        payload=None if payload is None else bytes.fromhex(payload),
    )
    assert serves_table(exchange, 0) is is_served


class Crashing:
    """A target that an unknown API key ends.

    Attributes:
        starts: how often it was started again.
    """

    def __init__(self) -> None:
        self.starts = 0

    def check_alive(self) -> None:
        """Say that it has ended."""
        raise BrokerGone("a panic")

    def revives(self) -> bool:
        """Start it again."""
        self.starts += 1
        return True


def test_target_that_ends_on_any_unknown_key_is_started_again_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[int] = []

    def send(_: Broker, request: Request) -> Exchange:
        sent.append(request.api_key)
        return Exchange(request=request, outcome=Outcome.CLOSED)

    monkeypatch.setattr(other_apis, "send", send)
    target = Crashing()
    for _ in range(2):
        assert not NEEDS["unknown_apis_survived"].is_met(cast(Broker, target))
    assert (sent, target.starts) == ([999], 1)
