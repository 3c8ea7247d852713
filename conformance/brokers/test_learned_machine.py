"""The machine of a connection, compared with that of the reference model by a complete test suite.

Conversations are drawn, and find a state that only some sequence of requests reaches by chance. This finds each that
needs no more states than the bound. `kafka-conformance learn` learns and shows the machine of a target that differs.
"""

from __future__ import annotations

import pytest

from conformance.engine.examples_ahead import examples_at_once
from conformance.engine.interrupts import INTERRUPTS
from conformance.engine.property_judge import JUDGE
from conformance.engine.repeating import FailingExample
from conformance.learning.alphabets import LARGE, SMALL
from conformance.learning.comparison import costly_difference, shortest_difference
from conformance.learning.letters import Word
from conformance.learning.machine import Outputs
from conformance.learning.querying import CostlyLetter, Listening
from conformance.learning.subjects import listening_to, machine_of_model, model_for
from fixtures.under_test.broker import Broker
from reference_model.listeners import LISTENERS, SASL_PLAINTEXT
from wire.exchange import Exchange

EXTRA_STATES = 1
"""A target with this many more states than its model is found for certain."""


def word_agrees(broker: Broker, word: Word) -> None:
    """Fail unless a target responds to a word as its model does.

    Args:
        broker: the target.
        word: names of letters.
    """
    target = listening_to(broker, LARGE)
    expected = Listening(model_for(broker), target.alphabet, target.abstraction).ask(word)
    seen = target.ask(word)
    assert seen == expected, message(word, seen[-1], expected[-1])


def message(word: Word, seen: str, expected: str) -> str:
    """Return the message about a word, whose last letter makes the difference."""
    *before, last = word
    after = f"after {', then '.join(before)}, " if before else ""
    return f"{after}{last}: {seen}; the model has {expected}"


@pytest.mark.deep
@pytest.mark.swept
@pytest.mark.exhaustive
@pytest.mark.malformed
# Planted defects meet a deep property on its first listener alone; that with SASL has the most states.
@pytest.mark.listeners(SASL_PLAINTEXT, *LISTENERS)
@pytest.mark.clause("MODEL.sequence-agrees")
def test_the_machine_of_a_connection_is_that_of_the_model(broker: Broker) -> None:
    """Each word of the complete suite, which is made from the machine of the model, gets the outputs of the model."""
    judge = JUDGE.get()
    # The large alphabet takes a minute on a listener with SASL; `learn --alphabet large` has it.
    listening = listening_to(broker, SMALL, at_once=examples_at_once(broker))
    model = machine_of_model(model_for(broker), listening.alphabet)

    def keep(word: Word, outputs: Outputs, exchanges: tuple[Exchange, ...]) -> None:
        INTERRUPTS.check()
        if model.run(word[: len(outputs)]) == outputs:
            judge.conforms(exchanges)

    listening.on_word = keep
    try:
        difference = shortest_difference(listening, model, EXTRA_STATES)
    except CostlyLetter as costly:
        difference = costly_difference(listening, model, costly.letter)
        judge.leaves_out(f"the words after {costly}")
    else:
        if difference is None:
            judge.leaves_out(
                f"machines with more than {len(model.moves) + EXTRA_STATES} states: {listening.queries} words of "
                f"{len(listening.alphabet)} letters exclude every machine but the model's with no more than that"
            )
    if difference is not None:
        what = message(difference.word, difference.seen[-1], difference.expected[-1])
        listening.send(difference.word)
        example = FailingExample(word_agrees, {"broker": broker, "word": difference.word})
        judge.differs(AssertionError(what), tuple(broker.journal), example)
    judge.raise_first()
