"""Judges the properties of one target in several processes: far away they wait for its answers at the same time, near they use more cores.

This process collects the properties, and starts and measures the target. Then it forks: each process judges one property
after the other, and sends everything that it would record to this one, which alone keeps the run folder and the terminal.
Results are taken in the order of the properties, so a run looks the same whatever the number of processes is.

Of a near target only what conforms is taken. Everything else is judged by this process afterwards, when nothing else asks the target,
and so is what needs a quiet one. So whatever a run says of a target is what one process alone says of it.

A process that ends before its property does makes that property inconclusive, and another one takes its place.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any

import pytest

from clauses import marks
from conformance.engine.planning import chosen_of
from conformance.engine.share_process import (
    ALONE,
    DONE,
    RECORD,
    REPORT,
    ConformingRecorder,
    RecorderCall,
    SentRecorder,
    judge_share,
)
from fixtures.cleanup.ending_signals import INTERRUPTS
from reports.plugin import RECORDER, clauses_of, note_progress
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from strategies.hypothesis_adapter import pinned_examples

POLL_S = 1.0
"""Longest wait before an interrupt is looked for again."""


@dataclass(slots=True)
class _Share:
    """A process that judges one property after the other.

    Attributes:
        process: the process.
        connection: our end of the pipe to it.
        property_index: the index of the property that it judges now; None if it has none.
    """

    process: ForkProcess
    connection: Connection[Any, Any]
    property_index: int | None = None


@dataclass(slots=True)
class _Result:
    """What a process sent about one property.

    Attributes:
        records: the calls of the recorder, in order.
        reports: pytest's reports, as it serializes them.
        is_complete: whether the property was judged to its end.
        is_alone: whether this process is to judge it, after all others.
    """

    records: list[RecorderCall] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    is_complete: bool = False
    is_alone: bool = False


class Shares:
    """Several processes that judge properties of one target."""

    def __init__(self, items: Sequence[pytest.Item], *, jobs: int, is_near: bool = False) -> None:
        """Judge nothing yet.

        Args:
            items: the properties.
            jobs: how many processes judge them.
            is_near: whether only what conforms is taken, and the rest is left to be judged alone.
        """
        self._items = items
        self._jobs = jobs
        self._is_near = is_near
        self._config = items[0].config
        self._session = items[0].session
        self._results = [_Result(is_alone=is_near and _needs_quiet(item)) for item in items]
        self._waiting: dict[str, deque[int]] = {}
        # Those of a near target take about the same time, and come in the order in which they are shown.
        order = range(len(items)) if is_near else sorted(range(len(items)), key=self._urgency)
        for index in order:
            if not self._results[index].is_alone:
                self._waiting.setdefault(chosen_of(items[index]).id, deque()).append(index)
        self._taken = 0
        self._shares: list[_Share] = []

    def judge(self) -> list[pytest.Item]:
        """Judge every property but those that are to be judged alone; no process is left when this method returns or raises.

        Returns:
            Those that are to be judged alone, in their order.

        Raises:
            pytest.Session.Failed: as many properties failed as `--maxfail` allows.
            pytest.Session.Interrupted: something else ends the run.
            KeyboardInterrupt: the run was interrupted; what was judged by then is recorded.
        """
        try:
            for _ in range(min(self._jobs, len(self._items))):
                self._start()
            while self._shares:
                self._receive()
                INTERRUPTS.check()
                self._take_complete()
            return [
                item
                for item, result in zip(self._items, self._results, strict=True)
                if result.is_alone
            ]
        except KeyboardInterrupt:
            # First, because recording takes seconds on a machine on which they are still busy.
            self._end_all()
            # What was sent about properties that were not taken.
            for result in self._results[self._taken :]:
                if not result.is_alone:
                    self._record(result)
            raise
        finally:
            self._end_all()

    def _end_all(self) -> None:
        """End the processes; they own nothing but their connections."""
        for share in self._shares:
            share.process.kill()
        for share in self._shares:
            share.process.join()
            share.connection.close()
        self._shares.clear()

    def _urgency(self, index: int) -> tuple[bool, int]:
        """Return what properties are begun in the order of, the longest first.

        These are sweeps, and properties whose examples run one by one; then those whose pinned examples wait most often.
        """
        item = self._items[index]
        is_long = any(map(item.get_closest_marker, (marks.SWEPT, marks.IN_ORDER)))
        test = item.obj  # type: ignore[attr-defined]
        return not is_long, -sum(map(_waits, pinned_examples(test)))

    def _next(self, listener: str = "") -> int | None:
        """Return the index of the next property; None if there is none.

        It is one of the same listener, if one is left. Otherwise it is one of the listener that has most left, and that no other process judges.
        """
        if not self._waiting.get(listener):
            judged = {
                chosen_of(self._items[share.property_index]).id
                for share in self._shares
                if share.property_index is not None
            }
            listener = max(
                (name for name, left in self._waiting.items() if left),
                key=lambda name: (name not in judged, len(self._waiting[name])),
                default="",
            )
        left = self._waiting.get(listener)
        return left.popleft() if left else None

    def _start(self) -> None:
        index = self._next()
        if index is None:
            return
        fork = multiprocessing.get_context("fork")
        ours, theirs = fork.Pipe()
        ends = [*(share.connection for share in self._shares), ours]
        kept = ConformingRecorder if self._is_near else SentRecorder
        process = fork.Process(
            target=judge_share, args=(self._items, theirs, ends, kept), daemon=True
        )
        process.start()
        theirs.close()
        share = _Share(process, ours)
        self._shares.append(share)
        self._assign(share, index)

    def _assign(self, share: _Share, index: int | None) -> None:
        share.property_index = index
        if index is None:
            self._shares.remove(share)
            share.connection.close()
            share.process.join()
        else:
            # If the process has ended meanwhile, nothing comes from it any more, and it is replaced.
            with suppress(ConnectionError):
                share.connection.send(index)

    def _receive(self) -> None:
        """Wait for processes to send something, and keep it."""
        by_connection = {share.connection: share for share in self._shares}
        for ready in wait(list(by_connection), timeout=POLL_S):
            share = by_connection[ready]  # type: ignore[index]
            assert share.property_index is not None
            result = self._results[share.property_index]
            try:
                kind, content = share.connection.recv()
            except (EOFError, ConnectionError):
                self._replace(share)
                continue
            if kind == RECORD:
                result.records += content
            elif kind == REPORT:
                result.reports.append(content)
            else:
                assert kind in (DONE, ALONE)
                result.is_complete, result.is_alone = True, kind == ALONE
                self._assign(share, self._next(chosen_of(self._items[share.property_index]).id))

    def _replace(self, share: _Share) -> None:
        """Make the property of a process that has ended inconclusive, or judge it alone if the target is near; start another process."""
        assert share.property_index is not None
        share.process.join()
        item, result = self._items[share.property_index], self._results[share.property_index]
        if self._is_near:
            result.is_alone = True
        else:
            self._cannot_say(item, result, share.process.exitcode)
        result.is_complete = True
        self._shares.remove(share)
        share.connection.close()
        self._start()

    def _cannot_say(self, item: pytest.Item, result: _Result, status: int | None) -> None:
        """Make a property inconclusive whose process ended with a status."""
        chosen = chosen_of(item)
        name = str(item.function.__name__)  # type: ignore[attr-defined]
        reason = (
            f"the process that judged {name} ended with status {status}, before it was done; this is a bug "
            "in this suite or a lack of memory. --jobs 1 needs the least"
        )
        for clause in clauses_of(item):
            key = CellKey(clause.id, chosen.target.id, chosen.listener)
            result.records.append(("inconclusive", (key, name, reason), {}))
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", "inconclusive: " + reason, "call"
        )
        result.reports = [
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        ]

    def _take_complete(self) -> None:
        """Record and report the next properties, up to the first that is not complete; those that are to be judged alone come later."""
        while self._taken < len(self._items):
            item, result = self._items[self._taken], self._results[self._taken]
            if not (result.is_complete or result.is_alone):
                break
            self._taken += 1
            if result.is_alone:
                continue
            self._record(result)
            self._report(item, result)
            note_progress(self._session)
            _end_if_asked(self._session)

    def _record(self, result: _Result) -> None:
        recorder: RunRecorder = self._config.stash[RECORDER]
        for name, arguments, named in result.records:
            getattr(recorder, name)(*arguments, **named)
        result.records.clear()

    def _report(self, item: pytest.Item, result: _Result) -> None:
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in result.reports:
            report = self._config.hook.pytest_report_from_serializable(
                config=self._config, data=data
            )
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _needs_quiet(item: pytest.Item) -> bool:
    return item.get_closest_marker(marks.QUIET) is not None


def judge_in_turn(items: Sequence[pytest.Item], following: pytest.Item | None = None) -> None:
    """Judge properties one after the other, as pytest does.

    Args:
        items: the properties.
        following: the one that comes after them; None if they are the last ones.

    Raises:
        pytest.Session.Failed: as many properties failed as `--maxfail` allows.
        pytest.Session.Interrupted: something else ends the run.
    """
    for item, after in zip(items, (*items[1:], following), strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
        _end_if_asked(item.session)


def _end_if_asked(session: pytest.Session) -> None:
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _waits(values: Mapping[str, Any]) -> int:
    """Return about how often an example waits for the target, one time after the other: once for each element of a list."""
    lists = [value for value in values.values() if isinstance(value, list | tuple)]
    return max([1, *map(len, lists)])


@contextmanager
def fixtures_of(item: pytest.Item) -> Iterator[None]:
    """Set up an item's fixtures; those of the session stay for the items that share them."""
    try:
        item.ihook.pytest_runtest_setup(item=item)
        yield
    finally:
        item.ihook.pytest_runtest_teardown(item=item, nextitem=item.session)
