"""Recorders with planned cells, for tests of what the suite reports about a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clauses.catalogue import catalogue
from reports import plugin
from reports.records import Phase, PlannedCell, Verdict
from reports.run.failures import Failure
from reports.run.judged_examples import CellKey, JudgedExample
from reports.run.recorder import RunRecorder
from reports.run.run_writer import RunWriter, TargetFacts
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Step

CLAUSE = "KIP-35.keys-unique"
TARGET = "reference"
PROPERTY = "test_no_key_stands_twice"
SIGNATURE = "0123456789abcdef"
"""Signature of a failure, unless a test gives it another one."""


def key_of(clause: str = CLAUSE, target: str = TARGET) -> CellKey:
    """Return the key of a cell on the plain listener."""
    return CellKey(clause, target, "plaintext")


def recorder_for(runs: Path, cells: Mapping[CellKey, str], known_violation: str = "") -> RunRecorder:
    """Return a recorder with planned cells; `cells` maps each to the level of its clause."""
    writer = RunWriter(runs, catalogue=catalogue(), tier="smoke", seed=None)
    recorder = RunRecorder(writer, tier="smoke")
    planned = (
        (
            PlannedCell(
                clause=key.clause,
                target=key.target,
                listener=key.listener,
                known_violation=known_violation,
            ),
            level,
        )
        for key, level in cells.items()
    )
    recorder.plan(planned, [])
    return recorder


def facts_of(target: str = TARGET) -> TargetFacts:
    """Return the facts that a record has about a target."""
    return TargetFacts(id=target, implementation="reference", release="4.4.0", launcher="built-in", artefacts={})


def answered_step() -> Step:
    """Return a step whose only request was answered after 1,000 microseconds."""
    request = build_request(version=0)
    exchange = Exchange(
        request=request,
        outcome=Outcome.ANSWER,
        payload=bytes.fromhex("00000007 0023"),
        usable=True,
        latency_us=1000,
    )
    return Step(connection=0, pieces=(request.data,), exchanges=(exchange,))


def failure_of(
    key: CellKey,
    message: str,
    signature: str = SIGNATURE,
    verdict: Verdict = Verdict.VIOLATES,
) -> Failure:
    """Return a failure of a cell with one answered step."""
    return Failure(
        signature=signature,
        clause=key.clause,
        statement="No API key stands twice in the table.",
        property_name=PROPERTY,
        target=key.target,
        listener=key.listener,
        verdict=verdict.value,
        kind="AssertionError",
        message=message,
        example="{}",
        steps=(answered_step(),),
    )


def example_of(
    verdict: Verdict,
    key: CellKey | None = None,
    *,
    number: int = 1,
    phase: Phase = Phase.GENERATE,
    message: str = "",
    **changes: Any,
) -> JudgedExample:
    """Return a judged example; one with a message has a failure, with some of its fields changed."""
    key = key or key_of()
    failure = replace(failure_of(key, message, verdict=verdict), **changes) if message else None
    return JudgedExample(
        key=key,
        property_name=PROPERTY,
        number=number,
        phase=phase,
        verdict=verdict,
        steps=(answered_step(),),
        failure=failure,
    )


def finished_session(recorder: RunRecorder, status: int, *options: str) -> Any:
    """Let the plugin finish a session of pytest that ended with a status, with flags; return the session, which then
    has that of the run."""
    config: Any = SimpleNamespace(
        stash=pytest.Stash(),
        getoption=lambda name: name in options or None,
        get_verbosity=lambda: 0,
    )
    config.stash[plugin.RECORDER] = recorder
    session: Any = SimpleNamespace(config=config, exitstatus=status)
    config.stash[plugin._SESSION] = session
    plugin.pytest_sessionfinish(session, status)
    return session
