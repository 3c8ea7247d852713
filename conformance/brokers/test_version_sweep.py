"""Every int16 version of ApiVersions that is not served, one by one.

A broker keeps a metric for each version that it was ever asked in, so that this runs in the deep tier alone and
behind all other modules; and each sweep on a broker that was asked nothing before, where it is ours to start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import pytest

from conformance.examples import JUDGE, PropertyJudge
from conformance.judging import MalformedAnswer, error_code_of
from conformance.repeating import FailingExample
from conformance.sweeping import ranges
from fixtures.broker import Broker
from strategies.api_versions import INT16_MIN, build_request
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome
from wire.primitives import INT16_MAX

BATCH = 512
"""Versions that go pipelined on one connection: their requests and answers fit into the buffers between us."""
MOST_LOST = 8
"""Connections that a batch may cost: a target that fails so often fails always. A silence is the last, since it
costs the silence bound, and a target that is silent often uses up its patience for what comes behind."""


def batches(versions: range) -> Iterator[range]:
    """Cut versions into batches."""
    for first in range(versions.start, versions.stop, BATCH):
        yield range(first, min(first + BATCH, versions.stop))


def ask(broker: Broker, versions: Sequence[int]) -> tuple[Exchange, ...]:
    """Ask for versions in a row, whose answers must all be UNSUPPORTED_VERSION.

    Behind a version that costs the connection the others are asked on a new one, but not behind silence.

    Raises:
        AssertionError: one is not; it names all of them.
    """
    judged: list[Exchange] = []
    wrong: list[int] = []
    lost = 0
    while len(judged) < len(versions) and lost < MOST_LOST:
        left = versions[len(judged) :]
        with broker.connect() as connection:
            exchanges = connection.converse([build_request(version=each) for each in left])
        answered = list(takewhile(lambda each: each.outcome is Outcome.ANSWER, exchanges))
        first_lost = exchanges[len(answered) : len(answered) + 1]
        judged += (*answered, *first_lost)
        wrong += [each.request.api_version for each in answered if not is_refused(each)]
        wrong += [each.request.api_version for each in first_lost]
        lost += sum(MOST_LOST if each.outcome is Outcome.SILENT else 1 for each in first_lost)
    unasked = ranges(versions[len(judged) :])
    behind = f"; not judged behind them: {unasked}" if unasked else ""
    assert not wrong, f"no UNSUPPORTED_VERSION for {ranges(wrong)}{behind}"
    return tuple(judged)


def is_refused(exchange: Exchange) -> bool:
    """Tell whether an answer is UNSUPPORTED_VERSION; one that is too short for an error code is not."""
    try:
        return error_code_of(exchange) is ErrorCode.UNSUPPORTED_VERSION
    except MalformedAnswer:
        return False


def ask_again(broker: Broker, versions: Sequence[int]) -> None:
    """Ask for versions once more, alone."""
    ask(broker, versions)


def start_afresh(broker: Broker) -> None:
    """Go on with a broker that nothing was sent to, where it is ours to start."""
    if broker.can_restart:
        broker.restart()
        broker.calibrate()


def ask_all(judge: PropertyJudge, broker: Broker, versions: range) -> None:
    """Ask a fresh broker for versions batch by batch; each batch is one example.

    Raises:
        AssertionError: a version is not refused. The batches behind it are judged all the same.
    """
    start_afresh(broker)
    for batch in batches(versions):
        broker.forget()
        try:
            judge.conforms(ask(broker, batch))
        except AssertionError as error:
            example = FailingExample(ask_again, {"broker": broker, "versions": batch})
            judge.differs(error, tuple(broker.journal), example)
    judge.raise_first()


@pytest.mark.deep
@pytest.mark.swept
@pytest.mark.exhaustive
@pytest.mark.malformed
@pytest.mark.listeners("plaintext", "controller")
@pytest.mark.clause("KIP-35.unknown-version-gives-35")
def test_every_unknown_version_gets_unsupported_version(broker: Broker) -> None:
    """Each version from the first one that is not served up to 32767 gets UNSUPPORTED_VERSION."""
    ask_all(JUDGE.get(), broker, range(broker.max_version + 1, INT16_MAX + 1))


@pytest.mark.deep
@pytest.mark.swept
@pytest.mark.exhaustive
@pytest.mark.malformed
@pytest.mark.listeners("plaintext", "controller")
@pytest.mark.clause("KIP-35.negative-version-gives-35")
def test_every_negative_version_gets_unsupported_version(broker: Broker) -> None:
    """Each version from -32768 to -1 gets UNSUPPORTED_VERSION."""
    ask_all(JUDGE.get(), broker, range(INT16_MIN, 0))
