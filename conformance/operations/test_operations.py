"""What real clients can do with real brokers: one cell of the grid of operations for each test."""

from __future__ import annotations

import pytest

from conformance.assertions.operation_results import assert_operates
from conformance.assertions.rerouting import assert_survives_rerouting
from conformance.engine.property_judge import JUDGE
from fixtures.recording_proxy.rerouting import ReroutedPlay
from fixtures.under_test.trial import Trial


def client_operates(trial: Trial) -> None:
    """Fail unless the operation works, or an error says what the broker lacks."""
    play, operation = trial.play(), trial.chosen.operation
    if isinstance(play, ReroutedPlay):
        assert_survives_rerouting(play, operation, knows_ids=trial.chosen.client.cluster_check)
    else:
        assert_operates(play, operation, falls_back=trial.falls_back)


@pytest.mark.swept
def test_operation_works_or_is_refused(trial: Trial) -> None:
    """The operation works, or an error says what the broker lacks; nothing is sent that the broker does not support."""
    judge = JUDGE.get()
    judge.judge_stored(client_operates, {"trial": trial})
    judge.raise_first()
