"""Tests of the stored corpus against the reference model.

The corpus holds inputs that were interesting once. They are sent again without Hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.brokers.vocabulary import *


def answered_alone(broker: Broker, entry: CorpusEntry) -> None:
    """Fail unless an entry gets an allowed response on a connection of its own."""
    Replay(broker).check_alone(entry)


def answered_after_others(broker: Broker, entries: Sequence[CorpusEntry]) -> None:
    """Fail unless the last of several entries gets an allowed response after the others."""
    Replay(broker).check_after_others(entries)


@pytest.mark.malformed
@pytest.mark.stored(checks=[answered_alone, answered_after_others])
@pytest.mark.exhaustive
@pytest.mark.clause("MODEL.agrees-with-reference")
def test_stored_input_gets_an_allowed_answer(broker: Broker) -> None:
    """Every stored input gets one of the responses that the reference model of the release allows."""
    judge = JUDGE.get()
    replay = Replay(broker)
    remaining = replay.pipelined(load_corpus(), judge.conforms)
    for entries in remaining.different:
        # The entries before it matter only if it is answered properly without them.
        if judge.judge_stored(answered_alone, {"broker": broker, "entry": entries[-1]}):
            judge.judge_stored(answered_after_others, {"broker": broker, "entries": entries})
    for entry in remaining.ending:
        judge.judge_stored(answered_alone, {"broker": broker, "entry": entry})
    judge.raise_first()
