"""Tests of what a property may require of a target.

They also cover features that one listener lists and another does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import catalogue
from conformance.assertions.features import FeatureList, assert_features_as_on
from conformance.mutation.subjects import broker_with as model_broker
from conformance.roles.broker import NEEDS, BrokerRole, ProxyRole
from fixtures.client.addresses import Address
from fixtures.client.patience import Patience
from fixtures.errors import HarnessError
from fixtures.registry.targets import select_targets
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from tests.fixtures.running_targets import running_at
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame


def without_features(context: RequestContext) -> None:
    """Remove all features from a response."""
    if context.response is not None:
        context.replace_response(supported_features=(), finalized_features=())


def cut_short(context: RequestContext) -> None:
    """Cut the last byte off a flexible response."""
    if context.answer and context.header is not None and context.header.api_version >= 3:
        context.answer = encode_frame(context.answer[SIZE_BYTES:-1])


def without_supported_features(context: RequestContext) -> None:
    """Remove the supported features from a response."""
    if context.response is not None:
        context.replace_response(supported_features=())


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
            context.replace_response(api_keys=tuple(entries))

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
def test_a_table_of_itself_has_nothing_else_to_request(api_keys: list[int], *, is_met: bool) -> None:
    broker = broker_with(Tampering(stage=Stage.RESPONSE, act=listing(*api_keys)), patience=Patience(math.inf))
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
    (target,) = select_targets([f"kroxylicious-0.12.0-to-{upstream}"])
    broker = Broker(running_at(Address("127.0.0.1", 9), target=target), PLAINTEXT)
    monkeypatch.setattr(Broker, "max_version", 5)
    found = ProxyRole.why_not_applicable(catalogue()[clause], (), broker)
    assert (found is None) is applies
    assert applies or "its upstream is a scripted broker" in str(found)


def test_only_v0_is_judged_of_a_target_without_a_readable_table() -> None:
    """Every other clause gets the error with which the target was asked for its table, once."""
    closing = Tampering(stage=Stage.REACTION, act=lambda context: context.replace_reaction(outcome=Outcome.CLOSED))
    broker = broker_with(closing, patience=Patience(math.inf))
    broker.ask_for_table()
    assert BrokerRole.why_not_applicable(catalogue()["KIP-35.v0-always-served"], (), broker) is None
    with pytest.raises(HarnessError, match="returned no readable table") as raised:
        BrokerRole.why_not_applicable(catalogue()["KIP-35.keys-unique"], (), broker)
    assert raised.value is broker.unreadable


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
def test_clauses_of_versions_that_are_not_served_do_not_apply(clause: str, reason: str | None) -> None:
    """A target that only supports v0 is judged by clauses from v0; the others say why they do not apply."""
    broker = model_broker("", release="0.10.0.1")
    assert BrokerRole.why_not_applicable(catalogue()[clause], (), broker) == reason


Act = Callable[[RequestContext], None]


@pytest.fixture(autouse=True)
def assumptions() -> Iterator[None]:
    """Let assumptions reject an example outside Hypothesis."""
    with assumptions_outside_hypothesis():
        yield


def only_on(listener: str, act: Act) -> Act:
    """Return a defect that acts on one listener."""

    def acts(context: RequestContext) -> None:
        if context.broker.profile.listener == listener:
            act(context)

    return acts


def without_finalized_features(context: RequestContext) -> None:
    """Remove the finalized features from a response."""
    if context.response is not None:
        context.replace_response(finalized_features=())


def controller_with(stage: Stage, act: Act) -> InMemoryBroker:
    """Return the controller listener of the reference broker with a defect."""
    broker = broker_with(Tampering(stage=stage, act=act), patience=Patience(math.inf))
    return broker.sibling(CONTROLLER)


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize(
    ("act", "kinds", "lost"),
    [
        (
            without_features,
            (FeatureList.SUPPORTED,),
            "no supported feature, that of plaintext lists ",
        ),
        (
            without_finalized_features,
            tuple(FeatureList),
            "no finalized feature, that of plaintext lists ",
        ),
    ],
)
def test_lost_features_are_found(act: Act, kinds: tuple[FeatureList, ...], lost: str, version: int) -> None:
    """A listener without features is at fault if another listener lists some."""
    broker = controller_with(Stage.RESPONSE, only_on(CONTROLLER, act))
    with pytest.raises(AssertionError, match=rf"{lost}.*metadata\.version"):
        assert_features_as_on(broker, PLAINTEXT, version, kinds)


def test_kind_that_may_be_missing_is_no_fault() -> None:
    """A list that is not compared may be empty."""
    act = only_on(CONTROLLER, without_finalized_features)
    broker = controller_with(Stage.RESPONSE, act)
    assert_features_as_on(broker, PLAINTEXT, 3, (FeatureList.SUPPORTED,))


@pytest.mark.parametrize(("stage", "act"), [(Stage.RESPONSE, without_features), (Stage.ANSWER, cut_short)])
def test_nothing_to_compare_with_is_no_fault(stage: Stage, act: Act) -> None:
    """Against a listener that lists no feature, or none that can be read, nothing is judged."""
    broker = controller_with(stage, only_on(PLAINTEXT, act))
    assert not NEEDS["plaintext_features"].is_met(broker)
    with pytest.raises(UnsatisfiedAssumption):
        assert_features_as_on(broker, PLAINTEXT, 3)


def test_version_that_is_not_served_is_not_compared() -> None:
    """Only versions that both listeners serve are compared."""
    broker = controller_with(Stage.RESPONSE, lambda _: None)
    assert NEEDS["plaintext_features"].is_met(broker)
    with pytest.raises(UnsatisfiedAssumption):
        assert_features_as_on(broker, PLAINTEXT, broker.max_version + 1)
