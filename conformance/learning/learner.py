"""Learner of the machine of a listener that differs from its model.

It uses AALpy's KV algorithm and the suites of `differences`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV

from conformance.learning.differences import (
    costly_difference,
    difference_at,
    first_difference,
    shortest_difference,
)
from conformance.learning.querying import CostlyLetter, Listening
from reports.machines.learned import Learned, MachineDifference
from reports.machines.machine import (
    CLOSED,
    SILENT,
    Machine,
    MachineMove,
    Word,
    distinguishing_word,
    last_of,
    minimal,
)

MAX_STATES = 40
"""A machine with more states is not learned to the end: something counts without a limit, or answers at random."""
MAX_QUESTIONS = 100_000
"""So often the algorithm asks at most. A target whose answers no machine explains would make it ask for ever."""


class NotLearned(Exception):
    """The machine of a target cannot be learned; the message says why."""


def learn_machine(listening: Listening, extra_states: int) -> Machine:
    """Return the machine of a listener.

    Args:
        listening: the listener.
        extra_states: how many states more than the result the target may have to be distinguished from it.

    Raises:
        NotLearned: it has more states than `MAX_STATES`, or no machine explains its answers.
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
        if self.num_queries > MAX_QUESTIONS:
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
        if len(machine.moves) > MAX_STATES:
            raise NotLearned(f"the target has more than {MAX_STATES} states")
        return first_difference(self._listening, machine, self._extra_states)


def _as_machine(letters: Word, learned: Any) -> Machine:
    """Return an automaton of AALpy as a machine in which an output that ends a word leads to a state of its own."""
    states = [learned.initial_state, *(s for s in learned.states if s is not learned.initial_state)]
    numbers = {state.state_id: number for number, state in enumerate(states)}
    ends = {CLOSED: len(states), SILENT: len(states) + 1}

    def move(output: str, after: Any) -> MachineMove:
        return MachineMove(output, ends.get(last_of(output), numbers[after.state_id]))

    moves: list[Mapping[str, MachineMove]] = [
        {each: move(state.output_fun[each], state.transitions[each]) for each in letters} for state in states
    ]
    moves += [dict.fromkeys(letters, MachineMove(output, end)) for output, end in ends.items()]
    return minimal(letters, moves)


def learn_listener(listening: Listening, model: Machine, extra_states: int) -> Learned:
    """Compare a listener with its model, and learn its machine if it differs.

    A difference is certain to be found if the listener has at most `extra_states` more states than the model.

    Raises:
        HarnessError: the target cannot be reached, or kept us waiting for too long.
    """
    difference: MachineDifference | None = None
    costly: list[str] = []
    machine: Machine | None
    while True:
        try:
            shortest = shortest_difference(listening, model, extra_states)
            difference = difference or shortest
            machine = model if shortest is None else learn_machine(listening, extra_states)
            stopped = ""
            break
        except CostlyLetter as error:
            # Silence that the model has too is no difference, but it is as slow.
            costly.append(str(error))
            difference = difference or costly_difference(listening, model, error.letter)
            listening.leave_out(error.letter)
            model = model.restricted_to(tuple(listening.alphabet))
        except NotLearned as error:
            machine, stopped = None, str(error)
            break
    if machine is not None and not costly:
        word = distinguishing_word(machine, model)
        if difference is not None and word is not None and len(word) < len(difference.word):
            difference = difference_at(listening, model, word)
    return Learned(
        target=listening.broker.target.id,
        listener=listening.broker.listener,
        letters=tuple(listening.alphabet),
        machine=machine,
        difference=difference,
        extra_states=extra_states,
        queries=listening.queries,
        steps=listening.steps,
        unstable=tuple(listening.unstable.values()),
        left_out=tuple(costly),
        stopped=stopped,
    )
