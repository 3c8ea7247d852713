"""Measures what the operations of a client need, by taking versions away.

An operation first runs several times with nothing taken away: one that does not work each time is not measured. What
does not work without something, and does not say what is missing, is tried again. If that differs, nothing is
concluded, except how often it worked. The same holds if it breaks, and right after that breaks with nothing taken away
as well: a machine that is too slow is no need.

What cannot matter alone is not tried alone: if the operation works although every old version that it does not send is
gone, none of these is needed. The same holds for all APIs that it never sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from conformance.needs.benches import Bench
from conformance.needs.edges import edge_of
from conformance.needs.outcomes import Usual, has_worked, outcome_without, usual_of
from fixtures.errors import HarnessError
from fixtures.recording_proxy.command_results import NO_SUCH, has_no_such_operation
from reference_model.profiles.removals import Removal
from reports.client_needs.needs import ApiNeeds, Edge, OperationNeeds, Probe, ProbeOutcome
from wire.api_keys import API_VERSIONS_KEY

USUAL_RUNS = 3
MAX_RUNS = 3
"""How often something is tried at most that does not work."""
USUAL_TIME_S = 20.0
MIN_TIME_S, TIMES_AS_LONG = 6.0, 5
"""How long an operation may take without something: so many seconds, or so many times as long as usual."""
_WORST_FIRST = (ProbeOutcome.BREAKS, ProbeOutcome.SAYS, ProbeOutcome.GIVES_UP)


class NoSuchOperation(Exception):
    """A command does not have an operation."""


def needs_of(bench: Bench, operation: str, *, at_a_time: int) -> OperationNeeds:
    """Return what an operation needs.

    Args:
        bench: the client and the broker.
        operation: the name of the operation.
        at_a_time: how many plays may run at the same time.

    Raises:
        NoSuchOperation: the client is a command that does not have it.
    """
    executor = ThreadPoolExecutor(at_a_time)
    try:
        plays = [*executor.map(lambda _: bench.play(operation, (), USUAL_TIME_S), range(USUAL_RUNS))]
        if any(has_no_such_operation(each.result) for each in plays):
            raise NoSuchOperation(NO_SUCH)
        worked = sum(map(has_worked, plays))
        if worked < USUAL_RUNS:
            detail = next(each.result.summary for each in plays if not has_worked(each))
            reason = f"it works in {worked} of {USUAL_RUNS} runs with nothing taken away: {detail}"
            return OperationNeeds(operation=operation, inconclusive=reason)
        return _Measurement(bench, operation, usual_of(plays), executor).needs()
    except HarnessError as error:
        return OperationNeeds(operation=operation, inconclusive=str(error))
    finally:
        # After an error or an interrupt no further probe begins; the caller ends the pool in which plays run.
        executor.shutdown(wait=False, cancel_futures=True)


class _Measurement:
    """The probes of one operation that works."""

    def __init__(self, bench: Bench, operation: str, usual: Usual, executor: ThreadPoolExecutor) -> None:
        self._bench = bench
        self._operation = operation
        self._usual = usual
        self._executor = executor
        self._time_s = min(USUAL_TIME_S, max(MIN_TIME_S, TIMES_AS_LONG * usual.longest_ms / 1000))
        self._unclear: dict[str, Probe] = {}
        self._needs_no_old_version = False

    def needs(self) -> OperationNeeds:
        """Return what the operation needs."""
        served = self._bench.served
        used = [key for key in self._usual.used if key in served]
        unused = [key for key in served if key not in used and key != API_VERSIONS_KEY]
        submit = self._executor.submit
        without_old = self._try(
            [
                Removal(key, lowest=newest)
                for key in used
                if (newest := max(self._usual.used[key])) > served[key].lowest and newest <= served[key].highest
            ]
        )
        self._needs_no_old_version = without_old.outcome is ProbeOutcome.WORKS
        begun = {
            key: (
                submit(self._minimum, key),
                submit(self._maximum, key),
                submit(self._try, [Removal(key, is_complete=True)]),
            )
            for key in used
        }
        absent = submit(self._culprits, [Removal(key, is_complete=True) for key in unused])
        raised = submit(
            self._culprits,
            [Removal(key, lowest=served[key].highest) for key in unused if served[key].highest > served[key].lowest],
        )
        found = {
            key: ApiNeeds(
                api_key=key,
                served=served[key],
                used=self._usual.used[key],
                minimum=minimum.result(),
                maximum=maximum.result(),
                removed=removed.result(),
            )
            for key, (minimum, maximum, removed) in begun.items()
        }
        for key in sorted({*absent.result(), *raised.result()}):
            found[key] = ApiNeeds(
                api_key=key,
                served=served[key],
                used=(),
                minimum=self._minimum(key),
                removed=self._try([Removal(key, is_complete=True)]),
            )
        return OperationNeeds(
            operation=self._operation,
            apis=tuple(found[key] for key in sorted(found)),
            unclear=tuple(self._unclear[removed] for removed in sorted(self._unclear)),
        )

    def _minimum(self, key: int) -> Edge:
        """Return how far the minimum can be raised; what the client sends and the next version are always tried."""
        lowest, highest = self._bench.served[key]
        newest = max(self._usual.used.get(key, ()), default=highest)
        is_known = self._needs_no_old_version and key in self._usual.used
        return edge_of(
            range(lowest, highest + 1),
            lambda version: self._try([Removal(key, lowest=version)]),
            works_at=newest - lowest if is_known else 0,
            also=() if is_known else (newest, newest + 1),
        )

    def _maximum(self, key: int) -> Edge:
        """Return how far the maximum can be lowered."""
        lowest, highest = self._bench.served[key]
        return edge_of(
            range(highest, lowest - 1, -1),
            lambda version: self._try([Removal(key, lowest=lowest, highest=version)]),
        )

    def _culprits(self, removals: Sequence[Removal]) -> list[int]:
        """Return the APIs of which an operation notices the removal, of some that it never sends."""
        if (probe := self._try(removals)).works:
            return []
        if len(removals) == 1:
            return [removals[0].api_key]
        half = len(removals) // 2
        found = [*self._culprits(removals[:half]), *self._culprits(removals[half:])]
        if not found:
            self._unclear[probe.removed] = probe
        return found

    def _is_lost(self, removal: Removal) -> bool:
        """Return whether the version that the client sends of an API is gone."""
        left = removal.left_of(self._bench.served[removal.api_key])
        newest = max(self._usual.used.get(removal.api_key, ()), default=-1)
        return left is None or not left.lowest <= newest <= left.highest

    def _try(self, removals: Sequence[Removal]) -> Probe:
        """Try the operation after some removals, again if it does not work as before."""
        removed = ", ".join(map(str, removals))
        if not removals:
            return Probe(removed=removed, outcome=ProbeOutcome.WORKS)
        seen: list[tuple[ProbeOutcome, str]] = []
        while len(seen) < MAX_RUNS and not _is_clear(seen):
            play = self._bench.play(self._operation, removals, self._time_s)
            seen.append(outcome_without(play, self._usual, {each.api_key for each in removals if self._is_lost(each)}))
        outcome, detail = _common_outcome(seen)
        if outcome is ProbeOutcome.BREAKS and not has_worked(self._bench.play(self._operation, (), self._time_s)):
            # Seen on a machine with a load of eight processes per core: each operation was too slow.
            outcome, detail = ProbeOutcome.UNSTABLE, f"{detail}; with nothing taken away it did not work then, either"
        probe = Probe(removed=removed, outcome=outcome, detail=detail)
        if outcome is ProbeOutcome.UNSTABLE:
            self._unclear[removed] = probe
        return probe


def _is_clear(seen: Sequence[tuple[ProbeOutcome, str]]) -> bool:
    """Return whether something needs not be tried again: it works, says why not, or fails twice in the same way."""
    outcomes = [outcome for outcome, _ in seen]
    return outcomes in ([ProbeOutcome.WORKS], [ProbeOutcome.SAYS]) or (len(outcomes) > 1 and len(set(outcomes)) == 1)


def _common_outcome(seen: Sequence[tuple[ProbeOutcome, str]]) -> tuple[ProbeOutcome, str]:
    """Return what all runs have in common; the worst if they fail in several ways."""
    worked = sum(outcome is ProbeOutcome.WORKS for outcome, _ in seen)
    if worked and worked < len(seen):
        detail = next(detail for outcome, detail in seen if outcome is not ProbeOutcome.WORKS)
        return ProbeOutcome.UNSTABLE, f"it works in {worked} of {len(seen)} runs; otherwise: {detail}"
    if worked:
        return seen[0]
    outcomes = {outcome for outcome, _ in seen}
    worst = next(each for each in _WORST_FIRST if each in outcomes)
    return worst, next(detail for outcome, detail in seen if outcome is worst)
