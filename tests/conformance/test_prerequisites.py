"""What a property may require of a target."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from clauses.catalogue import catalogue
from conformance.mutation.subjects import broker_with as model_broker
from conformance.roles.broker import NEEDS, BrokerRole
from conformance.roles.proxy import ProxyRole
from fixtures.client.patience import Patience
from fixtures.client.running_broker import Address
from fixtures.registry.targets import select_targets
from fixtures.under_test.broker import Broker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker.registry import replace_response
from reference_model.profiles.listeners import PLAINTEXT
from tests.conformance.in_memory_runs import broker_with
from tests.conformance.test_features import cut_short, without_features
from tests.fixtures.running_targets import running_at
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY


def without_supported_features(context: RequestContext) -> None:
    """Remove the supported features from a response."""
    if context.response is not None:
        replace_response(context, supported_features=())


@pytest.mark.parametrize(
    ("stage", "act", "is_met"),
    [
        (Stage.RESPONSE, lambda _: None, True),
        (Stage.RESPONSE, without_features, False),
        (Stage.RESPONSE, without_supported_features, True),
        (Stage.ANSWER, cut_short, True),
    ],
)
def test_clauses_about_features_apply_to_targets_that_list_some(
    stage: Stage, act: Callable[[RequestContext], None], *, is_met: bool
) -> None:
    """A target without a feature is not green for what it lists; an unreadable list is judged."""
    broker = broker_with(Tampering(stage=stage, act=act), patience=Patience(math.inf))
    assert NEEDS["features"].is_met(broker) is is_met


def listing(*api_keys: int) -> Callable[[RequestContext], None]:
    """Return what leaves only some APIs in a table."""

    def leave(context: RequestContext) -> None:
        if context.response is not None:
            entries = (each for each in context.response.api_keys if each.api_key in api_keys)
            replace_response(context, api_keys=tuple(entries))

    return leave


@pytest.mark.parametrize(
    ("api_keys", "is_met"),
    [
        pytest.param([API_VERSIONS_KEY], False, id="itself"),
        pytest.param([METADATA_KEY, API_VERSIONS_KEY], True, id="another"),
        pytest.param([METADATA_KEY], True, id="without-itself"),
        pytest.param([], True, id="empty"),
    ],
)
def test_a_table_of_itself_has_nothing_else_to_request(
    api_keys: list[int], *, is_met: bool
) -> None:
    """Such a target is neither green nor a puzzle for Hypothesis; an empty table is judged."""
    broker = broker_with(
        Tampering(stage=Stage.RESPONSE, act=listing(*api_keys)), patience=Patience(math.inf)
    )
    assert NEEDS["other_apis"].is_met(broker) is is_met


@pytest.mark.parametrize(
    ("clause", "upstream", "applies"),
    [
        ("PROXY.table-within-upstream", "scripted-only-v0", True),
        ("KIP-35.v0-always-served", "scripted-only-v0", True),
        ("KIP-35.outside-range-not-served", "scripted-only-v0", False),
        ("KIP-35.outside-range-not-served", "apache-kafka-4.4.0", True),
    ],
)
def test_only_what_binds_proxies_is_judged_in_front_of_a_scripted_broker(
    clause: str, upstream: str, monkeypatch: pytest.MonkeyPatch, *, applies: bool
) -> None:
    """It serves no other API than ApiVersions as a broker would; that v0 is served shows a proxy that breaks."""
    (target,) = select_targets([f"kroxylicious-0.12.0-to-{upstream}"])
    broker = Broker(running_at(Address("127.0.0.1", 9), target=target), PLAINTEXT)
    monkeypatch.setattr(Broker, "max_version", 5)
    found = ProxyRole.why_not_applicable(catalogue()[clause], (), broker)
    assert (found is None) is applies
    assert applies or "its upstream is a scripted broker" in str(found)


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ("KIP-35.v0-always-served", None),
        (
            "KIP-511.names-refused",
            "applies from ApiVersions v3 on; the target serves at most v0",
        ),
    ],
)
def test_clauses_of_versions_that_are_not_served_do_not_apply(
    clause: str, reason: str | None
) -> None:
    """A target that only supports v0 is judged by clauses from v0; the others say why they do not apply."""
    broker = model_broker("", release="0.10.0.1")
    assert BrokerRole.why_not_applicable(catalogue()[clause], (), broker) == reason
