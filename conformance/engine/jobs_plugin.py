"""Pytest option `--jobs`: processes that judge one target at an address at once.

They are forked after collection, with the target's fixtures set up. So they cost no start of the suite, all inherit the
same seeds, and none starts a target. Each sends its calls of the recorder and its reports of pytest to the process that
forked it, which repeats them in the order of the properties: one run folder, one terminal, one exit status.

A near target is judged by one process. Several were built and measured on two cores: Apache Kafka 4.4.0 took 87 s
instead of 100, because suite and broker already use one core between them. A target for each process takes longer
still: its JVM starts and compiles again. Whatever does not conform would have to be judged again alone, and so would
what another process saw and what does not come back.
"""

from __future__ import annotations

import argparse
from itertools import groupby

import pytest
from _pytest.terminal import TerminalReporter

from conformance.engine.examples_ahead import examples_at_once
from conformance.engine.planning import chosen_of, is_judged, note_started
from conformance.engine.shares import Shares, fixtures_of
from fixtures.choosing.clients import tries_operations
from fixtures.choosing.listeners import ListenerOfTarget, connections_per_second_of, kind_of
from fixtures.errors import HarnessError
from fixtures.run_size import RUN_SIZES, expected_duration, near_per_second, tier_in
from fixtures.under_test.broker import Broker
from reports.plugin import RECORDER

MAX_JOBS = 16
"""Processes at most, if no number is given: two cores have enough to do with them."""
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
        help="how many processes judge the broker at an address at the same time; default: 1 for a near one, and up to "
        f"{MAX_JOBS} for one that is far away",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse several processes for what cannot be shared."""
    jobs = config.getoption("--jobs")
    if jobs is not None and tries_operations(config):
        raise pytest.UsageError(
            "--jobs is about the properties of a broker, and this run tries operations of clients: leave it out"
        )
    if jobs is not None and jobs > 1 and not _is_given(config):
        raise pytest.UsageError(
            f"--jobs {jobs} needs --bootstrap-server or --bootstrap-controller: a target that the suite starts is judged by "
            "one process"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Judge the properties of each listener in several processes if that is worth it; otherwise leave it to pytest."""
    config = session.config
    given = config.getoption("--jobs")
    if given == 1 or not _is_given(config) or not _can_be_shared(session):
        return None
    for _, items in groupby(session.items, key=chosen_of):
        group = list(items)
        jobs = _prepare(group[0], given)
        if given is None and jobs == 1:
            return None
        given = jobs
        Shares(group, jobs=jobs).judge()
    return True


def _is_given(config: pytest.Config) -> bool:
    """Return whether the targets are at addresses."""
    return any(config.getoption(option) for option in ("--bootstrap-server", "--bootstrap-controller"))


def _can_be_shared(session: pytest.Session) -> bool:
    is_over = session.testsfailed or session.config.option.collectonly
    # An operation of a client has processes of its own.
    are_of_listeners = all(is_judged(item) and isinstance(chosen_of(item), ListenerOfTarget) for item in session.items)
    return not is_over and bool(session.items) and are_of_listeners


def _prepare(first: pytest.Item, number: int | None) -> int:
    """Start and measure the target of the first property; return how many processes should judge it."""
    try:
        with fixtures_of(first):
            broker: Broker = first.funcargs["broker"]  # type: ignore[attr-defined]
            jobs = fitting_jobs(broker) if number is None else number
            if jobs > 1:
                broker.share()
                _announce(first.config, broker, jobs)
                running, recorder = broker.running, first.config.stash[RECORDER]
                note_started(recorder, broker.target, running.launcher, running.artefacts, running.start)
            return jobs
    except (HarnessError, pytest.fail.Exception, pytest.skip.Exception):
        # The properties meet the same error, and report it.
        return number or 1


def _announce(config: pytest.Config, broker: Broker, jobs: int) -> None:
    """Say how many processes judge a listener, and for about how long, now that its distance is known."""
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    at_once = examples_at_once(broker)
    expected = RUN_SIZES[tier_in(config), kind_of(config)]
    duration = expected_duration(
        expected.connections,
        per_second=connections_per_second_of(config),
        near_per_second=near_per_second(),
        jobs=jobs,
        examples_at_once=at_once,
        exchange_s=broker.exchange_s,
        further_requests=expected.requests - expected.connections,
        # Of a far target, an exchange is two round trips: one for the connection, one for the answer.
        own_delay_s=max(broker.exchange_s - 2 * broker.patience.round_trip_s, 0.0),
    )
    each = f", each {at_once} examples at the same time" if at_once > 1 else ""
    reporter.write_line(
        f"{broker.target.id} {broker.listener}: an exchange takes {broker.exchange_s:.3f} s; {jobs} processes judge it{each}, for "
        f"about {duration}"
    )


def fitting_jobs(broker: Broker) -> int:
    """Return how many processes should judge a listener.

    The number grows with the time of a response, if the target answers requests in parallel.
    """
    deserved = min(1 + int(broker.exchange_s / WORTH_A_PROCESS_S), MAX_JOBS)
    if deserved == 1:
        return 1
    # A target that is near and slow may answer one request after the other.
    side_by_side = deserved * broker.exchange_s / broker.seconds_at_once(deserved)
    return max(1, min(deserved, round(side_by_side)))
