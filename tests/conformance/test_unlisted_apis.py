"""Tests of which APIs count as left out of a table.

They also check which responses show that such an API is served.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.items import Item, Problem
from conformance.assertions.sendable_apis import is_skipped
from conformance.assertions.unlisted_apis import (
    MAX_UNANSWERED,
    check_unlisted,
    is_response_of_served,
    unanswered,
    unlisted_items,
    unlisted_skipped,
)
from conformance.brokers import test_served_versions
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import JUDGE
from conformance.engine.sweeping import oldest_and_newest
from fixtures.client.patience import Patience
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from strategies.hypothesis_adapter import body_of
from strategies.minimal_requests import minimal_request
from tests.conformance.in_memory_runs import broker_with
from tests.described_apis import described_api
from wire.exchange import Exchange, Outcome

METADATA, PUSH = Item("Metadata", 3, 0), Item("PushTelemetry", 72, 0)


def broker_that(*names: str) -> InMemoryBroker:
    """Return the reference broker with planted defects."""
    return broker_with(*(DEFECTS[name].tampering for name in names), patience=Patience(100))


def test_hidden_api_is_found_in_every_version() -> None:
    """What the table leaves out is requested in each version, and served, as nothing else is."""
    hides = broker_that("metadata-is-served-unlisted")
    hidden = [item for item in unlisted_items(hides) if item.name == "Metadata"]
    assert [item.api_version for item in hidden] == list(range(14))
    for item in hidden:
        with pytest.raises(Problem, match="served, although the table does not list the API"):
            check_unlisted(hides, item)
    refused = next(item for item in unlisted_items(hides) if item.name == "ControlledShutdown")
    assert check_unlisted(hides, refused).outcome is Outcome.CLOSED


def test_listed_apis_and_api_versions_are_not_asked_for() -> None:
    """The versions of a listed API are of another clause, and so is a table without ApiVersions."""
    broker = broker_that()
    names = {item.name for item in unlisted_items(broker)}
    assert {"PushTelemetry", "Vote", "LeaderAndIsr"} <= names
    assert not {"Metadata", "ApiVersions"} & names


def test_sample_has_the_oldest_and_the_newest_version() -> None:
    items = [METADATA._replace(api_version=version) for version in range(14)]
    assert list(oldest_and_newest(iter([*items, PUSH]))) == [items[0], items[-1], PUSH]


def test_read_only_run_leaves_out_what_is_not_on_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """An API that is not sent is named, and Metadata may be sent."""
    hides = broker_that("metadata-is-served-unlisted")
    monkeypatch.setattr(hides, "target", replace(hides.target, is_read_only=True))
    assert {item.name for item in unlisted_items(hides)} == {"Metadata"}
    assert {"PushTelemetry", "Vote"} <= set(unlisted_skipped(hides))
    assert is_skipped(hides, 72)
    assert not is_skipped(hides, 3)


@pytest.mark.parametrize(
    ("item", "body", "is_served"),
    [
        pytest.param(Item("Heartbeat", 12, 0), "0000", True, id="no error"),
        pytest.param(Item("Heartbeat", 12, 0), "0019", True, id="unknown member"),
        pytest.param(Item("Heartbeat", 12, 0), "0023", False, id="unsupported version"),
        pytest.param(Item("Heartbeat", 12, 0), "002a", False, id="invalid request"),
        pytest.param(Item("Heartbeat", 12, 0), "001f", False, id="not authorized"),
        pytest.param(Item("Heartbeat", 12, 0), "ffff", False, id="server error"),
        pytest.param(Item("Heartbeat", 12, 0), "", False, id="too short"),
        # As an int32 it would be a throttle time of 38 minutes, without an error.
        pytest.param(Item("Heartbeat", 12, 1), "002300000000", False, id="refusal of ApiVersions"),
        pytest.param(Item("Heartbeat", 12, 4), "00002300000000", False, id="flexible refusal"),
        pytest.param(Item("Heartbeat", 12, 4), "0000000000000000", True, id="flexible"),
    ],
)
def test_error_decides_whether_an_api_is_served(item: Item, body: str, is_served: bool) -> None:
    api = described_api(item.api_key, item.api_version)
    exchange = Exchange(
        request=minimal_request(api, item.api_version),
        outcome=Outcome.ANSWER,
        payload=bytes.fromhex("00000007" + body),
        usable=True,
    )
    assert is_response_of_served(api, exchange) is is_served


def test_close_and_silence_are_no_service() -> None:
    """Without a response nothing shows that an API is served."""
    api = described_api(12, 0)
    for outcome in (Outcome.CLOSED, Outcome.IGNORED, Outcome.SILENT):
        assert not is_response_of_served(api, Exchange(request=minimal_request(api, 0), outcome=outcome))


def ignore_other_apis(context: RequestContext) -> None:
    """Respond to no API that the table leaves out."""
    if context.header is not None and context.reaction.outcome is Outcome.CLOSED:
        context.replace_reaction(outcome=Outcome.IGNORED)


def test_target_that_ignores_unlisted_apis_is_asked_a_few_times() -> None:
    """Silence is no violation, costs the target no patience, and ends the sweep with a note of what was left out."""
    patience = Patience(100)
    broker = broker_with(Tampering(stage=Stage.REACTION, act=ignore_other_apis), patience=patience)
    left_out: list[str] = []

    class NotingJudge(Judge):
        """Keeps what is left out."""

        def leaves_out(self, what: str, *, may_hide: bool = False, is_bound: bool = False) -> None:
            left_out.append(what)

    token = JUDGE.set(NotingJudge(broker, ("KIP-35.served-is-listed",)))
    try:
        body_of(test_served_versions.test_what_is_served_is_listed)(broker=broker)
    finally:
        JUDGE.reset(token)
    assert len(unanswered(broker)) == MAX_UNANSWERED
    assert len(left_out) == 1
    assert left_out[0].startswith("not requested after 8 requests without a response: ")
    assert patience.left_s == Patience(100).left_s


def test_further_listeners_get_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """On them a run requests two versions of each API at most."""
    broker = broker_that()
    asked: list[Item] = []

    def check(broker: Broker, item: Item) -> Exchange:
        asked.append(item)
        return check_unlisted(broker, item)

    class Sampling(Judge):
        """Judges a further listener."""

        is_thorough = False

    monkeypatch.setattr(test_served_versions, "UNLISTED", test_served_versions.UNLISTED._replace(check=check))
    token = JUDGE.set(Sampling(broker, ("KIP-35.served-is-listed",)))
    try:
        body_of(test_served_versions.test_what_is_served_is_listed)(broker=broker)
    finally:
        JUDGE.reset(token)
    assert asked == list(oldest_and_newest(unlisted_items(broker)))
