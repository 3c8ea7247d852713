"""Tests of a connection's state machine against the reference model's.

A complete test suite compares the two.

Conversations are drawn, and find a state that only some sequence of requests reaches by chance. This finds each that
needs no more states than the bound. The machine is kept for the site, also that of a target that differs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.brokers.vocabulary import *

EXTRA_STATES = 1
"""A target with this many more states than its model is found for certain, except where a listener differs from one
before it in TLS alone.

There it is one with as many states, unless the tier is deep: TLS adds nothing to the machine of a connection but its
handshake, which other clauses judge. On 4.4.0 one more state makes 589 words of 29 in plaintext and 2,282 of 218 with
SASL; over TLS each word takes several times as long.
"""
LEARNING_LIMIT_S = 20.0
"""How long the machine of a target that differs is learned. It judges nothing, and is only shown."""


def word_agrees(broker: Broker, word: Word) -> None:
    """Fail unless a target responds to a word as its model does."""
    target = listening_to(broker, LARGE)
    expected = Listening(model_for(broker), target.alphabet, target.abstraction).ask(word)
    seen = target.ask(word)
    assert seen == expected, message(word, seen[-1], expected[-1])


def message(word: Word, seen: str, expected: str) -> str:
    """Return the message about a word, whose last letter makes the difference."""
    *before, last = word
    after = f"after {', then '.join(before)}, " if before else ""
    return f"{after}{last}: {seen}; the model has {expected}"


@pytest.mark.standard
@pytest.mark.swept(checks=[word_agrees])
@pytest.mark.exhaustive
@pytest.mark.malformed
@pytest.mark.clause("MODEL.sequence-agrees")
def test_the_machine_of_a_connection_is_that_of_the_model(broker: Broker) -> None:
    """Each word of the complete suite, which is made from the machine of the model, gets the outputs of the model."""
    judge = JUDGE.get()
    extra_states = EXTRA_STATES if judge.is_thorough else 0
    # The large alphabet takes a minute on a listener with SASL; `learn --alphabet large` has it.
    listening = listening_to(broker, SMALL, at_once=examples_at_once(broker))
    model = machine_of_model(model_for(broker), listening.alphabet)

    def keep(word: Word, outputs: Outputs, exchanges: tuple[Exchange, ...]) -> None:
        INTERRUPTS.check()
        if model.run(word[: len(outputs)]) == outputs:
            judge.conforms(exchanges)

    listening.on_word = keep
    try:
        difference = shortest_difference(listening, model, extra_states)
    except CostlyLetter as costly:
        difference = costly_difference(listening, model, costly.letter)
        judge.leaves_out(f"the words after {costly}")
    else:
        if difference is None:
            bound = (
                f"{len(suite_of(model, extra_states)):,} words of {len(model.letters)} letters exclude every machine "
                f"but the model's with up to {len(model.moves) + extra_states} states"
            )
            judge.leaves_out(bound, is_bound=True)
    if difference is not None:
        what = message(difference.word, difference.seen[-1], difference.expected[-1])
        listening.send(difference.word)
        elsewhere = judge.elsewhere(malformed_answer(broker, difference))
        if elsewhere is not None:
            judge.judged_elsewhere(elsewhere)
        else:
            example = FailingExample(word_agrees, {"broker": broker, "word": difference.word})
            judge.differs(deviation(broker, what), tuple(broker.journal), example)
    if judge.keep_machine is not None:
        judge.keep_machine(learned_in_time(listening, model, extra_states, difference))
    judge.raise_first()


def deviation(broker: Broker, what: str) -> AssertionError:
    """Return what is wrong with the last exchange of a word as a failure."""
    exchanges = [each for step in broker.journal for each in step.exchanges]
    return Deviation(exchanges[-1], what) if exchanges else AssertionError(what)


def malformed_answer(broker: Broker, difference: MachineDifference) -> MalformedAnswer | None:
    """Return what is wrong with the bytes of the last response of a word.

    Return None if nothing is wrong. A plain request may show the same fault.
    """
    layout = re.search(r" v(\d+) ", difference.expected[-1])
    exchanges = [each for step in broker.journal for each in step.exchanges]
    if layout is None or not exchanges or exchanges[-1].request.api_key != API_VERSIONS_KEY:
        return None
    try:
        decode_answer(exchanges[-1], api_version=int(layout[1]))
    except MalformedAnswer as malformed:
        return malformed
    return None


def learned_in_time(
    listening: Listening, model: Machine, extra_states: int, difference: MachineDifference | None
) -> Mapping[str, Any]:
    """Return the machine of a listener as the run keeps it; learning it may take `LEARNING_LIMIT_S`."""
    end = time.monotonic() + LEARNING_LIMIT_S

    try:
        check_extra(LEARNING, "learning the machine of a target that differs")
        # It imports AALpy, which takes a twentieth of a second, and only a target that differs is learned.
        from conformance.learning.learner import NotLearned, learn_listener  # noqa: PLC0415

        def check(*_: object) -> None:
            INTERRUPTS.check()
            if time.monotonic() > end:
                raise NotLearned(f"it took longer than {LEARNING_LIMIT_S:.0f} s")

        listening.on_word = check
        learned = learn_listener(listening, model, extra_states)
    except (HarnessError, MissingExtra) as error:
        learned = Learned(
            target=listening.broker.target.id,
            listener=listening.broker.listener,
            letters=tuple(listening.alphabet),
            machine=None,
            difference=difference,
            extra_states=extra_states,
            queries=listening.queries,
            steps=listening.steps,
            stopped=printable(str(error))[:MAX_TEXT],
        )
    return as_json(learned, listening.sent())
