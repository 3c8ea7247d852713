"""All planted defects and all properties that need no socket: what is caught, and by which clauses."""

from __future__ import annotations

import os

import pytest

from conformance.mutation.in_memory import InMemoryResult, measure
from reference_model.defects import DEFECTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # Every defect, judged by every property

EXAMPLES = 5
"""Generated examples that may wrongly blame a clause here; `kafka-conformance mutation` uses more."""


@pytest.fixture(scope="module")
def measured() -> InMemoryResult:
    """Measure all defects with one seed."""
    return measure(tuple(DEFECTS), seeds=1, jobs=os.cpu_count() or 1, examples=EXAMPLES)


def test_plain_reference_conforms(measured: InMemoryResult) -> None:
    """Without a defect nothing is violated, and every property can judge."""
    assert sorted(measured.reference.violated) == []
    assert measured.reference.problems == []


def test_every_defect_is_caught_by_exactly_its_clauses(measured: InMemoryResult) -> None:
    """A defect violates the clauses that it breaks, and no others."""
    wrong = {each.defect: (each.missed, each.also) for each in measured.blames if not each.is_exact}
    assert wrong == {}


def test_no_defect_survives_generation(measured: InMemoryResult) -> None:
    """Generated examples alone catch every defect, except those that a pinned one always catches."""
    assert [each for each in measured.kills if not each.is_certain] == []


def test_every_property_kills(measured: InMemoryResult) -> None:
    """Each property catches at least one of the defects that break its clauses."""
    assert [name for name, kills in measured.kills_of_property.items() if not kills] == []
