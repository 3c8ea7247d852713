"""The machine of the model client is learned, and tells planted faults of it apart."""

from __future__ import annotations

import pytest

from conformance.learning.comparison import first_difference
from conformance.learning.learner import learn_machine
from reports.machines.machine import ENDED, Machine, ends_word
from tests.conformance.learning.played_client import LETTERS, PlayedClient

FEW = {name: LETTERS[name] for name in ("table", "refused without a range", "empty table")}
"""With all letters learning takes half a minute."""
FAULTS = {
    "empty-table-is-kept": "empty table, table",
    "absent-api-is-used": "empty table",
    "newest-common-version-is-avoided": "empty table, table",
    "ids-are-never-sent": "table, table",
    "layout-of-the-first-table-is-kept": "table, refused without a range, table",
}
"""Planted faults, each with the word that tells it apart."""


@pytest.fixture(scope="module")
def healthy() -> Machine:
    """The machine of the client without a fault."""
    return learn_machine(PlayedClient(alphabet=FEW), extra_states=1)


def test_the_states_of_a_client_are_what_it_knows(healthy: Machine) -> None:
    """It knows the cluster or not, and whether its version was refused; once it has worked, it ends."""
    living = [
        word
        for word, moves in zip(healthy.access, healthy.moves, strict=True)
        if not all(ends_word(output) for output, _ in moves.values())
    ]
    assert living == [
        (),
        ("table",),
        ("refused without a range",),
        ("table", "refused without a range"),
    ]
    first, second = healthy.run(("refused without a range", "table"))
    assert first.endswith("asks again on the same connection")
    assert second.startswith("ApiVersions v0; Metadata v13")


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_apart(fault: str, healthy: Machine) -> None:
    """A client with a fault responds to some word of the suite otherwise."""
    word = first_difference(PlayedClient(fault, FEW), healthy, extra_states=0)
    assert word is not None
    assert ", ".join(word) == FAULTS[fault]


def test_a_client_of_no_fault_is_like_itself(healthy: Machine) -> None:
    """Two plays of the same word are equal, and a client that has ended sends nothing more."""
    assert first_difference(PlayedClient(alphabet=FEW), healthy, extra_states=0) is None
    assert PlayedClient().ask(("invalid request", "table"))[-1] == ENDED
