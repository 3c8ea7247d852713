"""Planted defects that are silent in one place, alone and in pairs: no other property loses its verdict.

Waiting is simulated: in memory a silence takes no time, but uses up patience as it would over TCP.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping

import pytest

from clauses.tiers import Tier
from fixtures.client.patience import PATIENCE_S, Patience
from reference_model.faults.broker import DEFECTS
from tests.conformance.in_memory_runs import broker_with, outcomes, properties_of_a_run

IS_SILENT = re.compile(r"Outcome\.(SILENT|IGNORED)|keeps_open")
ELSEWHERE = "judged elsewhere"
IS_ELSEWHERE = re.compile(r"^a plain request .* \(judged by ")
"""Why a property says nothing about its clause: the silence is that of a plain request, about which another clause is."""
SILENT = [
    name
    for name, defect in reversed(DEFECTS.items())
    if IS_SILENT.search(inspect.getsource(defect.tampering.act))
]
"""The last registered first, which is the order in which they act: one that replaces a refusal acts after one that needs it."""
PROPERTIES = properties_of_a_run(left_out=("stored",))


@functools.cache
def judge(*defects: str) -> Mapping[str, bool | str]:
    """Return what each property of a smoke run makes of a broker with some defects."""
    tamperings = (DEFECTS[name].tampering for name in defects)
    broker = broker_with(*tamperings, patience=Patience(PATIENCE_S[Tier.SMOKE]))
    broker.calibrate()
    broker.ask_for_table()
    return {
        judged.name: ELSEWHERE if IS_ELSEWHERE.search(str(outcome)) else outcome
        for judged, outcome in outcomes(broker, PROPERTIES)
    }


def with_outcome(outcome: bool | str, defect: str) -> frozenset[str]:
    """Return the properties that have an outcome on a broker with one defect."""
    return frozenset(name for name, found in judge(defect).items() if found == outcome)


def test_silent_defects_are_found() -> None:
    """The search through the defects finds some that answer nothing, among many others."""
    assert {"unlisted-apis-are-ignored", "a-half-closed-connection-stays-open"} < set(SILENT)
    assert len(SILENT) < len(DEFECTS) / 5


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("index", range(1, len(SILENT)), ids=SILENT[1:])
def test_two_silent_defects_add_up(index: int) -> None:
    """With a silent defect before it, exactly the properties fail that fail on either; none runs out of patience."""
    other = SILENT[index]
    for one in SILENT[:index]:
        expected: dict[str, bool | str] = {each.name: False for each in PROPERTIES}
        for outcome in (ELSEWHERE, True):
            found = with_outcome(outcome, one) | with_outcome(outcome, other)
            expected |= dict.fromkeys(found, outcome)
        assert judge(one, other) == expected
