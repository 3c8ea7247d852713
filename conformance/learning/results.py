"""What is learned of one listener: its machine, and how that differs from the machine of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.learning.comparison import (
    Difference,
    costly_difference,
    difference_at,
    shortest_difference,
)
from conformance.learning.learner import NotLearned, learn_machine
from conformance.learning.letters import Alphabet
from conformance.learning.machine import Machine, distinguishing_word
from conformance.learning.querying import CostlyLetter, Listening, Unstable


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What was learned of one listener.

    Attributes:
        target: the target's id.
        listener: the listener's name.
        alphabet: the letters.
        machine: the target's machine; None if it could not be learned.
        model: the machine of its model.
        difference: the shortest word that distinguishes the two; None if they are equal.
        extra_states: up to how many more states than `machine` a target would have been found to have.
        queries: how many connections it took.
        steps: how many letters were sent.
        unstable: words that did not always get the same outputs.
        left_out: letters that were left out, each with what it costs: the silence of the target, or its end.
        stopped: why the machine could not be learned; empty if it was.
    """

    target: str
    listener: str
    alphabet: Alphabet
    machine: Machine | None
    model: Machine
    difference: Difference | None
    extra_states: int
    queries: int
    steps: int
    unstable: Sequence[Unstable]
    left_out: Sequence[str] = ()
    stopped: str = ""


def learn_listener(listening: Listening, model: Machine, extra_states: int) -> Learned:
    """Compare a listener with its model, and learn its machine if it is another one.

    Args:
        listening: the listener.
        model: the machine of its model.
        extra_states: up to how many more states a difference is found for certain.

    Raises:
        HarnessError: the target cannot be reached, or kept us waiting for too long.
    """
    difference: Difference | None = None
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
        alphabet=listening.alphabet,
        machine=machine,
        model=model,
        difference=difference,
        extra_states=extra_states,
        queries=listening.queries,
        steps=listening.steps,
        unstable=tuple(listening.unstable.values()),
        left_out=tuple(costly),
        stopped=stopped,
    )
