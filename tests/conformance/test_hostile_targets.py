"""Targets that violate everything: the run ends in bounded time, with verdicts.

`benchmarks.hostile_targets` judges more of them, and compares what each costs with the cost of a healthy one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from reports.records import Verdict
from tests.conformance import tls_target
from tests.conformance.fake_targets import (
    Behaviour,
    answer_bombs,
    answer_garbage,
    answer_nothing,
    behind_tls,
    close_at_once,
    flood,
    serve,
    turning,
    turning_behind_tls,
)
from tests.conformance.suite_runs import SuiteRun, finish, start_suite

pytestmark = [pytest.mark.slow, pytest.mark.nightly]  # Five runs

FLOODING: dict[str, Behaviour] = {
    "flooding": flood,
}
BRIEF: dict[str, Behaviour] = {
    "garbage": answer_garbage,
    "bombs": answer_bombs,
    "silent": answer_nothing,
}
"""One property judges them here: `benchmarks.hostile_targets` has a complete run of each."""
INSIDE_TLS: dict[str, Behaviour] = {
    "tls-closing": behind_tls(close_at_once),
}
ONE_PROPERTY = ("-k", "test_v0_is_served")
SEVERAL = ("-k", "test_v0_is_served or key or feature or pipelined")
"""Enough for cells in doubt that have the same cause."""
ON_TLS = ("-p", tls_target.__name__, "--listener", "ssl", *ONE_PROPERTY)
"""Complete runs on such listeners belong to the benchmark."""
V0_SERVED = "KIP-35.v0-always-served"
THE_CAUSE = f"judged by {V0_SERVED}"
"""What says that a cell is in doubt only because no response is readable."""


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, SuiteRun]:
    """A smoke run against each; those with TLS run later, because the wait for a handshake is shorter."""
    plain = {name: turning(behaviour) for name, behaviour in (FLOODING | BRIEF).items()}
    tls = {name: turning_behind_tls(behaviour) for name, behaviour in INSIDE_TLS.items()}
    runs = tmp_path_factory.mktemp("runs")
    options = {name: ONE_PROPERTY if name in BRIEF else SEVERAL for name in plain}
    return {
        **_judged_at_once(plain, options, runs),
        **_judged_at_once(tls, dict.fromkeys(tls, ON_TLS), runs),
    }


def _judged_at_once(
    behaviours: Mapping[str, Behaviour], options: Mapping[str, Sequence[str]], runs: Path
) -> dict[str, SuiteRun]:
    """Judge all targets at the same time, because most of the time is waiting."""
    with ExitStack() as stack:
        started = {}
        for name, behaviour in behaviours.items():
            target = stack.enter_context(serve(behaviour))
            started[name] = start_suite(
                *("--bootstrap-server", target.address, "--tier", "smoke", *options[name]),
                runs=runs / name,
            )
            stack.callback(started[name].kill)
        return {name: finish(process) for name, process in started.items()}


def unexplained(run: SuiteRun) -> dict[str, str]:
    """Return the cells in doubt whose reason names another cause than the one clause, by clause with their reason."""
    doubtful = {Verdict.INCONCLUSIVE, Verdict.NOT_RUN}
    reasons = {cell["clause"]: cell["reason"] for cell in run.header["planned_cells"]}
    return {
        clause: reasons[clause]
        for clause, verdict in by_clause(run).items()
        if verdict in doubtful and THE_CAUSE not in reasons[clause]
    }


def by_clause(run: SuiteRun) -> dict[str, Verdict]:
    """Return the verdicts of a run against one target."""
    return {clause: verdict for (_, clause), verdict in run.verdicts().items()}


@pytest.mark.parametrize("name", [*FLOODING, *INSIDE_TLS, "garbage", "bombs", "silent"])
def test_hostile_target_gets_verdicts(name: str, hostile_runs: Mapping[str, SuiteRun]) -> None:
    """A target that turns hostile violates one clause, which every cell in doubt names as the cause."""
    run = hostile_runs[name]
    assert run.status == 1, run.output
    assert by_clause(run)[V0_SERVED] is Verdict.VIOLATES
    assert unexplained(run) == {}
    assert "a bug in this suite" not in run.output
    assert run.header["footer"]["exit_status"] == 1
