"""Repeats a failing play alone, to distinguish deterministic from intermittent failures of a client.

Nothing else of the run is played meanwhile. A control before each repeat and after the last one shows whether the machine is
fast enough at that moment; if it is not, or the broker of an operation answers too slowly, the repeats prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.assertions.slow_answers import slow_answers
from conformance.engine.repeating import FailingExample, run_again
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.trial import Trial
from reference_model.clients.script import Script
from reports.run.repeats import Repeats, Tally

FEW_REPEATS = 2
"""Repeats if all of them fail; they come one after the other, and each may take as long as its script, or an operation, may."""
MANY_REPEATS = 3
"""Repeats if one of them passes."""


def repeat_trial(trial: Trial, example: FailingExample) -> Repeats:
    """Try an operation again; return how often it failed.

    Args:
        trial: the operation that was judged.
        example: its failure.
    """
    latest: list[Play] = []

    def again() -> Play:
        latest[:] = [trial.trials.again(trial.chosen)]
        return latest[0]

    def too_slow() -> str:
        return trial.trials.too_slow() or "".join(slow_answers(each.recording) for each in latest)

    return _repeats(trial, example, again, too_slow)


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
    return _repeats(client, example, partial(client.plays.again, script), client.too_slow)


def _repeats(
    judged: ClientUnderTest | Trial,
    example: FailingExample,
    again: Callable[[], Play],
    too_slow: Callable[[], str],
) -> Repeats:
    """Repeat a failure, as long as the control is fast enough.

    Args:
        judged: what was judged.
        example: its failure.
        again: plays the same again.
        too_slow: plays the control; returns why it is too slow, or "".
    """
    failed = repeats = 0
    while repeats < (FEW_REPEATS if failed == repeats else MANY_REPEATS):
        if why := too_slow():
            return Repeats(used=Tally(failed, repeats), too_slow=why)
        with judged.playing(again()):
            try:
                run_again(judged, example)
            except AssertionError:
                failed += 1
        repeats += 1
    return Repeats(used=Tally(failed, repeats), too_slow=too_slow() if failed else "")
