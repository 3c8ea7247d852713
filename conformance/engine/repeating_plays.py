"""Repeats of failing plays of a client.

They distinguish deterministic failures from intermittent ones.

The failures of all properties of a client are repeated together, after its last property: nothing else of the run is
played meanwhile, and each play mostly waits. They come a few at a time, each round next to a control, which shows
whether the machine is fast enough at that moment. A failure that does not recur in each of these rounds is repeated
alone, with a control before each repeat and after the last one.

What bytes show needs no control: it recurs on a busy machine as on an idle one. Only a repeat in which the client was
out of its time says nothing about it. What only time shows counts next to a fast control alone: the repeats wait for
one a few times, and if it is too slow even then, or the broker of an operation answers too slowly, they prove nothing.

Operations share a broker, so each is repeated alone, but for those that take long: see `fixtures.under_test.trial`. One
that hangs counts only if it hangs each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.brokers_at_fault import slow_answers
from conformance.assertions.evidence import evidence_of
from conformance.engine.repeating import FailingExample, run_again
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import PLAYS_IF_ALL_FAIL, SIDE_BY_SIDE, Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.control import starved
from fixtures.under_test.trial import Trial
from reference_model.clients.scripts.script import Script
from reports.repeats import Repeats, ShownBy, Tally

PLAYS_TO_ESTIMATE = 3
"""Repeats if one of them passes."""
MAX_MISSED = 3
"""Repeats without a result of a failure that bytes show, after which it counts as one that could not be repeated."""
MAX_PAUSES = 6
PAUSE_S = 5.0
"""How often, for all failures of a client together, and how long a quieter moment of the machine is waited for."""


@dataclass(frozen=True, slots=True)
class PlayedAgain:
    """One repeat of a failure.

    Attributes:
        evidence: what shows that it fails again; None if it does not.
        in_time: whether the client had ended, or enough was seen of it, when its time was over.
        waited_ms: how long the client waited for a CPU.
    """

    evidence: ShownBy | None
    in_time: bool
    waited_ms: int = 0

    @property
    def too_slow(self) -> str:
        """Why the machine may be the cause; empty if it is not, or if more than time shows the failure."""
        return starved(self.waited_ms) if self.evidence is ShownBy.TIME else ""


class Pauses:
    """Waits for a quieter moment of the machine, a few times."""

    def __init__(self, most: int) -> None:
        """Start with this number of pauses."""
        self._left = most

    def wait(self) -> bool:
        """Wait, and return True; return False if there were enough pauses."""
        if not self._left:
            return False
        self._left -= 1
        time.sleep(PAUSE_S)
        return True


def repeat_trial(trial: Trial, example: FailingExample) -> Repeats:
    """Try an operation again; return how often it failed."""
    latest: list[Play] = []
    hung: list[bool] = []

    def again() -> PlayedAgain:
        latest[:] = [trial.again()]
        hung.append(latest[0].result.has_hung)
        return _repeat(trial, example, lambda: latest[0])

    def too_slow() -> str:
        return trial.trials.too_slow() or "".join(slow_answers(each.recording) for each in latest)

    repeats = _repeats(again, too_slow, example.evidence, Pauses(0))
    in_time = repeats.used.repeats - repeats.used.failed
    if any(hung) and in_time and not repeats.too_slow:
        why = f"it hangs in {repeats.used} repeats, and a hang counts only if each repeat hangs"
        return replace(repeats, too_slow=why)
    return repeats


def repeat_plays(client: ClientUnderTest, examples: Sequence[FailingExample]) -> list[Repeats | None]:
    """Play the scripts of failing examples again; return how often each example failed.

    Returns:
        The repeats of each example; None for one that has no script.
    """
    scripts = {number: script for number, each in enumerate(examples) if (script := _script(each))}
    # A round takes as long as its longest play, so those of one length come together.
    in_order = sorted(scripts, key=lambda number: scripts[number].timeout_ms)
    repeats_by_number: dict[int, Repeats] = {}
    for first in range(0, len(scripts), SIDE_BY_SIDE):
        group = in_order[first : first + SIDE_BY_SIDE]
        left = group
        for _ in range(PLAYS_IF_ALL_FAIL):
            left = _recurring(client, {each: (examples[each], scripts[each]) for each in left})
        repeats_by_number |= {each: Repeats(used=Tally(PLAYS_IF_ALL_FAIL, PLAYS_IF_ALL_FAIL)) for each in left}
    pauses = Pauses(MAX_PAUSES)
    for number, script in scripts.items():
        if number not in repeats_by_number:
            repeats_by_number[number] = _repeat_alone(client, examples[number], script, pauses)
    return [repeats_by_number.get(number) for number in range(len(examples))]


def _script(example: FailingExample) -> Script | None:
    return next((each for each in example.values.values() if isinstance(each, Script)), None)


def _recurring(client: ClientUnderTest, failures: Mapping[int, tuple[FailingExample, Script]]) -> list[int]:
    """Repeat a few failures side by side; return those that recur.

    What only time shows recurs only if the control is fast enough next to them and after them.
    """
    if not failures:
        return []
    plays = client.plays.begin_again([script for _, script in failures.values()])
    by_time = any(example.evidence is ShownBy.TIME for example, _ in failures.values())
    was_slow = client.too_slow() if by_time else ""
    repeats = {
        number: _repeat(client, example, play)
        for (number, (example, _)), play in zip(failures.items(), plays, strict=True)
    }
    evidence_by_number = {number: each.evidence for number, each in repeats.items() if not each.too_slow}
    if ShownBy.TIME in evidence_by_number.values() and (was_slow or client.too_slow()):
        return [number for number, evidence in evidence_by_number.items() if evidence is ShownBy.BYTES]
    return [number for number, evidence in evidence_by_number.items() if evidence is not None]


def _repeat_alone(client: ClientUnderTest, example: FailingExample, script: Script, pauses: Pauses) -> Repeats:
    def again() -> PlayedAgain:
        (play,) = client.plays.begin_again([script])
        return _repeat(client, example, play)

    return _repeats(again, client.too_slow, example.evidence, pauses)


def _repeat(judged: ClientUnderTest | Trial, example: FailingExample, play: Callable[[], Play]) -> PlayedAgain:
    """Judge an example with another play; one that cannot be judged does not fail, and was not in time."""
    waited_ms = 0
    try:
        played = play()
        waited_ms = played.result.waited_ms
        in_time = bool(played.recording.all_requests) and not played.result.has_hung
        with judged.playing(played):
            run_again(judged, example)
    except AssertionError as error:
        return PlayedAgain(evidence_of(error), in_time, waited_ms)
    except (HarnessError, OSError, UnsatisfiedAssumption):
        return PlayedAgain(None, in_time=False)
    return PlayedAgain(None, in_time)


def _repeats(
    again: Callable[[], PlayedAgain], too_slow: Callable[[], str], evidence: ShownBy, pauses: Pauses
) -> Repeats:
    """Repeat a failure by what shows it; `too_slow` returns why the control is too slow to go on."""
    if evidence is ShownBy.BYTES:
        return _repeats_by_bytes(again, too_slow)
    while True:
        repeats = _repeats_by_time(again, too_slow)
        if not repeats.too_slow or not pauses.wait():
            return repeats


def _repeats_by_bytes(again: Callable[[], PlayedAgain], too_slow: Callable[[], str]) -> Repeats:
    failed = repeats = missed = 0
    while repeats < (PLAYS_IF_ALL_FAIL if failed == repeats else PLAYS_TO_ESTIMATE):
        repeat = again()
        is_shown = repeat.evidence is ShownBy.BYTES
        if not is_shown and not repeat.in_time and (why := too_slow()):
            missed += 1
            if missed == MAX_MISSED:
                return Repeats(used=Tally(failed, repeats), trouble="" if repeats else why)
            continue
        failed += is_shown
        repeats += 1
    return Repeats(used=Tally(failed, repeats))


def _repeats_by_time(again: Callable[[], PlayedAgain], too_slow: Callable[[], str]) -> Repeats:
    failed = repeats = 0
    while repeats < (PLAYS_IF_ALL_FAIL if failed == repeats else PLAYS_TO_ESTIMATE):
        if why := too_slow():
            return Repeats(used=Tally(failed, repeats), too_slow=why)
        repeat = again()
        if repeat.too_slow:
            return Repeats(used=Tally(failed, repeats), too_slow=repeat.too_slow)
        failed += repeat.evidence is not None
        repeats += 1
    return Repeats(used=Tally(failed, repeats), too_slow=too_slow() if failed else "")
