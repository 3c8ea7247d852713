"""Targets that violate everything: the run ends in bounded time, with verdicts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from reports.records import Verdict
from tests.conformance.fake_targets import (
    Behaviour,
    announce_more_than_comes,
    answer_garbage,
    answer_nothing,
    close_at_once,
    flood,
    serve,
    trickle,
    turning,
)
from tests.conformance.suite_runs import SuiteRun, finish, start_suite

QUICK: dict[str, Behaviour] = {
    "garbage": answer_garbage,
    "closing": close_at_once,
    "flooding": flood,
    "announcing": announce_more_than_comes,
}
SLOW: dict[str, Behaviour] = {"silent": answer_nothing, "trickling": trickle}
"""Each exchange costs the silence bound or, where bytes keep coming, the bound of an exchange, so one property
judges them here."""
ONE_PROPERTY = ("-k", "test_v0_is_served")
V0_SERVED = "KIP-35.v0-always-served"
CANNOT_BE_TOLD = {
    # Nobody is left to be hurt.
    "PROTOCOL.malformed-hurts-nobody",
    # There is no table any more whose entries could be asked for.
    "KIP-35.every-advertised-version-served",
    "KIP-35.outside-range-not-served",
    "PROTOCOL.bad-version-of-known-api-refused",
    "PROTOCOL.unknown-api-refused",
}


@pytest.fixture(scope="module")
def hostile_runs(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """A smoke run against each of them, all started at once, as most of their time is waiting."""
    with ExitStack() as stack:
        started = {}
        for name, behaviour in (QUICK | SLOW).items():
            target = stack.enter_context(serve(turning(behaviour)))
            chosen = ONE_PROPERTY if name in SLOW else ()
            started[name] = start_suite(
                *("--bootstrap-server", target.address, "--tier", "smoke", *chosen),
                runs=tmp_path_factory.mktemp(name),
            )
        yield started
        for process in started.values():
            process.kill()


def by_clause(run: SuiteRun) -> dict[str, Verdict]:
    """Return the verdicts of a run against one target."""
    return {clause: verdict for (_, clause), verdict in run.verdicts().items()}


@pytest.mark.parametrize("name", [*QUICK, "silent"])
def test_hostile_target_gets_verdicts(
    name: str, hostile_runs: dict[str, subprocess.Popen[str]]
) -> None:
    """A target that turns hostile violates clauses, and no property ends with a fault of ours."""
    run = finish(hostile_runs[name])
    assert run.status == 1, run.output
    verdicts = by_clause(run)
    assert verdicts[V0_SERVED] is Verdict.VIOLATES
    doubtful = {Verdict.INCONCLUSIVE, Verdict.NOT_RUN}
    assert {key for key, verdict in verdicts.items() if verdict in doubtful} <= CANNOT_BE_TOLD
    assert "a fault of this suite" not in run.output
    assert run.header["footer"]["exit_status"] == 1


def test_target_that_never_finishes_is_given_up(
    hostile_runs: dict[str, subprocess.Popen[str]],
) -> None:
    """An answer that comes byte by byte is given up once its patience is used up."""
    run = finish(hostile_runs["trickling"])
    assert run.status == 10, run.output
    assert by_clause(run)[V0_SERVED] is Verdict.INCONCLUSIVE
    assert "ExchangeTimedOut: the target kept sending for" in run.output
