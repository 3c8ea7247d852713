"""Learns one listener: compares it with its model, and goes on to its own machine if that is another one."""

from __future__ import annotations

from conformance.learning.comparison import costly_difference, difference_at, shortest_difference
from conformance.learning.learner import NotLearned, learn_machine
from conformance.learning.querying import CostlyLetter, Listening
from reports.machines.learned import Learned, MachineDifference
from reports.machines.machine import Machine, distinguishing_word


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
