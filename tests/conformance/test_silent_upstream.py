"""A proxy is not accused of the silence of its upstream.

What the upstream does is judged at the upstream.
"""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import Mock

import pytest

from conformance.assertions.errors import NotSeen
from conformance.brokers import test_proxies
from conformance.brokers.test_proxies import FLEXIBLE, LAST, V0
from conformance.mutation.subjects import SUBJECTS
from fixtures.under_test.broker import Broker
from reference_model.profiles.listeners import PLAINTEXT
from strategies.cluster_ids import Given
from strategies.hypothesis_adapter import assumptions_outside_hypothesis, body_of
from strategies.other_apis import PASSED_KEYS, PassedRequest
from wire.exchange import Exchange, Outcome, Request


def unanswered(request: Request) -> Exchange:
    """Return the exchange of a request that gets no response."""
    return Exchange(request=request, outcome=Outcome.SILENT)


def all_unanswered(requests: Sequence[Request]) -> tuple[Exchange, ...]:
    """Return the exchanges of requests that get no response."""
    return tuple(map(unanswered, requests))


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Broker:
    """Return a proxy that serves, and whose upstream is silent when it is asked without the proxy."""
    broker = SUBJECTS["model-proxy"].at("", PLAINTEXT)
    silent = Mock(spec=Broker, exchange=unanswered, converse=all_unanswered)
    monkeypatch.setattr(broker, "sibling", lambda _: silent)
    assert isinstance(broker, Broker)
    return broker


@pytest.mark.parametrize(
    ("judged", "values"),
    [
        (test_proxies.test_frames_are_those_of_the_upstream, {"sent": V0}),
        (test_proxies.test_frames_are_those_of_the_upstream, {"sent": FLEXIBLE}),
        (
            test_proxies.test_cluster_ids_are_judged_by_the_upstream,
            {"given_ids": Given.WRONG_CLUSTER},
        ),
        (
            test_proxies.test_response_arrives_unchanged,
            {"passed": PassedRequest(api_key=PASSED_KEYS[0])},
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_silent_upstream_leaves_it_open(proxy: Broker, judged: object, values: dict[str, object]) -> None:
    """The example is rejected for what the suite sees, so `replay` does not acquit the proxy either."""
    assert proxy.exchange(LAST).payload is not None
    with assumptions_outside_hypothesis(), pytest.raises(NotSeen):
        body_of(judged)(broker=proxy, **values)  # type: ignore[arg-type]
