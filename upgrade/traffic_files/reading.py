"""Reads captures, request logs and metrics; says what they mean for releases."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixtures.cleanup.ending_signals import heeded_signals
from upgrade.prediction.observed_requests import ObservedRequests
from upgrade.prediction.releases import Release
from upgrade.prediction.report import WatchReport, report_of
from upgrade.traffic_files.captures import read_captures
from upgrade.traffic_files.metrics import read_metrics
from upgrade.traffic_files.request_logs import add_counted, follow_request_logs, read_request_logs
from wire.request_log_counts import LogCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficFiles:
    """Captures, request logs and metrics to read.

    Attributes:
        captures: packet captures, in the order in which they were written.
        request_logs: request logs of brokers, in any order.
        metrics: pages of metrics of brokers, one for each broker: files or addresses.
        counted: the counts of another program that has read further request logs; None for none.
        follow: whether to read on while the request logs grow, until a signal.
        time_s: how long to follow them; None for no limit.
    """

    captures: Sequence[Path] = ()
    request_logs: Sequence[Path] = ()
    metrics: Sequence[str] = ()
    counted: LogCounts | None = None
    follow: bool = False
    time_s: float | None = None


def report_of_files(
    files: TrafficFiles, releases: Sequence[Release], on_report: Callable[[WatchReport], None]
) -> WatchReport:
    """Return what files mean for releases; `on_report` gets the report so far while logs are followed.

    Raises:
        UnusableSource: a file cannot be read, or is something else.
    """
    observed = ObservedRequests()
    shown_count = 0

    def after_look() -> None:
        nonlocal shown_count
        count = sum(observed.of(each).requests.total() for each in observed.clients)
        if count != shown_count:
            shown_count = count
            on_report(report_of(observed, observed.versions_of_all, releases))

    for sentence in read_files(files, observed, after_look):
        observed.note_limit(sentence)
    return report_of(observed, observed.versions_of_all, releases)


def read_files(
    files: TrafficFiles, observed: ObservedRequests, on_read: Callable[[], None] = lambda: None
) -> list[str]:
    """Read files into observed requests.

    To follow logs, call it in the main thread, because signals arrive there.

    Args:
        files: the files.
        observed: gets the requests, and the tables of versions that the brokers answered.
        on_read: called after each look at logs that are followed.

    Returns:
        Sentences about what these sources cannot show, and what was not read.

    Raises:
        UnusableSource: a file cannot be read, or is something else.
    """
    sentences: list[str] = []
    if files.captures:
        sentences += read_captures(files.captures, observed)
    if files.metrics:
        sentences += read_metrics(files.metrics, observed)
    if files.request_logs and files.follow:
        with _ended_by_signal(files.time_s) as until:
            sentences += follow_request_logs(files.request_logs, observed, until, on_read)
    elif files.request_logs:
        sentences += read_request_logs(files.request_logs, observed)
    if files.counted is not None:
        sentences += add_counted(files.counted, observed)
    return sentences


@contextlib.contextmanager
def _ended_by_signal(time_s: float | None) -> Iterator[threading.Event]:
    """Yield an event that is set by a signal or after a time limit.

    Signals have their usual effect again after the block.
    """
    until = threading.Event()
    before = {each: signal.signal(each, lambda *_: until.set()) for each in heeded_signals()}
    timer = None if time_s is None else threading.Timer(time_s, until.set)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield until
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
