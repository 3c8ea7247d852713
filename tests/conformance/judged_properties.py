"""A property's judge on a target without a network, and bodies for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, cast

from clauses.catalogue import Clause, catalogue
from clauses.clause_sets import EVERYTHING, ClauseSet
from conformance.engine.failing_examples import FurtherKinds
from conformance.engine.property_judge import PropertyJudge
from fixtures.client.patience import Patience
from fixtures.errors import BrokerGone, HarnessError
from fixtures.registry.targets import KnownViolation, Target
from fixtures.under_test.broker import Broker
from reports.records import PlannedCell, Verdict
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.run_writer import RunWriter
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Step

MUST = catalogue()["KIP-35.keys-unique"]
PIN = catalogue()["KIP-511.edge-punctuation"]
TODAY = datetime.now(UTC).date()


def target_with(*known: KnownViolation) -> Target:
    """Return a target with declared violations."""
    return Target(
        id="target",
        implementation="something",
        release="1",
        quorum=None,
        listeners=("plaintext",),
        known_violations=known,
    )


def declared(*, clause: str = MUST.id, match: str = "", expires: date = TODAY) -> KnownViolation:
    """Return a declared violation."""
    return KnownViolation(clause=clause, match=match, reason="reason", link="link", added=TODAY, expires=expires)


@dataclass
class JudgedBroker:
    """The part of a broker that a judge uses."""

    target: Target = field(default_factory=target_with)
    listener: str = "plaintext"
    pin_is_binding: bool = False
    journal: list[Any] = field(default_factory=list)
    patience: Patience = field(default_factory=Patience)
    is_alive: bool = True
    revivals: int = 0
    is_started_by_others: bool = False
    is_away: bool = False
    unreadable: HarnessError | None = None
    last_sent: tuple[Any, ...] = ()
    script: None = None
    is_shared: bool = False

    @property
    def can_restart(self) -> bool:
        """Whether the broker can be started again."""
        return self.revivals > 0 and not self.is_started_by_others

    def revives(self) -> bool:
        """Return whether it was started again, by others or not."""
        if self.revivals == 0:
            return False
        self.revivals -= 1
        self.is_alive = True
        return True

    def restart(self) -> None:
        """Start again, unless only others can."""
        if self.is_started_by_others:
            raise BrokerGone("not started by this suite")
        self.revivals -= 1
        self.is_alive = True

    def was_away(self) -> bool:
        """Return whether it closed every connection for a while, which is so once."""
        was_away, self.is_away = self.is_away, False
        return was_away

    def check_alive(self) -> None:
        """Raise an error unless the broker lives."""
        if not self.is_alive:
            raise BrokerGone("it ended")

    def await_end(self) -> None:
        """Raise an error if the broker ends a moment later."""
        self.check_alive()

    def begin_example(self) -> None:
        """Begin a new journal."""
        self.journal = []


@dataclass
class Judged:
    """A judge, its recorder, and the value of every body that ran."""

    judge: PropertyJudge
    recorder: RunRecorder
    key: CellKey
    ran: list[int] = field(default_factory=list)

    def run(self, body: Callable[[int], None], value: int) -> None:
        """Judge one example."""

        def noted(value: int) -> None:
            self.ran.append(value)
            body(value)

        self.judge.judge(noted, {"value": value})

    @property
    def verdict(self) -> Verdict:
        """The cell's current verdict."""
        return self.recorder.cells[self.key].verdict


def judged(
    runs: Path,
    broker: JudgedBroker,
    *clauses: Clause,
    also_planned: tuple[str, ...] = (),
    known: str = "",
    is_secondary_listener: bool = False,
    distance_s: float = 0.0,
    pinned: int = 0,
    further_kinds: FurtherKinds | None = None,
    clause_set: ClauseSet = EVERYTHING,
    newer: Sequence[Mapping[str, Any]] = (),
) -> Judged:
    """Return a judge of some clauses on a broker, of a MUST unless others are given."""
    clauses = clauses or (MUST,)
    planned_clauses = (*clauses, *(catalogue()[id_] for id_ in also_planned))
    recorder = RunRecorder(
        RunWriter(runs, catalogue=catalogue(), tier="smoke", seed=None), tier="smoke", clause_set=clause_set
    )
    target, listener = broker.target.id, broker.listener
    planned = [
        PlannedCell(clause=each.id, target=target, listener=listener, known_violation=known) for each in planned_clauses
    ]
    levels = [each.level.value for each in planned_clauses]
    recorder.plan(zip(planned, levels, strict=True), [])
    judge = PropertyJudge(
        recorder,
        cast(Broker, broker),
        clauses,
        "test_something",
        is_secondary_listener=is_secondary_listener,
        distance_s=distance_s,
        pinned=pinned,
        further_kinds=further_kinds,
        newer=newer,
    )
    return Judged(judge, recorder, CellKey(clauses[0].id, target, listener))


def violate(value: int) -> None:
    """Fail as a violation does."""
    raise AssertionError(f"seen {value}")


def hold(value: int) -> None:
    """Succeed."""


def end_it(value: int) -> None:
    """Raise as if the target had ended."""
    raise BrokerGone("exit status 139")


def crashing(broken: str) -> Step:
    """Return the step of a request that costs the connection."""
    request = build_request(version=0, broken=broken)
    exchange = Exchange(request=request, outcome=Outcome.CLOSED)
    return Step(connection=0, pieces=(request.data,), exchanges=(exchange,))
