"""Examples are judged only where they say something about their target."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.assuming import assume_served, assume_unserved
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import assumptions_outside_hypothesis


@pytest.mark.parametrize(
    ("versions", "accepted"),
    [((0, 4), True), ((4,), True), ((5,), False), ((0, 5), False), ((-1,), False)],
    ids=str,
)
def test_examples_of_served_versions_are_judged(versions: tuple[int, ...], accepted: bool) -> None:
    """Every request has to be of a version from 0 to the target's highest."""
    broker: Any = SimpleNamespace(max_version=4)
    sent = [build_request(version=version) for version in versions]
    expected = nullcontext() if accepted else pytest.raises(UnsatisfiedAssumption)
    with assumptions_outside_hypothesis(), expected:
        assume_served(broker, *sent)


@pytest.mark.parametrize(("version", "accepted"), [(5, True), (6, True), (4, False), (-1, False)])
def test_examples_of_unserved_versions_are_judged(version: int, accepted: bool) -> None:
    """The version has to be above the target's highest."""
    broker: Any = SimpleNamespace(max_version=4)
    expected = nullcontext() if accepted else pytest.raises(UnsatisfiedAssumption)
    with assumptions_outside_hypothesis(), expected:
        assume_unserved(broker, build_request(version=version))
