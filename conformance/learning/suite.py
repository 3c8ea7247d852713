"""A complete test suite for a machine: the HSI method.

A target with at most `extra_states` more states than the machine that gives the outputs of the machine to every word of
the suite is equal to the machine. A suite without random words is the same in every run.

Source: Petrenko, Yevtushenko, von Bochmann: Nondeterministic state machines in protocol conformance testing (1993).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from reports.machines.machine import Machine, Word, ends_word


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
