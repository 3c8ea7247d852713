"""Tests of epochs that fall in a run, and of levels that differ at one epoch.

The levels are finalized feature levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from clauses.catalogue import catalogue
from conformance.assertions.clause_ids import EPOCH_MONOTONE
from conformance.assertions.epochs import EpochFell, assert_epoch_never_fell
from conformance.assertions.errors import JudgedElsewhere
from conformance.assertions.features import (
    assert_features_as_on,
    assert_same_levels,
    responses_at_one_epoch,
)
from conformance.roles.broker import NEEDS
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reports.records import Verdict
from reports.run.judged_examples import CellKey
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from tests.conformance.judged_properties import MUST, JudgedBroker, judged

FEATURE_CLAUSE = catalogue()[EPOCH_MONOTONE]
V3 = build_request(version=3)


@pytest.fixture(autouse=True)
def assumptions() -> Iterator[None]:
    """Let assumptions reject an example outside Hypothesis."""
    with assumptions_outside_hypothesis():
        yield


def broker_that(*, replaces: dict[str, Any], on: str = "", client_id: str = "") -> InMemoryBroker:
    """Return a broker that replaces fields of flexible responses, on one listener or for one client id if they are
    given."""

    def act(context: RequestContext) -> None:
        is_here = context.broker.profile.listener in (on or context.broker.profile.listener)
        is_concerned = is_here and context.client_id == (client_id or context.client_id)
        if is_concerned and context.succeeds and context.version >= 3:
            context.replace_response(**replaces)

    tampering = Tampering(stage=Stage.RESPONSE, act=act)
    return broker_with(tampering, patience=Patience(math.inf))


def falling() -> InMemoryBroker:
    """Return a broker that names epoch 5 to one client, and 0 to others."""
    return broker_that(replaces={"finalized_features_epoch": 5}, client_id="high")


def fall(broker: InMemoryBroker) -> None:
    """Let the broker name both epochs."""
    broker.exchange(build_request(version=3, client_id="high"))
    broker.exchange(V3)


@pytest.mark.parametrize("is_planned", [True, False])
def test_fall_in_any_property_violates_the_clause_about_it(is_planned: bool, tmp_path: Path) -> None:
    """The property itself conforms; both exchanges are the evidence, and no single example is."""
    broker = falling()
    also = (EPOCH_MONOTONE,) if is_planned else ()
    case = judged(tmp_path, cast(JudgedBroker, broker), MUST, also_planned=also)
    case.run(lambda value: fall(broker), 1)
    case.judge.crashes.end(is_clean=True)
    assert case.verdict is Verdict.CONFORMS
    assert case.judge.failed_elsewhere == {*also}
    if is_planned:
        cell = case.recorder.cells[CellKey(EPOCH_MONOTONE, broker.target.id, PLAINTEXT)]
        (failure,) = cell.failures.values()
        assert cell.verdict is Verdict.VIOLATES
        assert failure.example == ""
        assert [step.exchanges[0].request.header.client_id for step in failure.steps] == [
            "high",
            V3.header.client_id,
        ]


def test_fall_is_left_to_the_property_about_it(tmp_path: Path) -> None:
    broker = falling()
    case = judged(tmp_path, cast(JudgedBroker, broker), FEATURE_CLAUSE)
    fall(broker)
    case.judge.crashes.end(is_clean=True)
    with pytest.raises(EpochFell, match="falls from 5 to 0"):
        assert_epoch_never_fell(broker)


def controller_that(**replaces: Any) -> InMemoryBroker:
    """Return the controller listener of a broker that replaces fields of its flexible responses."""
    return broker_that(replaces=replaces, on=CONTROLLER).sibling(CONTROLLER)


def test_levels_that_differ_at_one_epoch_are_named() -> None:
    """Each feature that differs, with both levels."""
    broker = controller_that(finalized_features=())
    assert NEEDS["one_epoch"].is_met(broker)
    responses = responses_at_one_epoch(broker, PLAINTEXT, 4)
    assert responses is not None
    with pytest.raises(AssertionError, match=r"metadata\.version: none, on plaintext [0-9]+"):
        assert_same_levels(*responses, PLAINTEXT)


def test_other_epochs_prove_nothing() -> None:
    """The levels may have changed in between."""
    broker = controller_that(finalized_features=(), finalized_features_epoch=3)
    assert not NEEDS["one_epoch"].is_met(broker)
    assert responses_at_one_epoch(broker, PLAINTEXT, 4) is None


def test_no_epoch_on_both_proves_nothing() -> None:
    """Without an epoch, finalized features are unknown."""
    broker = broker_that(replaces={"finalized_features_epoch": -1}).sibling(CONTROLLER)
    assert not NEEDS["one_epoch"].is_met(broker)


def test_missing_levels_at_one_epoch_are_judged_once() -> None:
    """The clause about one epoch is violated, and that about listed features says so."""
    broker = controller_that(finalized_features=())
    with pytest.raises(JudgedElsewhere, match=r"FEATURES\.same-levels-at-one-epoch"):
        assert_features_as_on(broker, PLAINTEXT, 4, of_one_node=True)
