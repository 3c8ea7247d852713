"""Learns the machine of a listener with AALpy's KV algorithm; our own complete suite searches for counterexamples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV

from conformance.learning.comparison import first_difference
from conformance.learning.querying import Listening
from reports.machines.machine import CLOSED, SILENT, Machine, MachineMove, Word, last_of, minimal

MOST_STATES = 40
"""A machine with more states is not learned to the end: something counts without a limit, or answers at random."""
MOST_QUESTIONS = 100_000
"""So often the algorithm asks at most. A target whose answers no machine explains would make it ask for ever."""


class NotLearned(Exception):
    """The machine of a target cannot be learned; the message says why."""


def learn_machine(listening: Listening, extra_states: int) -> Machine:
    """Return the machine of a listener.

    Args:
        listening: the listener.
        extra_states: how many states more than the result the target may have to be distinguished from it.

    Raises:
        NotLearned: it has more states than `MOST_STATES`, or no machine explains its answers.
        OutOfPatience: it kept us waiting for too long.
    """
    letters = tuple(listening.alphabet)
    oracle = _SuiteOracle(letters, listening, extra_states)
    learned = run_KV(
        list(letters),
        _Subject(listening),
        oracle,
        automaton_type="mealy",
        cache_and_non_det_check=False,
        print_level=0,
    )
    return _as_machine(letters, learned)


class _Subject(SUL):  # type: ignore[misc]
    """The listener, as AALpy asks it."""

    def __init__(self, listening: Listening) -> None:
        super().__init__()
        self._listening = listening

    def query(self, word: Word) -> list[str]:
        """Return the outputs of a word.

        Raises:
            NotLearned: too many words were asked.
        """
        self.num_queries += 1
        if self.num_queries > MOST_QUESTIONS:
            raise NotLearned("no machine was found that explains all its answers")
        return list(self._listening.ask(tuple(word)))

    def pre(self) -> None:
        """Do nothing: words are asked as a whole."""

    def post(self) -> None:
        """Do nothing: words are asked as a whole."""

    def step(self, letter: str) -> str:
        """Refuse single letters: words are asked as a whole."""
        raise NotImplementedError(letter)


class _SuiteOracle(Oracle):  # type: ignore[misc]
    """Searches for counterexamples with the suite of the hypothesis."""

    def __init__(self, letters: Word, listening: Listening, extra_states: int) -> None:
        super().__init__(list(letters), _Subject(listening))
        self._letters = letters
        self._listening = listening
        self._extra_states = extra_states

    def find_cex(self, hypothesis: Any) -> Word | None:
        """Return a word to which hypothesis and listener respond differently; None if the suite has none."""
        machine = _as_machine(self._letters, hypothesis)
        if len(machine.moves) > MOST_STATES:
            raise NotLearned(f"the target has more than {MOST_STATES} states")
        return first_difference(self._listening, machine, self._extra_states)


def _as_machine(letters: Word, learned: Any) -> Machine:
    """Return an automaton of AALpy as a machine in which an output that ends a word leads to a state of its own."""
    states = [learned.initial_state, *(s for s in learned.states if s is not learned.initial_state)]
    numbers = {state.state_id: number for number, state in enumerate(states)}
    ends = {CLOSED: len(states), SILENT: len(states) + 1}

    def move(output: str, after: Any) -> MachineMove:
        return MachineMove(output, ends.get(last_of(output), numbers[after.state_id]))

    moves: list[Mapping[str, MachineMove]] = [
        {each: move(state.output_fun[each], state.transitions[each]) for each in letters}
        for state in states
    ]
    moves += [dict.fromkeys(letters, MachineMove(output, end)) for output, end in ends.items()]
    return minimal(letters, moves)
