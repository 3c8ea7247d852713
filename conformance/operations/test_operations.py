"""What real clients can do with real brokers: one cell of the grid of operations for each test."""

from __future__ import annotations

import pytest

from conformance.engine.property_judge import JUDGE
from conformance.operations.trials import client_operates
from fixtures.under_test.trial import Trial


@pytest.mark.swept(checks=[client_operates])
def test_operation_works_or_is_refused(trial: Trial) -> None:
    """The operation works, or an error says what the broker lacks; nothing is sent that the broker does not support."""
    judge = JUDGE.get()
    judge.judge_stored(client_operates, {"trial": trial})
    judge.raise_first()
