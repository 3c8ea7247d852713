"""The suite of a machine is complete up to its bound, and machines are compared by their behaviour."""

from __future__ import annotations

import random

import pytest

from conformance.learning.learner import suite_of
from reports.machines.machine import (
    Machine,
    MachineMove,
    distinguishing_word,
    distinguishing_words,
    minimal,
)

LETTERS = ("a", "b")
OUTPUTS = ("0", "1", "closed")


def _random_machine(seed: int, states: int) -> Machine:
    """Return a machine of at most so many states and a closed one."""
    chance = random.Random(seed)
    moves = []
    for _ in range(states):
        row = {}
        for letter in LETTERS:
            output = chance.choice(OUTPUTS)
            row[letter] = MachineMove(
                output, states if output == "closed" else chance.randrange(states)
            )
        moves.append(row)
    return minimal(LETTERS, [*moves, dict.fromkeys(LETTERS, MachineMove("closed", states))])


@pytest.mark.parametrize("extra_states", [0, 1, 2])
def test_the_suite_finds_every_difference_within_its_bound(extra_states: int) -> None:
    """Any two machines are distinguished by the suite of one if the other has no more states than the bound allows."""
    machines = [_random_machine(seed, 1 + seed % 4) for seed in range(60)]
    compared = 0
    for one in machines:
        suite = suite_of(one, extra_states)
        for other in machines:
            if len(other.moves) > len(one.moves) + extra_states:
                continue
            compared += 1
            differs = any(one.run(word) != other.run(word) for word in suite)
            assert differs == (distinguishing_word(one, other) is not None)
    assert compared > 1000


def test_a_suite_is_the_same_each_time_and_has_no_beginnings() -> None:
    """A suite does not depend on chance, and no word of it begins another one."""
    machine = _random_machine(7, 4)
    suite = suite_of(machine, 1)
    assert suite == suite_of(machine, 1)
    assert not any(one != other and other[: len(one)] == one for one in suite for other in suite)


def _counter(limit: int) -> Machine:
    """Return a machine that closes at a number of letters."""
    moves = [
        {"a": MachineMove("0", state + 1), "b": MachineMove("1", state)}
        for state in range(limit - 1)
    ]
    last = {"a": MachineMove("closed", limit), "b": MachineMove("1", limit - 1)}
    return minimal(LETTERS, [*moves, last, dict.fromkeys(LETTERS, MachineMove("closed", limit))])


def test_the_shortest_distinguishing_word_is_found() -> None:
    """Two counters are distinguished by the word that reaches the smaller limit."""
    assert distinguishing_word(_counter(2), _counter(3)) == ("a", "a")
    assert next(distinguishing_words(_counter(2), _counter(3))) == ("a", "a")
    assert distinguishing_word(_counter(2), _counter(2)) is None
    assert not list(distinguishing_words(_counter(2), _counter(2)))


def test_equal_states_are_merged_and_numbered_by_their_words() -> None:
    """States that nothing distinguishes are one state, and the first state is that of a new connection."""
    moves = [
        {"a": MachineMove("0", 2), "b": MachineMove("1", 1)},
        {"a": MachineMove("0", 0), "b": MachineMove("1", 2)},
        {"a": MachineMove("0", 1), "b": MachineMove("1", 0)},
    ]
    machine = minimal(LETTERS, moves)
    assert len(machine.moves) == 1
    with pytest.raises(ValueError, match="are the same"):
        machine.separating(0, 0)


def test_states_are_known_by_their_shortest_words() -> None:
    """Each state has the shortest word that reaches it, and a restricted machine loses the states that no word reaches."""
    machine = _counter(3)
    assert machine.access == ((), ("a",), ("a", "a"), ("a", "a", "a"))
    assert len(machine.restricted_to(("b",)).moves) == 1
