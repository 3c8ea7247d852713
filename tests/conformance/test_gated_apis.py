"""Tests of APIs that are listed while their feature is off.

They check which feature is named, and how the APIs are requested at an address.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.errors import Unjudged
from conformance.assertions.gated_apis import GATES, missing_feature
from conformance.assertions.items import Item
from conformance.assertions.other_apis import RefusedAsUnsupported, check_supported
from conformance.assertions.sendable_apis import is_skipped, request_to
from conformance.brokers import test_served_versions
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import JUDGE
from fixtures.artefacts.schema_jars import api_catalogue
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.faults.broker import DEFECTS
from strategies.hypothesis_adapter import body_of
from strategies.minimal_requests import minimal_request
from tests.conformance.in_memory_runs import broker_with
from tests.described_apis import described_api
from wire.exchange import Step

HEARTBEAT = Item("ConsumerGroupHeartbeat", 68, 0)
NAMED = b"kafka-conformance-absent"


def broker_that(*names: str) -> InMemoryBroker:
    """Return the reference broker with planted defects."""
    return broker_with(*(DEFECTS[name].tampering for name in names), patience=Patience(100))


def at_an_address(broker: InMemoryBroker) -> InMemoryBroker:
    """Return a broker as one that others started."""
    return InMemoryBroker(replace(broker.running, launcher="address"), broker.listener, patience=Patience(100))


def test_gated_apis_exist() -> None:
    """Each has the name of a schema."""
    assert {api.name for api in api_catalogue()} >= GATES.keys()


@pytest.mark.parametrize(
    ("defect", "name", "feature"),
    [
        ("consumer-groups-are-listed-but-off", "ConsumerGroupHeartbeat", "group.version 1"),
        ("share-groups-are-listed-but-off", "ShareFetch", "share.version 1"),
        ("streams-groups-are-listed-but-off", "StreamsGroupHeartbeat", "streams.version 1"),
        ("consumer-groups-are-listed-but-off", "ShareFetch", ""),
        ("consumer-groups-are-listed-but-off", "Metadata", ""),
    ],
)
def test_feature_that_is_not_finalized_is_named(defect: str, name: str, feature: str) -> None:
    assert missing_feature(broker_that(defect), name) == feature
    assert missing_feature(broker_that(), name) == ""


def test_refusal_names_the_feature() -> None:
    """At an address as well, where the request names no group."""
    broker = at_an_address(broker_that("consumer-groups-are-listed-but-off"))
    with pytest.raises(RefusedAsUnsupported) as caught:
        check_supported(broker, HEARTBEAT)
    assert str(caught.value) == (
        "answered with UNSUPPORTED_VERSION, although the table lists it; group.version 1, which it needs, is not finalized"
    )
    assert not is_skipped(broker, HEARTBEAT.api_key)


@pytest.mark.parametrize("is_given", [True, False])
def test_request_at_an_address_names_no_group(is_given: bool) -> None:
    """A broker that the suite started gets the name of a group that does not exist."""
    broker = at_an_address(broker_that()) if is_given else broker_that()
    api = described_api(68, 0)
    sent = request_to(broker, api, 0).data
    minimal = minimal_request(api, 0).data
    assert (sent == minimal) is not is_given
    # The member stays, which does not exist either.
    assert sent.count(NAMED) == minimal.count(NAMED) - is_given


def test_off_feature_of_an_api_that_is_not_requested_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the request may not be sent, the levels in the table are set against its APIs, as information."""
    broker = broker_that("consumer-groups-are-listed-but-off")
    monkeypatch.setattr(test_served_versions, "skipped_apis", lambda broker: ("ConsumerGroupHeartbeat", "Vote"))
    monkeypatch.setattr(test_served_versions, "why_skipped", lambda broker: "the run is read-only")
    monkeypatch.setattr(test_served_versions, "OTHER", test_served_versions.OTHER._replace(items=lambda broker: []))
    noted: list[Unjudged] = []

    class Noting(Judge):
        """Keeps the notes."""

        def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
            noted.append(error)

        def leaves_out(self, what: str, **_: Any) -> None:
            pass

    token = JUDGE.set(Noting(broker, ("KIP-35.advertised-version-supported",)))
    try:
        body_of(test_served_versions.test_no_advertised_version_is_unsupported)(broker=broker)
    finally:
        JUDGE.reset(token)
    assert [str(each) for each in noted] == [
        "not requested, and listed although a feature that it needs is not finalized: "
        "ConsumerGroupHeartbeat needs group.version 1"
    ]
