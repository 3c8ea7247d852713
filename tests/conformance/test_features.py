"""Features that one listener lists and another one does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.features import FeatureList, assert_features_as_on
from conformance.roles.broker import NEEDS
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker.registry import replace_response
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from wire.frames import SIZE_BYTES, encode_frame

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


def without_features(context: RequestContext) -> None:
    """Remove all features from a response."""
    if context.response is not None:
        replace_response(context, supported_features=(), finalized_features=())


def without_finalized_features(context: RequestContext) -> None:
    """Remove the finalized features from a response."""
    if context.response is not None:
        replace_response(context, finalized_features=())


def cut_short(context: RequestContext) -> None:
    """Cut the last byte off a flexible response."""
    if context.answer and context.header is not None and context.header.api_version >= 3:
        context.answer = encode_frame(context.answer[SIZE_BYTES:-1])


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
def test_lost_features_are_found(
    act: Act, kinds: tuple[FeatureList, ...], lost: str, version: int
) -> None:
    """A listener without features is at fault if another listener lists some."""
    broker = controller_with(Stage.RESPONSE, only_on(CONTROLLER, act))
    with pytest.raises(AssertionError, match=rf"{lost}.*metadata\.version"):
        assert_features_as_on(broker, PLAINTEXT, version, kinds)


def test_kind_that_may_be_missing_is_no_fault() -> None:
    """A list that is not compared may be empty."""
    act = only_on(CONTROLLER, without_finalized_features)
    broker = controller_with(Stage.RESPONSE, act)
    assert_features_as_on(broker, PLAINTEXT, 3, (FeatureList.SUPPORTED,))


@pytest.mark.parametrize(
    ("stage", "act"), [(Stage.RESPONSE, without_features), (Stage.ANSWER, cut_short)]
)
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
