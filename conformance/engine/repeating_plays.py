"""Repeats failing plays, to distinguish deterministic from intermittent failures of a client.

The failures of all properties of a client are repeated together, after its last property: nothing else of the run is played
meanwhile, and each play mostly waits. They come a few at a time, each round next to a control, which shows whether the machine
is fast enough at that moment. A failure that does not recur in each of these rounds is repeated alone, with a control before
each repeat and after the last one. If the control is too slow even then, or the broker of an operation answers too slowly, the
repeats prove nothing. Operations share a broker, so each is repeated alone; one that hangs counts only if it hangs each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.brokers_at_fault import slow_answers
from conformance.engine.repeating import FailingExample, run_again
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import PLAYS_AT_A_TIME, Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.trial import Trial
from reference_model.clients.scripts.script import Script
from reports.repeats import Repeats, Tally

PLAYS_IF_ALL_FAIL = 2
"""Repeats if all of them fail; they come one after the other, and each may take as long as its script, or an operation, may."""
PLAYS_TO_ESTIMATE = 3
"""Repeats if one of them passes."""
SIDE_BY_SIDE = PLAYS_AT_A_TIME - 2
"""Failures that are repeated at a time: fewer than are played side by side before they are judged, so that a control has a process."""


def repeat_trial(trial: Trial, example: FailingExample) -> Repeats:
    """Try an operation again; return how often it failed."""
    latest: list[Play] = []
    hung: list[bool] = []

    def again() -> bool:
        latest[:] = [trial.again()]
        hung.append(latest[0].result.has_hung)
        return _fails(trial, example, lambda: latest[0])

    def too_slow() -> str:
        return trial.trials.too_slow() or "".join(slow_answers(each.recording) for each in latest)

    repeats = _repeats(again, too_slow)
    in_time = repeats.used.repeats - repeats.used.failed
    if any(hung) and in_time and not repeats.too_slow:
        why = f"it hangs in {repeats.used} repeats, and a hang counts only if each repeat hangs"
        return replace(repeats, too_slow=why)
    return repeats


def repeat_plays(
    client: ClientUnderTest, examples: Sequence[FailingExample]
) -> list[Repeats | None]:
    """Play the scripts of failing examples again; return how often each example failed.

    Returns:
        The repeats of each example; None for one that has no script.
    """
    scripts = {number: script for number, each in enumerate(examples) if (script := _script(each))}
    # A round takes as long as its longest play, so those of one length come together.
    in_order = sorted(scripts, key=lambda number: scripts[number].timeout_ms)
    found: dict[int, Repeats] = {}
    for first in range(0, len(scripts), SIDE_BY_SIDE):
        group = in_order[first : first + SIDE_BY_SIDE]
        left = group
        for _ in range(PLAYS_IF_ALL_FAIL):
            left = _recurring(client, {each: (examples[each], scripts[each]) for each in left})
        found |= {each: Repeats(used=Tally(PLAYS_IF_ALL_FAIL, PLAYS_IF_ALL_FAIL)) for each in left}
    for number, script in scripts.items():
        if number not in found:
            found[number] = _repeat_alone(client, examples[number], script)
    return [found.get(number) for number in range(len(examples))]


def _script(example: FailingExample) -> Script | None:
    return next((each for each in example.values.values() if isinstance(each, Script)), None)


def _recurring(
    client: ClientUnderTest, failures: Mapping[int, tuple[FailingExample, Script]]
) -> list[int]:
    """Repeat a few failures side by side; return those that recur, if the control is fast enough next to them and after them."""
    if not failures:
        return []
    plays = client.plays.begin_again([script for _, script in failures.values()])
    was_slow = client.too_slow()
    fails = [
        number
        for (number, (example, _)), play in zip(failures.items(), plays, strict=True)
        if _fails(client, example, play)
    ]
    return [] if was_slow or (fails and client.too_slow()) else fails


def _repeat_alone(client: ClientUnderTest, example: FailingExample, script: Script) -> Repeats:
    def again() -> bool:
        (play,) = client.plays.begin_again([script])
        return _fails(client, example, play)

    return _repeats(again, client.too_slow)


def _fails(
    judged: ClientUnderTest | Trial, example: FailingExample, play: Callable[[], Play]
) -> bool:
    """Return whether an example fails with another play; one that cannot be judged does not."""
    try:
        with judged.playing(play()):
            run_again(judged, example)
    except AssertionError:
        return True
    except (HarnessError, OSError, UnsatisfiedAssumption):
        return False
    return False


def _repeats(again: Callable[[], bool], too_slow: Callable[[], str]) -> Repeats:
    """Repeat a failure, until `too_slow` returns why the control is too slow to go on."""
    failed = repeats = 0
    while repeats < (PLAYS_IF_ALL_FAIL if failed == repeats else PLAYS_TO_ESTIMATE):
        if why := too_slow():
            return Repeats(used=Tally(failed, repeats), too_slow=why)
        failed += again()
        repeats += 1
    return Repeats(used=Tally(failed, repeats), too_slow=too_slow() if failed else "")
