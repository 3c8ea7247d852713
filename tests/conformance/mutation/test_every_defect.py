"""All planted defects against all properties that need no socket: who is caught, and who is blamed."""

from __future__ import annotations

import os

import pytest

from conformance.mutation.in_memory import InMemoryResult, measure
from reference_model.defects import DEFECTS

EXAMPLES = 5
"""Generated examples that may blame a defect wrongly here; `kafka-conformance mutation` takes more."""


@pytest.fixture(scope="module")
def measured() -> InMemoryResult:
    """One seed of everything."""
    return measure(tuple(DEFECTS), seeds=1, jobs=os.cpu_count() or 1, examples=EXAMPLES)


@pytest.mark.timeout(900)
def test_plain_reference_conforms(measured: InMemoryResult) -> None:
    """Without a defect nothing is violated, and everything can be judged."""
    assert sorted(measured.reference.violated) == []
    assert measured.reference.problems == []


@pytest.mark.timeout(900)
def test_every_defect_is_caught_by_exactly_its_clauses(measured: InMemoryResult) -> None:
    """The clauses that a defect breaks are found violated, and no others are."""
    wrong = {each.defect: (each.missed, each.also) for each in measured.blames if not each.is_exact}
    assert wrong == {}


@pytest.mark.timeout(900)
def test_no_defect_survives_generation(measured: InMemoryResult) -> None:
    """Generated examples alone catch every defect, but for those that a pinned one always catches."""
    assert [each for each in measured.kills if not each.is_certain] == []


@pytest.mark.timeout(900)
def test_every_property_kills(measured: InMemoryResult) -> None:
    """Each property catches at least one defect of those that break its clauses."""
    assert [name for name, kills in measured.kills_of_property.items() if not kills] == []
