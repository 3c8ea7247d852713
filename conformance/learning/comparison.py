"""Compares a listener with the machine of its model, and finds the shortest word that distinguishes the two."""

from __future__ import annotations

from conformance.learning.querying import Listening
from conformance.learning.suite import in_order, suite_of
from reports.machines.learned import MachineDifference
from reports.machines.machine import Machine, Word

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
