"""Repeats a failing play, to distinguish deterministic from intermittent failures of a client."""

from __future__ import annotations

from conformance.engine.repeating import FailingExample, run_again
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.trial import Trial
from reference_model.clients.script import Script
from reports.run.repeats import Repeats, Tally

REPEATS = 3
"""Repeats of a failure; they run at the same time, and each may take as long as its script allows."""


def repeat_trial(trial: Trial, example: FailingExample) -> Repeats:
    """Try an operation again; return how often it failed.

    Args:
        trial: the operation that was judged.
        example: its failure.
    """
    failed, plays = 0, trial.trials.repeated(trial.chosen)
    for play in plays:
        with trial.playing(play):
            try:
                run_again(trial, example)
            except AssertionError:
                failed += 1
    return Repeats(used=Tally(failed, len(plays)), fresh=None, loaded=None)


def repeat_play(client: ClientUnderTest, example: FailingExample) -> Repeats | None:
    """Play the script of a failing example again; return how often the example failed.

    Args:
        client: the client that was judged.
        example: the example that failed.

    Returns:
        None if the example has no script.
    """
    script = next((each for each in example.values.values() if isinstance(each, Script)), None)
    if script is None:
        return None
    failed = 0
    for play in client.plays.repeated(script, REPEATS):
        with client.playing(play):
            try:
                run_again(client, example)
            except AssertionError:
                failed += 1
    return Repeats(used=Tally(failed, REPEATS), fresh=None, loaded=None)
