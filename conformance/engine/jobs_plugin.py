"""Pytest option `--jobs`: how many processes judge a target at the same time."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby

import psutil  # type: ignore[import-untyped]
import pytest
from _pytest.terminal import TerminalReporter

from conformance.engine.examples_ahead import examples_at_once
from conformance.engine.planning import chosen_of, is_judged, note_started
from conformance.engine.shares import Shares, fixtures_of, judge_in_turn
from fixtures.choosing.clients import tries_operations
from fixtures.choosing.listeners import (
    IS_SHARED,
    ListenerOfTarget,
    connections_per_second_of,
    kind_of,
)
from fixtures.errors import HarnessError
from fixtures.tiers import EXPECTED, expected_duration, tier_in
from fixtures.under_test.broker import Broker
from reports.plugin import RECORDER

MOST_JOBS = 16
"""Processes for a far target at most, if no number is given: two cores have enough to do with them."""
BUSY_PERCENT = 50.0
"""Use of all processors at the start of a run with which one process judges a near target, if no number is given."""
MEASURED_S = 0.2
"""For how long that is measured."""
WORTH_A_PROCESS_S = 0.02
"""Seconds of waiting in a plain exchange for which one more process is worth it. It takes 1 to 3 ms on one machine."""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes: give 1 or more")
    return int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("kafka-conformance")
    group.addoption(
        "--jobs",
        type=_number,
        metavar="N",
        help="how many processes judge a broker at the same time; default: for a near one as many as there are cores, at most its "
        f"listeners, and 1 on a busy machine; for one that is far away up to {MOST_JOBS}",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse several processes for what cannot be shared."""
    jobs = config.getoption("--jobs")
    if jobs is not None and tries_operations(config):
        raise pytest.UsageError(
            "--jobs is about the properties of a broker, and this run tries operations of clients: leave it out"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Judge each target in several processes if that is worth it; leave a run in which no target is to pytest."""
    given = session.config.getoption("--jobs")
    if given == 1 or not _can_be_shared(session):
        return None
    groups = [list(items) for _, items in groupby(session.items, key=_target_of)]
    # Before a target starts, which keeps the machine busy for a moment.
    near = [given or fitting_near(group) for group in groups]
    if not _is_given(session.config) and set(near) == {1}:
        return None
    firsts = (*(group[0] for group in groups[1:]), None)
    for group, jobs, following in zip(groups, near, firsts, strict=True):
        _judge(group, given, jobs, following)
    return True


def _judge(
    items: Sequence[pytest.Item], given: int | None, near: int, following: pytest.Item | None
) -> None:
    """Judge the properties of one target.

    Args:
        items: the properties.
        given: how many processes a user wants; None if that was not said.
        near: how many processes judge it if it is near.
        following: the first property of the next target.
    """
    broker = _started(items[0])
    if broker is None:
        judge_in_turn(items, following)
        return
    far = fitting_jobs(broker) if _is_given(items[0].config) else 1
    if far > 1 or (given and broker.patience.round_trip_s):
        _judge_far(items, given or far)
    elif near > 1:
        _judge_near(items, broker, near, following)
    else:
        judge_in_turn(items, following)


def _judge_far(items: Sequence[pytest.Item], jobs: int) -> None:
    """Judge one listener after the other, each in several processes."""
    for _, of_listener in groupby(items, key=chosen_of):
        group = list(of_listener)
        broker = _started(group[0])
        if broker is not None:
            broker.share()
            _announce(broker, group[0].config, jobs)
        Shares(group, jobs=jobs).judge()


def _judge_near(
    items: Sequence[pytest.Item], broker: Broker, jobs: int, following: pytest.Item | None
) -> None:
    """Judge all listeners in several processes, and alone what does not conform or needs a quiet target."""
    config, listeners = items[0].config, len({chosen_of(item).id for item in items})
    what = f"{jobs} processes judge its {listeners} listeners; --jobs 1 judges one after the other"
    _say(config, f"{broker.target.id}: {what}")
    config.stash[IS_SHARED] = True
    broker.share()
    alone = Shares(items, jobs=jobs, is_near=True).judge()
    config.stash[IS_SHARED] = False
    take_back(broker)
    judge_in_turn(alone, following)


def take_back(broker: Broker) -> None:
    """Let this process alone judge a target from now on; start it again if the others left it without an answer.

    One that we did not start stays shared then, because it is not known which request was to blame. If it does not start again, the properties
    that are left meet the same error.
    """
    broker.is_shared = False
    with suppress(HarnessError):
        if broker.is_responsive():
            return
    if broker.can_restart:
        with suppress(HarnessError):
            broker.restart()
    else:
        broker.is_shared = True


def _target_of(item: pytest.Item) -> str:
    return chosen_of(item).target.id


def _is_given(config: pytest.Config) -> bool:
    """Return whether the targets are at addresses."""
    return any(
        config.getoption(option) for option in ("--bootstrap-server", "--bootstrap-controller")
    )


def _can_be_shared(session: pytest.Session) -> bool:
    is_over = session.testsfailed or session.config.option.collectonly
    # An operation of a client has processes of its own.
    are_of_listeners = all(
        is_judged(item) and isinstance(chosen_of(item), ListenerOfTarget) for item in session.items
    )
    return not is_over and bool(session.items) and are_of_listeners


def _started(first: pytest.Item) -> Broker | None:
    """Start and measure the target of a property, and record that; return None if that fails: the properties meet the same error."""
    try:
        with fixtures_of(first):
            broker: Broker = first.funcargs["broker"]  # type: ignore[attr-defined]
            running, recorder = broker.running, first.config.stash[RECORDER]
            note_started(recorder, broker.target, running.launcher, running.artefacts)
            return broker
    except (HarnessError, pytest.fail.Exception, pytest.skip.Exception):
        return None


def _say(config: pytest.Config, line: str) -> None:
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(line)


def _announce(broker: Broker, config: pytest.Config, jobs: int) -> None:
    """Say how many processes judge a listener, and for about how long, now that its distance is known."""
    at_once = examples_at_once(broker)
    expected = EXPECTED[tier_in(config), kind_of(config)]
    duration = expected_duration(
        expected.connections,
        per_second=connections_per_second_of(config),
        jobs=jobs,
        examples_at_once=at_once,
        exchange_s=broker.exchange_s,
        further_requests=expected.requests - expected.connections,
        # Of a far target, an exchange is two round trips: one for the connection, one for the answer.
        own_delay_s=max(broker.exchange_s - 2 * broker.patience.round_trip_s, 0.0),
    )
    each = f", each {at_once} examples at the same time" if at_once > 1 else ""
    _say(
        config,
        f"{broker.target.id} {broker.listener}: an exchange takes {broker.exchange_s:.3f} s; {jobs} processes judge it{each}, for "
        f"about {duration}",
    )


def fitting_near(items: Sequence[pytest.Item]) -> int:
    """Return how many processes should judge the properties of a near target: as many as there are cores, at most its listeners."""
    listeners = len({chosen_of(item).id for item in items})
    most = min(os.cpu_count() or 1, listeners)
    is_busy = most > 1 and psutil.cpu_percent(MEASURED_S) > BUSY_PERCENT
    return 1 if is_busy else most


def fitting_jobs(broker: Broker) -> int:
    """Return how many processes should judge a listener: more the longer it takes to answer, if answers come side by side."""
    deserved = min(1 + int(broker.exchange_s / WORTH_A_PROCESS_S), MOST_JOBS)
    if deserved == 1:
        return 1
    # A target that is near and slow may answer one request after the other.
    side_by_side = deserved * broker.exchange_s / broker.seconds_at_once(deserved)
    return max(1, min(deserved, round(side_by_side)))
