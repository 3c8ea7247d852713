"""Planted defects that are silent in one place, alone and in pairs: no other property loses its verdict.

Waiting is simulated: in memory a silence takes no time, but uses up patience as it would over TCP.
"""

from __future__ import annotations

import functools
import inspect
import re
from itertools import combinations

import pytest

from conformance.mutation.score import is_of_model
from fixtures.patience import PATIENCE_S, Patience
from reference_model.defects import DEFECTS
from tests.conformance.in_memory_runs import broker_with, outcomes, properties_of_a_run

IS_SILENT = re.compile(r"Outcome\.(SILENT|IGNORED)|keeps_open")
SILENT = [
    name
    for name, defect in reversed(DEFECTS.items())
    if IS_SILENT.search(inspect.getsource(defect.tampering.act))
]
"""Those registered last come first: of two in a row, one that needs a refusal would not act after one that replaces it."""
PROPERTIES = properties_of_a_run(left_out=("stored",))


def judge(*defects: str) -> dict[str, bool | str]:
    """Return what each property of a smoke run makes of a broker with some defects."""
    tamperings = (DEFECTS[name].tampering for name in defects)
    broker = broker_with(*tamperings, patience=Patience(PATIENCE_S["smoke"]))
    broker.calibrate()
    broker.ask_for_table()
    return {judged.name: outcome for judged, outcome in outcomes(broker, PROPERTIES)}


@functools.cache
def failing(defect: str) -> frozenset[str]:
    """Return the properties that fail on a broker with one defect; all others conform."""
    judged = judge(defect)
    assert set(judged.values()) <= {True, False}
    return frozenset(name for name, outcome in judged.items() if outcome)


def test_silent_defects_are_found() -> None:
    """The search through the defects finds those that answer nothing, and no other."""
    assert {"unlisted-apis-are-ignored", "a-half-closed-connection-stays-open"} < set(SILENT)
    assert len(SILENT) < len(DEFECTS) / 5


@pytest.mark.parametrize("defect", SILENT)
def test_a_silent_defect_changes_its_own_cells_alone(defect: str) -> None:
    """Every property conforms except those about a clause that the defect breaks, or about the model."""
    broken = set(DEFECTS[defect].breaks)
    expected = {
        each.name
        for each in PROPERTIES
        if broken & set(each.clauses) or any(map(is_of_model, each.clauses))
    }
    assert failing(defect) <= expected
    assert any(broken & set(each.clauses) for each in PROPERTIES if each.name in failing(defect))


@pytest.mark.parametrize("defect", SILENT)
def test_two_silent_defects_add_up(defect: str) -> None:
    """With any other silent defect, exactly those properties fail that fail on either, and none is inconclusive."""
    for one, other in combinations(SILENT, 2):
        if one == defect:
            expected = failing(one) | failing(other)
            assert judge(one, other) == {each.name: each.name in expected for each in PROPERTIES}
