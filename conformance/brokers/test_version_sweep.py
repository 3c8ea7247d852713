"""Every int16 version of ApiVersions that is not served, one by one.

A broker keeps a metric for each version that it was ever sent, so these sweeps run only in the deep tier and after
all other modules. Each sweep starts with a fresh broker, if we can start one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

import pytest

from conformance.brokers.vocabulary import *

BATCH = 512
"""Versions that are pipelined on one connection; their requests and responses fit into the socket buffers."""
MAX_FAILED = 64
"""A sweep stops after this many failures."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The fewest versions that fail on a connection of their own, the problem, and the steps that show it."""

    versions: Sequence[int]
    what: str
    steps: tuple[Step, ...]


def batches(versions: range) -> Iterator[range]:
    """Split versions into batches."""
    for first in range(versions.start, versions.stop, BATCH):
        yield range(first, min(first + BATCH, versions.stop))


def ask(broker: Broker, versions: Sequence[int]) -> tuple[Exchange, ...]:
    """Request versions in a row on one connection; return the exchanges up to the first that is not refused."""
    INTERRUPTS.check()
    broker.begin_example()
    with broker.connect() as connection:
        exchanges = connection.converse([build_request(version=each) for each in versions])
    refused = len(list(takewhile(is_refused, exchanges)))
    return exchanges[: refused + 1]


def is_refused(exchange: Exchange) -> bool:
    """Return whether the response is UNSUPPORTED_VERSION; one that is missing or too short for an error code is not."""
    try:
        return error_code_of(exchange) is ErrorCode.UNSUPPORTED_VERSION
    except MalformedAnswer:
        return False


def what_is_wrong(exchanges: Sequence[Exchange]) -> str:
    """Describe what is wrong with the last exchange; empty if nothing is."""
    try:
        code = error_code_of(exchanges[-1])
    except MalformedAnswer as error:
        return str(error).partition("\n")[0]
    return "" if code is ErrorCode.UNSUPPORTED_VERSION else f"the target answered {code!r}"


def ask_again(broker: Broker, versions: Sequence[int]) -> None:
    """Request versions again, alone.

    Raises:
        AssertionError: one of them is not refused.
    """
    what = what_is_wrong(ask(broker, versions))
    assert not what, message([versions], what)


def find_fewest(broker: Broker, failed: Failed, suspect: int) -> Failed:
    """Find the fewest versions, out of those that failed together, that still fail on a connection of their own.

    This is one version, unless it fails only after others, which are then named with it. A failure may appear before
    the version that causes it: a target that resets the connection also discards earlier responses.
    """
    fewest = failed

    def fails(versions: Sequence[int]) -> bool:
        nonlocal fewest
        what = what_is_wrong(ask(broker, versions))
        if what:
            fewest = Failed(versions, what, tuple(broker.journal))
        return bool(what)

    if fails(range(suspect, suspect + 1)):
        return fewest
    sizes = range(1, len(failed.versions) + 1)
    bisect_left(sizes, True, key=lambda size: fails(failed.versions[:size]))
    head = fewest.versions
    if not fails(head[-1:]):
        bisect_left(sizes[: len(head)], True, key=lambda size: fails(head[-size:]))
    return fewest


def find_failing(judge: Judge, broker: Broker, batch: Sequence[int]) -> Iterator[Failed]:
    """Find the failures in a batch, each with the fewest versions; pass conforming exchanges to the judge."""
    left = batch
    while left:
        exchanges = ask(broker, left)
        refused = exchanges if is_refused(exchanges[-1]) else exchanges[:-1]
        if refused:
            judge.conforms(refused)
        if len(refused) == len(left):
            return
        together = Failed(left, what_is_wrong(exchanges), tuple(broker.journal))
        failed = find_fewest(broker, together, left[len(refused)])
        yield failed
        left = left[left.index(failed.versions[-1]) + 1 :]


def start_afresh(broker: Broker) -> None:
    """Restart the broker, if we started it, so that nothing was sent to it before."""
    if broker.can_restart:
        broker.restart()
        broker.calibrate()


def ask_all(judge: Judge, broker: Broker, versions: range) -> None:
    """Request versions from a fresh broker, batch by batch; each batch and each failing version is one example.

    Raises:
        AssertionError: a version is not refused.
        HarnessError: the sweep could not be completed; failures found before are recorded.
    """
    start_afresh(broker)
    failing = chain.from_iterable(find_failing(judge, broker, each) for each in batches(versions))
    failed: list[Failed] = []
    try:
        for each in failing:
            failed.append(each)
            silent = sum(was_silent(one.steps) for one in failed)
            if len(failed) == MAX_FAILED or silent == SILENT_ITEMS:
                unasked = versions[versions.index(each.versions[-1]) + 1 :]
                break
        else:
            unasked = versions[:0]
    finally:
        record(judge, broker, failed)
    if unasked:
        judge.leaves_out(f"not requested after too many failures: {ranges(unasked)}")
    judge.raise_first()


def record(judge: Judge, broker: Broker, failed: Sequence[Failed]) -> None:
    """Pass failures to the judge, equal ones as one failure; the smallest example comes last, because it is kept."""
    alike: dict[tuple[bool, str], list[Failed]] = {}
    for each in failed:
        alike.setdefault((len(each.versions) == 1, each.what), []).append(each)
    for (_, what), group in alike.items():
        error = AssertionError(message([each.versions for each in group], what))
        for each in reversed(group):
            example = FailingExample(ask_again, {"broker": broker, "versions": each.versions})
            judge.differs(error, each.steps, example)


def message(groups: Sequence[Sequence[int]], what: str) -> str:
    """Return a message that names all versions that fail in the same way."""
    named = ranges([version for versions in groups for version in versions])
    together = "" if len(groups[0]) == 1 else ", which fail only when sent together on one connection"
    return f"no UNSUPPORTED_VERSION for {named}{together}: {what}"


@pytest.mark.deep
@pytest.mark.swept(checks=[ask_again])
@pytest.mark.exhaustive
@pytest.mark.malformed
@pytest.mark.listeners("plaintext", "controller")
@pytest.mark.clause("KIP-35.unknown-version-gives-35")
def test_every_unknown_version_gets_unsupported_version(broker: Broker) -> None:
    """Each version from the first one that is not served up to 32767 gets UNSUPPORTED_VERSION."""
    ask_all(JUDGE.get(), broker, range(broker.max_version + 1, INT16_MAX + 1))


@pytest.mark.deep
@pytest.mark.swept(checks=[ask_again])
@pytest.mark.exhaustive
@pytest.mark.malformed
@pytest.mark.listeners("plaintext", "controller")
@pytest.mark.clause("KIP-35.negative-version-gives-35")
def test_every_negative_version_gets_unsupported_version(broker: Broker) -> None:
    """Each version from -32768 to -1 gets UNSUPPORTED_VERSION."""
    ask_all(JUDGE.get(), broker, range(INT16_MIN, 0))
