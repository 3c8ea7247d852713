"""A machine's suite is complete up to its bound, and learning finds the machine.

Learning finds the machine of the model, and every stateful defect within the bound.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance.brokers.test_learned_machine import EXTRA_STATES
from conformance.learning.alphabets import LARGE
from conformance.learning.differences import shortest_difference, suite_of
from conformance.learning.learner import learn_listener, learn_machine
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT, SASL_PLAINTEXT
from reports.machines.machine import (
    Machine,
    MachineMove,
    distinguishing_word,
    distinguishing_words,
    minimal,
)
from tests.conformance.learning.stateful_defects import STATEFUL_DEFECTS
from tests.conformance.learning.subjects_in_memory import few_letters, listening, model_machine

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
            row[letter] = MachineMove(output, states if output == "closed" else chance.randrange(states))
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
    moves = [{"a": MachineMove("0", state + 1), "b": MachineMove("1", state)} for state in range(limit - 1)]
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
    """Each state has the shortest word that reaches it, and a restricted machine loses the states that no word
    reaches."""
    machine = _counter(3)
    assert machine.access == ((), ("a",), ("a", "a"), ("a", "a", "a"))
    assert len(machine.restricted_to(("b",)).moves) == 1


IN_WORDS = {14: "the fourteen"}
FEW = ("v0", "v3", "newest+1", "Metadata", "negative size")


@pytest.mark.parametrize(("listener", "states"), [(PLAINTEXT, 2), (SASL_PLAINTEXT, 6), (CONTROLLER, 2)])
def test_the_model_has_few_states(listener: str, states: int) -> None:
    """The machine of the reference broker has the states of a connection, and no more with the large alphabet."""
    assert len(model_machine(listener).moves) == states
    assert len(model_machine(listener, LARGE).moves) == states


@pytest.mark.parametrize("listener", [PLAINTEXT, SASL_PLAINTEXT])
def test_learning_finds_the_machine_of_the_model(listener: str) -> None:
    """What is learned from outside, without any knowledge of the states, is the machine of the model."""
    assert learn_machine(listening(listener), extra_states=1) == model_machine(listener)


def test_a_healthy_target_is_like_its_model() -> None:
    """No word of the suite distinguishes a healthy broker from its model, and nothing is learned."""
    learned = learn_listener(listening(), model_machine(), extra_states=1)
    assert learned.difference is None
    assert learned.machine == model_machine()
    assert (learned.queries, learned.steps) == (589, 1569)


@pytest.mark.parametrize("name", STATEFUL_DEFECTS)
def test_new_stateful_defects_are_found(name: str) -> None:
    """The shortest word that shows a new stateful defect is found with the bound that it needs."""
    defect = STATEFUL_DEFECTS[name]
    subject, model = listening(defect.listener, defect.tampering), model_machine(defect.listener)
    if defect.extra_states > 1:
        # The words of the next bound are twenty times as many.
        subject, model = few_letters(subject, FEW), model.restricted_to(FEW)
    found = shortest_difference(subject, model, defect.extra_states)
    assert found is not None
    assert ", ".join(found.word) == defect.word


@pytest.mark.parametrize("name", [name for name, each in STATEFUL_DEFECTS.items() if each.extra_states])
def test_a_defect_beyond_the_bound_is_not_found(name: str) -> None:
    """A defect that needs more states than the bound excludes is not found: the bound is no promise beyond itself."""
    defect = STATEFUL_DEFECTS[name]
    subject = listening(defect.listener, defect.tampering)
    model, bound = model_machine(defect.listener), defect.extra_states - 1
    assert shortest_difference(subject, model, bound) is None


def test_the_document_says_which_defects_a_standard_run_finds() -> None:
    """With the bound 1 on each listener without TLS, all are found but those that the table names."""
    assert {each.listener for each in STATEFUL_DEFECTS.values()} == {PLAINTEXT, SASL_PLAINTEXT}
    found = [each.extra_states <= EXTRA_STATES for each in STATEFUL_DEFECTS.values()]
    text = (Path(__file__).parents[3] / "docs" / "learned-machines.md").read_text()
    assert f"| {IN_WORDS[sum(found)]} others | | for certain |" in text
    assert text.count("| by chance |") == len(found) - sum(found)


def test_the_machine_of_a_defect_is_learned() -> None:
    """The machine of a target with a defect is learned to the end, with the state that the model does not have."""
    subject = listening(tampering=STATEFUL_DEFECTS["the-third-v0-closes"].tampering)
    learned = learn_listener(subject, model_machine(), extra_states=1)
    assert learned.machine is not None
    assert len(learned.machine.moves) == 4
    assert learned.machine.run(("v0", "v2", "v0", "v0"))[-1] == "closed"
    assert learned.difference is not None
    assert learned.difference.word == ("v0", "v0", "v0")
