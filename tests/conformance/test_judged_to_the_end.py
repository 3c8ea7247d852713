"""Faulty targets at an address are judged to the end: one fault leaves no other cell without a verdict or a reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack

import pytest

from reports.records import Verdict
from reports.verdict_labels import CRASH_KINDS
from tests.conformance.fake_targets import (
    IGNORING_UNKNOWN_APIS,
    SILENT_AFTER_BAD_SIZES,
    Behaviour,
    holding_half_closed,
    refusing_after,
    serve,
    with_tampering,
)
from tests.conformance.suite_runs import SuiteRun, finish, start_suite
from tests.conformance.test_gross_faults import CLAUSE_ID, FAULTS

SILENT_IN_PLACES = {
    "PROTOCOL.negative-size-refused",
    "PROTOCOL.half-close-answers-complete",
    "PROTOCOL.unknown-api-refused",
}
"""Clauses about places in which one target is silent: after a bad size, when half closed, for unknown APIs."""
SILENT = "silent-in-three-places"
GROSS = "ids-have-16-bits"
REFUSING = "refusing-connections"
CRASHED = "PROTOCOL.malformed-hurts-nobody"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, SuiteRun]:
    """A smoke run against each of them, all at once, because most of their time is waiting."""
    behaviours: dict[str, Behaviour] = {
        SILENT: holding_half_closed(with_tampering(SILENT_AFTER_BAD_SIZES, IGNORING_UNKNOWN_APIS)),
        GROSS: with_tampering(FAULTS[GROSS][0]),
        REFUSING: refusing_after(negative_sizes=2),
    }
    folder = tmp_path_factory.mktemp("runs")
    with ExitStack() as stack:
        started = {}
        for name, behaviour in behaviours.items():
            target = stack.enter_context(serve(behaviour))
            options = ("--bootstrap-server", target.address, "--tier", "smoke")
            started[name] = start_suite(*options, runs=folder / name)
            stack.callback(started[name].kill)
        return {name: finish(process) for name, process in started.items()}


def clauses_with(run: SuiteRun, *verdicts: Verdict) -> set[str]:
    """Return the clauses that have one of some verdicts."""
    return {clause for (_, clause), verdict in run.verdicts().items() if verdict in verdicts}


@pytest.mark.nightly
@pytest.mark.slow  # Complete runs
def test_silence_in_places_leaves_every_cell_judged(runs: Mapping[str, SuiteRun]) -> None:
    """No cell is in doubt and no MUST is violated; the clauses about the places, each a PIN, are informational."""
    run = runs[SILENT]
    assert run.status == 0, run.output
    assert not clauses_with(run, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.VIOLATES)
    assert clauses_with(run, Verdict.INFORMATIONAL) >= SILENT_IN_PLACES


@pytest.mark.nightly
@pytest.mark.slow  # Complete runs
@pytest.mark.parametrize("name", [GROSS, REFUSING])
def test_every_doubt_names_a_violated_clause(name: str, runs: Mapping[str, SuiteRun]) -> None:
    """A violated MUST ends the run with 1, and each cell that could not be judged says which clause is responsible."""
    run = runs[name]
    assert run.status == 1, run.output
    violated = clauses_with(run, Verdict.VIOLATES)
    assert (FAULTS[GROSS][1] if name == GROSS else {CRASHED}) <= violated
    doubtful = clauses_with(run, Verdict.INCONCLUSIVE, Verdict.NOT_RUN)
    reasons = {cell["clause"]: cell["reason"] for cell in run.header["planned_cells"]}
    for clause in doubtful:
        assert set(CLAUSE_ID.findall(reasons[clause])) & violated, (clause, reasons[clause])
    assert bool(doubtful) == (name == REFUSING)


@pytest.mark.nightly
@pytest.mark.slow  # Complete runs
def test_a_target_that_refuses_connections_after_our_bytes_crashes(
    runs: Mapping[str, SuiteRun],
) -> None:
    """The only failure is the crash, with the frame that was sent last; what was judged before keeps its verdict."""
    run = runs[REFUSING]
    (folder,) = run.failures().values()
    failure = json.loads((folder / "failure.json").read_text())
    assert failure["kind"] in CRASH_KINDS
    assert failure["message"].startswith("this request crashes the target: ")
    assert int.from_bytes(bytes.fromhex(failure["sent"][-1]["data"])[:4], signed=True) < 0
    assert clauses_with(run, Verdict.CONFORMS)
