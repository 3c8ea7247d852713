"""What is judged when the features of a running target are finalized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import Unjudged
from conformance.assertions.finalizing import (
    assert_levels_follow,
    assert_raised,
    can_finalize,
    levels_in,
    levels_of_release,
)
from conformance.mutation.subjects import older_broker_with
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from tests.conformance.in_memory_runs import broker_with
from wire.api_keys import UPDATE_FEATURES_KEY
from wire.api_versions import ApiVersionsResponse, FinalizedFeatureKey
from wire.error_codes import ErrorCode
from wire.exchange import probe_request

UPGRADE = 1


OLD, NEW = {"metadata.version": 21}, {"metadata.version": 30}


def listed(levels: Mapping[str, int], epoch: int) -> ApiVersionsResponse:
    """Return a response with finalized levels and their epoch."""
    features = (
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in levels.items()
    )
    return ApiVersionsResponse(
        error_code=ErrorCode.NONE, finalized_features=tuple(features), finalized_features_epoch=epoch
    )


def broker_that(*names: str) -> InMemoryBroker:
    """Return the reference broker with planted defects."""
    return broker_with(*(DEFECTS[name].tampering for name in names), patience=Patience(100))


def newest_response_of(broker: InMemoryBroker) -> ApiVersionsResponse:
    """Return the table of a listener."""
    version = broker.described_version
    return decode_answer(broker.exchange(probe_request(version)), api_version=version)


def test_levels_that_are_there_already_stay() -> None:
    """The reference broker has the levels of its release: nothing rises, and nothing else changes."""
    broker = broker_that()
    assert can_finalize(broker)
    assert assert_levels_follow(broker, UPGRADE) == set()
    assert levels_of_release(broker)["transaction.version"] == 2


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("a-newly-finalized-level-hides-an-api", "plaintext lists other versions once features are finalized"),
        ("a-newly-finalized-level-hides-the-newest-version", "of the APIs 0$"),
        ("a-newly-finalized-level-lists-one-more-api", "of the APIs 1234$"),
    ],
)
def test_a_table_that_changes_with_the_levels_is_a_violation(defect: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_levels_follow(broker_that(defect), UPGRADE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(listed(OLD, 7), listed(NEW, 8), id="levels-rise"),
        pytest.param(listed(NEW, 7), listed(NEW, 7), id="levels-stay"),
        pytest.param(listed({}, -1), listed(NEW, 0), id="first-levels"),
    ],
)
def test_a_listener_follows(before: ApiVersionsResponse, after: ApiVersionsResponse) -> None:
    assert_raised("ssl", before, after, NEW, 20)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(listed(OLD, 7), listed(OLD, 7), "ssl lists the finalized levels .* 21", id="old-levels"),
        pytest.param(listed(OLD, 7), listed(OLD, 8), "ssl lists the finalized levels .* 21", id="only-the-epoch"),
        pytest.param(listed(OLD, 7), listed({}, -1), "ssl lists the finalized levels {}", id="no-levels"),
        pytest.param(listed(OLD, 7), listed(NEW, 7), "the epoch 7 after 7, although levels rose", id="same-epoch"),
        pytest.param(listed(OLD, 7), listed(NEW, 6), "the epoch 6 after 7, although levels rose", id="lower-epoch"),
        pytest.param(listed(NEW, 7), listed(NEW, 6), "ssl names the epoch 6 after 7$", id="epoch-falls"),
    ],
)
def test_a_listener_that_does_not_follow_is_a_violation(
    before: ApiVersionsResponse, after: ApiVersionsResponse, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_raised("ssl", before, after, NEW, 20)


@pytest.mark.parametrize("model", ["reference-at-3.9", "reference-cluster-at-3.9"])
def test_levels_rise_on_every_listener_and_node(model: str) -> None:
    """Afterwards the target is at its older level again."""
    broker = older_broker_with(model, "")
    assert can_finalize(broker)
    assert assert_levels_follow(broker, UPGRADE) == set()
    assert levels_in(newest_response_of(broker)) == {"metadata.version": 21}


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("the-controller-keeps-old-levels", "controller lists the finalized levels .* 21"),
        ("listeners-with-sasl-leave-out-a-new-level", "sasl_plaintext lists the finalized levels"),
        ("the-epoch-stays-when-levels-rise", "plaintext names the epoch 0 after 0, although levels rose"),
        ("the-second-node-keeps-old-levels", "node_2 lists the finalized levels .* 21"),
    ],
)
def test_one_listener_or_node_that_does_not_follow_is_a_violation(defect: str, message: str) -> None:
    """All of them are asked, not only that which was sent the new levels."""
    with pytest.raises(AssertionError, match=message):
        assert_levels_follow(older_broker_with(DEFECTS[defect].model, defect), UPGRADE)


def test_other_levels_than_those_of_the_release_are_not_judged() -> None:
    """No level was finalized yet: other clauses judge what such a target lists."""
    broker = broker_that("newer-versions-finalize-lower-levels")
    with pytest.raises(Unjudged, match="before any is finalized"):
        assert_levels_follow(broker, UPGRADE)


def test_nothing_is_judged_if_the_target_refuses_to_finalize() -> None:
    """The error code of the response is returned, although the table changes as well."""

    def refuse(context: RequestContext) -> None:
        if context.header is not None and context.header.api_key == UPDATE_FEATURES_KEY:
            # After the size, the correlation id, no tagged fields and the throttle time.
            answer = bytearray(context.answer)
            answer[13:15] = ErrorCode.INVALID_UPDATE_VERSION.to_bytes(2)
            context.answer = bytes(answer)

    hides_an_api = DEFECTS["a-newly-finalized-level-hides-an-api"].tampering
    broker = broker_with(hides_an_api, Tampering(stage=Stage.ANSWER, act=refuse), patience=Patience(100))
    assert assert_levels_follow(broker, UPGRADE) == {ErrorCode.INVALID_UPDATE_VERSION}


def test_nobody_elses_broker_is_finalized() -> None:
    """A level cannot be taken back, so only a target that the suite started is changed."""
    broker = broker_that()
    assert not can_finalize(
        InMemoryBroker(replace(broker.running, launcher="address"), broker.listener, patience=Patience(100))
    )


def test_levels_rise_only_where_the_target_can_be_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay raised otherwise, and every later property would judge another target."""
    broker = older_broker_with("reference-at-3.9", "")
    monkeypatch.setattr(InMemoryBroker, "can_restart", False)
    assert not can_finalize(broker)
    monkeypatch.setattr(InMemoryBroker, "can_restart", True)
    assert can_finalize(broker)
