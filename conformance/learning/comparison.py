"""Compares a listener with the machine of its model, and finds the shortest word that distinguishes the two."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.learning.letters import Word
from conformance.learning.machine import Machine, Outputs
from conformance.learning.querying import Listening
from conformance.learning.suite import in_order, suite_of

WORDS_AHEAD = 64
"""Words that a target far away is sent before the first of them is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The shortest word that distinguishes a target from its model.

    Attributes:
        word: the word.
        seen: what the target did, letter by letter.
        expected: what the model does.
    """

    word: Word
    seen: Outputs
    expected: Outputs

    def __str__(self) -> str:
        steps = " | ".join(self.word)
        return f"{steps}: {self.seen[-1]}, and the model has {self.expected[-1]}"


def first_difference(listening: Listening, machine: Machine, extra_states: int) -> Word | None:
    """Return a word of the machine's suite to which the target responds otherwise, cut after the first difference."""
    suite = suite_of(machine, extra_states)
    for place, word in enumerate(suite):
        if place % WORDS_AHEAD == 0:
            listening.send_ahead(suite[place : place + WORDS_AHEAD])
        seen, expected = listening.ask(word), machine.run(word)
        for length in range(1, len(word) + 1):
            if seen[length - 1] != expected[length - 1]:
                return word[:length]
    return None


def shortest_difference(
    listening: Listening, model: Machine, extra_states: int
) -> Difference | None:
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


def difference_at(listening: Listening, model: Machine, word: Word) -> Difference:
    """Return the difference at the end of a word."""
    return Difference(word=word, seen=listening.ask(word), expected=model.run(word))


def costly_difference(listening: Listening, model: Machine, letter: str) -> Difference | None:
    """Return the difference of the shortest word with which a letter silences or ends the target; None if the model does the same."""
    for word in in_order(listening.costly_words(letter), model.letters):
        if model.run(word)[-1] != listening.ask(word)[-1]:
            return difference_at(listening, model, word)
    return None
