"""What runs in a process that judges a share of the properties of one target: it keeps no records, and sends all that would be one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, cast

import pytest
from _pytest.outcomes import Skipped

from fixtures.cleanup.ending_signals import leave_to_parent
from reports.plugin import RECORDER
from reports.records import Verdict
from reports.run.judged_examples import CellKey, JudgedExample
from reports.run.recorder import RunRecorder

RECORD, REPORT, DONE, ALONE = "record", "report", "done", "alone"
"""The kinds of messages: calls of the recorder, a report of pytest, the end of a property, and that of one to be judged again alone."""

_Send = Callable[[tuple[str, Any]], None]
RecorderCall = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A call of the recorder: name, arguments, named arguments."""


class SentRecorder:
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
            self._keep((name, arguments, named))
            return known(*arguments, **named)

        return record

    def _keep(self, call: RecorderCall) -> None:
        self._send((RECORD, [call]))

    def end_property(self) -> str:
        """Return the kind of message that ends a property."""
        return DONE


class JudgedAlone(Skipped):
    """A property is to be judged again alone; Hypothesis passes it on at once, and shrinks nothing."""


class ConformingRecorder(SentRecorder):
    """A recorder of what conforms, which is sent when a property ends; one that does anything else is to be judged again alone."""

    def __init__(self, recorder: RunRecorder, send: _Send) -> None:
        super().__init__(recorder, send)
        self._calls: list[RecorderCall] = []
        self._is_alone = False

    def judged(self, example: JudgedExample) -> None:
        """Record an example that conforms.

        Raises:
            JudgedAlone: it does not.
        """
        if example.verdict is not Verdict.CONFORMS:
            self._is_alone = True
            raise JudgedAlone
        self.__getattr__("judged")(example)

    def inconclusive(self, key: CellKey, property_name: str, reason: str) -> None:
        """Note that a property could not be judged."""
        self._is_alone = True

    def problem(self, key: CellKey, reason: str) -> None:
        """Note that an example could not be judged."""
        self._is_alone = True

    def _keep(self, call: RecorderCall) -> None:
        # Sent together, what examples have in common is sent once.
        self._calls.append(call)

    def end_property(self) -> str:
        """Send what conforms; return the kind of message that ends the property."""
        calls, self._calls = self._calls, []
        is_alone, self._is_alone = self._is_alone, False
        if is_alone:
            return ALONE
        self._send((RECORD, calls))
        return DONE


class _SentReports:
    """A plugin that sends pytest's reports."""

    def __init__(self, config: pytest.Config, send: _Send) -> None:
        self._config = config
        self._send = send

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report in the form that pytest has for other processes."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._send((REPORT, data))


def judge_share(
    items: Sequence[pytest.Item],
    parent: Connection[Any, Any],
    others: Sequence[Connection[Any, Any]],
    recorder_type: type[SentRecorder],
) -> None:
    """Judge the properties whose indexes the parent sends, until it closes the connection; then end this process.

    Args:
        items: all properties of the listener.
        parent: the connection to the parent.
        others: the parent's ends of all connections, which this process inherits and must not keep open.
        recorder_type: what it sends of its records.
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
    recorder = recorder_type(config.stash[RECORDER], send)
    config.stash[RECORDER] = cast("RunRecorder", recorder)
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
        send((recorder.end_property(), None))
