"""Judgement of a distant target's properties in several processes.

The processes wait for its responses at the same time.

This process collects the properties, and starts and measures the target. Then it forks: each process judges one
property after the other, and sends everything that it would record to this one, which alone keeps the run folder and
the terminal. Results are taken in the order of the properties, so a run looks the same whatever the number of processes
is.

A process that ends before its property does makes that property inconclusive, and another one takes its place.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, cast

import pytest

from clauses import marks
from conformance.engine.planning import chosen_of
from fixtures.cleanup.ending_signals import INTERRUPTS, leave_to_parent
from reports.plugin import RECORDER, clauses_of, note_progress
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from strategies.hypothesis_adapter import pinned_examples

RECORD, REPORT, DONE = "record", "report", "done"
"""The kinds of messages: a call of the recorder, a report of pytest, and the end of a property."""

_Send = Callable[[tuple[str, Any]], None]


POLL_S = 1.0
"""Longest wait before an interrupt is looked for again."""


class _SentRecorder:
    """A recorder whose calls are also sent; the process that receives them repeats them on its own recorder."""

    def __init__(self, recorder: RunRecorder, send: _Send) -> None:
        """Record from now on without writing to the run folder, which the other process keeps."""
        recorder.writer.keep_nothing()
        self._recorder = recorder
        self._send = send

    def __getattr__(self, name: str) -> Any:
        known = getattr(self._recorder, name)
        if not callable(known):
            return known

        def record(*arguments: Any, **named: Any) -> Any:
            self._send((RECORD, (name, arguments, named)))
            return known(*arguments, **named)

        return record


class _SentReports:
    """A plugin that sends pytest's reports."""

    def __init__(self, config: pytest.Config, send: _Send) -> None:
        self._config = config
        self._send = send

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report in the form that pytest has for other processes."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._send((REPORT, data))


def _judge_share(
    items: Sequence[pytest.Item],
    parent: Connection[Any, Any],
    others: Sequence[Connection[Any, Any]],
) -> None:
    """Judge the properties whose indexes the parent sends, until it closes the connection; then end this process.

    Args:
        items: all properties of the listener.
        parent: the connection to the parent.
        others: the parent's ends of all connections, which this process inherits and must not keep open.
    """
    # The parent ends its processes when it is interrupted.
    leave_to_parent()
    for other in others:
        other.close()

    def send(message: tuple[str, Any]) -> None:
        try:
            parent.send(message)
        except OSError:
            # The parent is gone, and what is judged from now on is lost.
            os._exit(1)

    config = items[0].config
    config.stash[RECORDER] = cast("RunRecorder", _SentRecorder(config.stash[RECORDER], send))
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_SentReports(config, send))
    while True:
        try:
            index = parent.recv()
        except EOFError:
            return
        item = items[index]
        # The next property is not known yet. The session in its place keeps the fixtures that all of them share.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=item.session)
        send((DONE, None))


@dataclass(slots=True)
class Share:
    """A process that judges one property after the other.

    Attributes:
        process: the process.
        connection: our end of the pipe to it.
        property_index: the index of the property that it judges now; None if it has none.
    """

    process: ForkProcess
    connection: Connection[Any, Any]
    property_index: int | None = None


StartShare = Callable[[Sequence[pytest.Item], Sequence["Connection[Any, Any]"]], Share]
"""Starts a process for some properties, given our ends of the connections to the others."""


def fork_share(items: Sequence[pytest.Item], others: Sequence[Connection[Any, Any]]) -> Share:
    """Fork a process that judges the properties whose indexes it is sent."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_judge_share, args=(items, theirs, [*others, ours]), daemon=True)
    process.start()
    theirs.close()
    return Share(process, ours)


@dataclass(slots=True)
class _Result:
    """What a process sent about one property.

    Attributes:
        records: the calls of the recorder, in order: name, arguments, named arguments.
        reports: pytest's reports, as it serializes them.
        is_complete: whether the property was judged to its end.
    """

    records: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    is_complete: bool = False


class Shares:
    """Several processes that judge properties which share their fixtures."""

    def __init__(self, items: Sequence[pytest.Item], *, jobs: int, start_share: StartShare = fork_share) -> None:
        self._items = items
        self._start_share = start_share
        self._jobs = jobs
        self._config = items[0].config
        self._session = items[0].session
        self._results = [_Result() for _ in items]
        self._waiting = iter(sorted(range(len(items)), key=self._urgency))
        self._taken = 0
        self._shares: list[Share] = []

    def judge(self) -> None:
        """Judge every property; no process is left when this method returns or raises.

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
        except KeyboardInterrupt:
            # First, because recording takes seconds on a machine on which they are still busy.
            self._end_all()
            # What was sent about properties that were not taken.
            for result in self._results[self._taken :]:
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

        These are sweeps, and properties whose examples run one by one; then those whose pinned examples wait most
        often.
        """
        item = self._items[index]
        is_long = any(map(item.get_closest_marker, (marks.SWEPT, marks.IN_ORDER)))
        test = item.obj  # type: ignore[attr-defined]
        return not is_long, -sum(map(_waits, pinned_examples(test)))

    def _start(self) -> None:
        index = next(self._waiting, None)
        if index is None:
            return
        share = self._start_share(self._items, [share.connection for share in self._shares])
        self._shares.append(share)
        self._assign(share, index)

    def _assign(self, share: Share, index: int | None) -> None:
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
                result.records.append(content)
            elif kind == REPORT:
                result.reports.append(content)
            else:
                assert kind == DONE
                result.is_complete = True
                self._assign(share, next(self._waiting, None))

    def _replace(self, share: Share) -> None:
        """Make the property of a process that has ended inconclusive, and start another process."""
        assert share.property_index is not None
        share.process.join()
        item, result = self._items[share.property_index], self._results[share.property_index]
        chosen = chosen_of(item)
        name = str(item.function.__name__)  # type: ignore[attr-defined]
        reason = (
            f"the process that judged {name} ended with status {share.process.exitcode}, before it was done; this is a bug "
            "in this suite or a lack of memory. --jobs 1 needs the least"
        )
        for clause in clauses_of(item):
            key = CellKey(clause.id, chosen.target.id, chosen.listener)
            result.records.append(("inconclusive", (key, name, reason), {}))
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", "inconclusive: " + reason, "call")
        result.reports = [self._config.hook.pytest_report_to_serializable(config=self._config, report=report)]
        result.is_complete = True
        self._shares.remove(share)
        share.connection.close()
        self._start()

    def _take_complete(self) -> None:
        """Record and report the next properties, up to the first that is not complete."""
        while self._taken < len(self._items) and self._results[self._taken].is_complete:
            item, result = self._items[self._taken], self._results[self._taken]
            self._taken += 1
            self._record(result)
            self._report(item, result)
            note_progress(self._session)
            if self._session.shouldfail:
                raise self._session.Failed(self._session.shouldfail)
            if self._session.shouldstop:
                raise self._session.Interrupted(self._session.shouldstop)

    def _record(self, result: _Result) -> None:
        recorder: RunRecorder = self._config.stash[RECORDER]
        for name, arguments, named in result.records:
            getattr(recorder, name)(*arguments, **named)
        result.records.clear()

    def _report(self, item: pytest.Item, result: _Result) -> None:
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in result.reports:
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _waits(values: Mapping[str, Any]) -> int:
    """Return about how often an example waits for the target.

    The waits follow each other: one for each element of a list.
    """
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
