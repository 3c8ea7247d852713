"""Comparison of a listener with its model.

The result is the shortest word that distinguishes the two.

Words come from a complete test suite for a machine, by the HSI method: a target with at most `extra_states` more states
than the machine that gives the outputs of the machine to every word of the suite is equal to the machine. A suite
without random words is the same in every run.

Source: Petrenko, Yevtushenko, von Bochmann: Nondeterministic state machines in protocol conformance testing (1993).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from conformance.learning.querying import Listening
from reports.machines.learned import MachineDifference
from reports.machines.machine import Machine, Word, ends_word

WORDS_AHEAD = 64
"""Words that a target far away is sent before the first of them is compared."""


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
    """Return, for each state, the words that separate it from every other one.

    Two states share a word that separates them.
    """
    states = range(len(machine.moves))

    @cache
    def between(lower: int, higher: int) -> Word:
        return machine.separating(lower, higher)

    return {
        state: tuple(dict.fromkeys(between(min(state, other), max(state, other)) for other in states if other != state))
        for state in states
    }


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


def shortest_difference(listening: Listening, model: Machine, extra_states: int) -> MachineDifference | None:
    """Return the shortest word of the model's suite, or beginning of one, to which a listener responds otherwise.

    Returns:
        None if it responds to all of them as the model does.
    """
    longer_word = first_difference(listening, model, extra_states)
    if longer_word is None:
        return None
    words = suite_of(model, extra_states)
    for length in range(1, len(longer_word) + 1):
        beginnings = {word[:length] for word in words if len(word) >= length}
        for word in in_order(beginnings, model.letters):
            if listening.ask(word)[-1] != model.run(word)[-1]:
                return difference_at(listening, model, word)
    return difference_at(listening, model, longer_word)


def difference_at(listening: Listening, model: Machine, word: Word) -> MachineDifference:
    """Return the difference at the end of a word."""
    return MachineDifference(word=word, seen=listening.ask(word), expected=model.run(word))


def costly_difference(listening: Listening, model: Machine, letter: str) -> MachineDifference | None:
    """Return the difference of the shortest word in which a letter silences or ends the target.

    Return None if the model does the same.
    """
    for word in in_order(listening.costly_words(letter), model.letters):
        if model.run(word)[-1] != listening.ask(word)[-1]:
            return difference_at(listening, model, word)
    return None
