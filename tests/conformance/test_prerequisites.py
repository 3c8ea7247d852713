"""What a property may require of a target."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from conformance.engine.prerequisites import NEEDS
from fixtures.client.patience import Patience
from reference_model.defects.registry import replace_response
from reference_model.fault_injection import RequestContext, Stage, Tampering
from tests.conformance.in_memory_runs import broker_with
from wire.frames import SIZE_BYTES, encode_frame


def without_features(context: RequestContext) -> None:
    """Remove all features from a response."""
    if context.response is not None:
        replace_response(context, supported_features=(), finalized_features=())


def without_supported_features(context: RequestContext) -> None:
    """Remove the supported features from a response."""
    if context.response is not None:
        replace_response(context, supported_features=())


def cut_short(context: RequestContext) -> None:
    """Cut the last byte off a response in v3."""
    if context.answer and context.header is not None and context.header.api_version == 3:
        context.answer = encode_frame(context.answer[SIZE_BYTES:-1])


def unchanged(_: RequestContext) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    ("stage", "act", "is_met"),
    [
        (Stage.RESPONSE, unchanged, True),
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
