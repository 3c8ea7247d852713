"""Compares a listener with its model by the shortest word that distinguishes the two, and learns the machine of one that differs.

AALpy's KV algorithm learns it. Words come from a complete test suite for a machine, by the HSI method: a target with at most
`extra_states` more states than the machine that gives the outputs of the machine to every word of the suite is equal to the machine. A
suite without random words is the same in every run.

Source: Petrenko, Yevtushenko, von Bochmann: Nondeterministic state machines in protocol conformance testing (1993).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV

from conformance.learning.querying import CostlyLetter, Listening
from reports.machines.learned import Learned, MachineDifference
from reports.machines.machine import (
    CLOSED,
    SILENT,
    Machine,
    MachineMove,
    Word,
    distinguishing_word,
    ends_word,
    last_of,
    minimal,
)


def suite_of(machine: Machine, extra_states: int) -> list[Word]:
    """Return the words of the suite, the shortest first; none of them begins another one.

    A word ends where the machine's output ends it: on a closed connection there is nothing to try.
    """
    words = dict.fromkeys(_words(machine, extra_states))
    beginnings = {word[:length] for word in words for length in range(len(word))}
    return in_order((word for word in words if word not in beginnings), machine.letters)


def in_order(words: Iterable[Word], letters: Word) -> list[Word]:
    """Return words in order: the shortest first, and those of one length in the order of their letters."""
    order = {letter: index for index, letter in enumerate(letters)}
    return sorted(words, key=lambda word: (len(word), [order[letter] for letter in word]))


def _words(machine: Machine, extra_states: int) -> Iterator[Word]:
    identifiers = _identifiers(machine)
    for state, access in enumerate(machine.access):
        yield from _explored(machine, access, state, extra_states + 1, identifiers)


def _explored(
    machine: Machine,
    word: Word,
    state: int,
    steps: int,
    identifiers: dict[int, tuple[Word, ...]],
) -> Iterator[Word]:
    """Yield every continuation of a word by up to so many letters, each with what identifies the state after it."""
    for identifier in identifiers[state] or ((),):
        yield (*word, *_until_end(machine, state, identifier))
    if not steps:
        return
    for letter in machine.letters:
        output, after = machine.moves[state][letter]
        if ends_word(output):
            yield (*word, letter)
        else:
            yield from _explored(machine, (*word, letter), after, steps - 1, identifiers)


def _until_end(machine: Machine, state: int, word: Word) -> Word:
    """Return the beginning of a word up to the output that ends it."""
    for length, letter in enumerate(word, start=1):
        output, state = machine.moves[state][letter]
        if ends_word(output):
            return word[:length]
    return word


def _identifiers(machine: Machine) -> dict[int, tuple[Word, ...]]:
    """Return for each state the words that separate it from every other one; two states share a word that separates them."""
    states = range(len(machine.moves))

    @cache
    def between(lower: int, higher: int) -> Word:
        return machine.separating(lower, higher)

    return {
        state: tuple(
            dict.fromkeys(
                between(min(state, other), max(state, other)) for other in states if other != state
            )
        )
        for state in states
    }


WORDS_AHEAD = 64
"""Words that a target far away is sent before the first of them is compared."""


def first_difference(listening: Listening, machine: Machine, extra_states: int) -> Word | None:
    """Return a word of the machine's suite to which the target responds otherwise, cut after the first difference."""
    suite = suite_of(machine, extra_states)
    for index, word in enumerate(suite):
        if index % WORDS_AHEAD == 0:
            listening.send_ahead(suite[index : index + WORDS_AHEAD])
        seen, expected = listening.ask(word), machine.run(word)
        for length in range(1, len(word) + 1):
            if seen[length - 1] != expected[length - 1]:
                return word[:length]
    return None


def shortest_difference(
    listening: Listening, model: Machine, extra_states: int
) -> MachineDifference | None:
    """Return the shortest word of the model's suite, or beginning of one, to which a listener responds otherwise.

    Returns:
        None if it responds to all of them as the model does.
    """
    found = first_difference(listening, model, extra_states)
    if found is None:
        return None
    words = suite_of(model, extra_states)
    for length in range(1, len(found) + 1):
        beginnings = {word[:length] for word in words if len(word) >= length}
        for word in in_order(beginnings, model.letters):
            if listening.ask(word)[-1] != model.run(word)[-1]:
                return difference_at(listening, model, word)
    return difference_at(listening, model, found)


def difference_at(listening: Listening, model: Machine, word: Word) -> MachineDifference:
    """Return the difference at the end of a word."""
    return MachineDifference(word=word, seen=listening.ask(word), expected=model.run(word))


def costly_difference(
    listening: Listening, model: Machine, letter: str
) -> MachineDifference | None:
    """Return the difference of the shortest word with which a letter silences or ends the target; None if the model does the same."""
    for word in in_order(listening.costly_words(letter), model.letters):
        if model.run(word)[-1] != listening.ask(word)[-1]:
            return difference_at(listening, model, word)
    return None


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


def learn_listener(listening: Listening, model: Machine, extra_states: int) -> Learned:
    """Compare a listener with its model, and learn its machine if it differs, which is certain to be found up to `extra_states` more states.

    Raises:
        HarnessError: the target cannot be reached, or kept us waiting for too long.
    """
    difference: MachineDifference | None = None
    costly: list[str] = []
    machine: Machine | None
    while True:
        try:
            found = shortest_difference(listening, model, extra_states)
            difference = difference or found
            machine = model if found is None else learn_machine(listening, extra_states)
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
