"""How one example is judged: violations, doubts, notes, declared violations, and the end of shrinking."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Clause, catalogue
from conformance.assertions.judging import TargetEnded, Unjudged
from conformance.engine import property_judge as examples
from conformance.engine import shrinking
from conformance.engine.expectations import stale_expectations
from conformance.engine.overlapping import EndedBesideOthers
from conformance.engine.property_judge import BRIEF_S, PropertyJudge
from fixtures.client.greenlet_wait import Aside
from fixtures.client.patience import Patience
from fixtures.errors import BrokerGone, HarnessError, OutOfPatience
from fixtures.registry.targets import KnownViolation, Target
from fixtures.under_test.broker import Broker
from fixtures.under_test.first_requests import probe_request
from reports.records import Phase, PlannedCell, Verdict
from reports.run.recorder import Cell, CellKey, RunRecorder
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
    return KnownViolation(
        clause=clause, match=match, reason="reason", link="link", added=TODAY, expires=expires
    )


@dataclass
class FakeBroker:
    """The part of a broker that a judge uses."""

    target: Target = field(default_factory=target_with)
    listener: str = "plaintext"
    is_pinned: bool = False
    journal: list[Any] = field(default_factory=list)
    served_before: tuple[Any, ...] = ()
    patience: Patience = field(default_factory=Patience)
    is_alive: bool = True
    revivals: int = 0
    unreadable: HarnessError | None = None
    last_sent: tuple[Any, ...] = ()

    @property
    def can_restart(self) -> bool:
        """Whether the broker can be started again."""
        return self.revivals > 0

    def restart(self) -> None:
        """Start again."""
        self.revivals -= 1
        self.is_alive = True

    def check_alive(self) -> None:
        """Raise an error unless the broker lives."""
        if not self.is_alive:
            raise BrokerGone("it ended")

    def await_end(self) -> None:
        """Raise an error if the broker ends a moment later."""
        self.check_alive()

    def lender(self) -> None:
        """Return None: nothing is lent."""

    def forget(self, lender: None = None) -> None:
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
    broker: FakeBroker,
    *clauses: Clause,
    known: str = "",
    is_brief: bool = False,
    pinned: int = 0,
) -> Judged:
    """Return a judge of some clauses on a broker, of a MUST unless others are given."""
    clauses = clauses or (MUST,)
    recorder = RunRecorder(
        RunWriter(runs, catalogue=catalogue(), tier="smoke", seed=None), tier="smoke"
    )
    target, listener = broker.target.id, broker.listener
    planned = [
        PlannedCell(clause=each.id, target=target, listener=listener, known_violation=known)
        for each in clauses
    ]
    levels = [each.level.value for each in clauses]
    recorder.plan(zip(planned, levels, strict=True), [])
    judge = PropertyJudge(
        recorder,
        cast(Broker, broker),
        clauses,
        "test_something",
        is_brief=is_brief,
        pinned=pinned,
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


def test_violation_is_recorded_and_raised(tmp_path: Path) -> None:
    """An AssertionError is a violation, and Hypothesis shrinks it afterwards."""
    case = judged(tmp_path, FakeBroker())
    case.run(hold, 1)
    for value in (100, 10):
        with pytest.raises(AssertionError):
            case.run(violate, value)
    assert case.verdict is Verdict.VIOLATES
    assert case.recorder.cells[case.key].verdicts == {Verdict.CONFORMS: 1, Verdict.VIOLATES: 1}
    (failure,) = case.recorder.cells[case.key].failures.values()
    assert failure.message == "seen 10"
    assert failure.example == "{'value': 10}"


def test_rejected_example_is_not_recorded(tmp_path: Path) -> None:
    """An example that the property rejects is not counted."""

    def reject(value: int) -> None:
        raise UnsatisfiedAssumption

    case = judged(tmp_path, FakeBroker())
    with pytest.raises(UnsatisfiedAssumption):
        case.run(reject, 1)
    assert case.verdict is Verdict.NOT_RUN


def test_harness_error_ends_the_property(tmp_path: Path) -> None:
    """After a fault of ours no further example runs; each raises the same error at once."""

    def lose(value: int) -> None:
        raise BrokerGone("it ended")

    case = judged(tmp_path, FakeBroker())
    for value in range(3):
        with pytest.raises(BrokerGone, match="it ended"):
            case.run(lose, value)
    assert case.ran == [0]
    assert case.recorder.cells[case.key].verdicts == {}


def test_broker_that_ended_violates_nothing(tmp_path: Path) -> None:
    """A failure during which the broker ended is inconclusive, not a violation."""
    case = judged(tmp_path, FakeBroker(is_alive=False))
    with pytest.raises(BrokerGone):
        case.run(violate, 1)
    assert case.recorder.cells[case.key].failures == {}


def test_note_is_information_with_its_bytes(tmp_path: Path) -> None:
    """A note violates nothing, even on a pinned target, and its bytes are kept."""
    case = judged(tmp_path, FakeBroker(is_pinned=True))
    exchange = Exchange(request=probe_request(0), outcome=Outcome.SILENT)
    case.judge.notes(Unjudged("no schema"), (Step(connection=0, exchanges=(exchange,)),))
    case.recorder.write_failures(case.key)
    assert case.verdict is Verdict.INFORMATIONAL
    (place,) = (case.recorder.writer.folder / "failures").iterdir()
    assert {file.name for file in place.iterdir()} == {
        *("exchange.txt", "exchange.pcap", "reproducer.py", "failure.json")
    }


@pytest.mark.parametrize("is_pinned", [True, False])
def test_pin_binds_only_who_is_pinned(is_pinned: bool, tmp_path: Path) -> None:
    """A difference from a PIN violates on Apache Kafka, and elsewhere is information with its evidence."""
    case = judged(tmp_path, FakeBroker(is_pinned=is_pinned), PIN)
    if is_pinned:
        with pytest.raises(AssertionError):
            case.run(violate, 1)
    else:
        case.run(violate, 1)
    assert case.verdict is (Verdict.VIOLATES if is_pinned else Verdict.INFORMATIONAL)
    assert len(case.recorder.cells[case.key].failures) == 1


@pytest.mark.parametrize(
    "clauses", [(PIN, MUST), (MUST, PIN)], ids=lambda each: "-".join(c.level for c in each)
)
def test_a_must_next_to_a_pin_binds_every_target(
    clauses: tuple[Clause, ...], tmp_path: Path
) -> None:
    """A property that judges both finds a violation, not information, on a target that is not pinned."""
    case = judged(tmp_path, FakeBroker(), *clauses)
    with pytest.raises(AssertionError, match="seen 1"):
        case.run(violate, 1)
    must = case.key._replace(clause=MUST.id)
    assert case.recorder.cells[must].verdict is Verdict.VIOLATES


def test_spent_budget_ends_shrinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the budget is spent, only examples that failed before run, so that shrinking ends."""
    case = judged(tmp_path, FakeBroker())
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    monkeypatch.setattr(shrinking, "SHRINK_BUDGET_S", -1.0)
    case.run(violate, 2)
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    assert case.ran == [1, 1]


@pytest.mark.parametrize(
    ("match", "verdict"),
    [
        ("^seen [0-9]$", Verdict.KNOWN_VIOLATION),
        ("seen", Verdict.KNOWN_VIOLATION),
        ("seen 2", Verdict.VIOLATES),
    ],
)
def test_declared_violation_covers_what_it_matches(
    match: str, verdict: Verdict, tmp_path: Path
) -> None:
    """A declared violation excuses failures whose message it matches, and no others."""
    broker = FakeBroker(target=target_with(declared(match=match)))
    case = judged(tmp_path, broker, known="reason")
    # A declared failure is raised after the last example, so that it hides no other.
    is_declared = verdict is Verdict.KNOWN_VIOLATION
    with nullcontext() if is_declared else pytest.raises(AssertionError):
        case.run(violate, 1)
    with pytest.raises(AssertionError) if is_declared else nullcontext():
        case.judge.raise_first()
    assert case.verdict is verdict


def test_a_declared_failure_hides_no_other(tmp_path: Path) -> None:
    """Later examples are judged, and each failure is matched with the declaration for it."""
    broker = FakeBroker(target=target_with(declared(match="seen 1"), declared(match="seen 2")))
    case = judged(tmp_path, broker, known="reason")
    case.run(violate, 1)
    case.run(violate, 2)
    with pytest.raises(AssertionError, match="seen 3"):
        case.run(violate, 3)
    assert case.verdict is Verdict.VIOLATES


def test_every_row_has_its_phase(tmp_path: Path) -> None:
    """Rows up to and including the first failure are generated; later ones are shrunk."""
    case = judged(tmp_path, FakeBroker())
    case.run(hold, 1)
    for value in (2, 3):
        with pytest.raises(AssertionError):
            case.run(violate, value)
    case.run(hold, 4)
    case.recorder.finish(1)
    rows = pq.read_table(case.recorder.writer.folder / "examples").to_pylist()
    phases = [Phase(row["phase"]) for row in sorted(rows, key=lambda row: row["example_number"])]
    assert phases == [Phase.GENERATE, Phase.GENERATE, Phase.SHRINK, Phase.SHRINK]


@pytest.mark.parametrize(
    ("known", "stale"),
    [
        pytest.param(declared(expires=TODAY + timedelta(days=2)), [], id="in-force"),
        pytest.param(
            declared(expires=TODAY),
            [f"the declaration of {MUST.id} on target expired on {TODAY}"],
            id="expired",
        ),
        pytest.param(
            declared(clause="KIP-0.gone", expires=TODAY + timedelta(days=2)),
            ["target declares KIP-0.gone, which is not in the catalogue"],
            id="unknown-clause",
        ),
    ],
)
def test_stale_expectations_are_named(known: KnownViolation, stale: list[str]) -> None:
    """A declaration is stale from its expiry date on, or if its clause is in no catalogue."""
    assert stale_expectations([target_with(known)]) == stale


def test_request_that_ends_a_fresh_target_too_is_a_violation(tmp_path: Path) -> None:
    """A request that ended the target twice is to blame, and the target is started again afterwards."""
    broker = FakeBroker(revivals=5)
    case = judged(tmp_path, broker)

    with pytest.raises(TargetEnded, match="exit status 139"):
        case.run(end_it, 1)
    assert case.verdict is Verdict.VIOLATES
    assert broker.revivals == 3


@pytest.mark.parametrize(
    ("broken", "blamed"),
    [("odd", "PROTOCOL.malformed-hurts-nobody"), ("", "PROTOCOL.well-formed-never-closed")],
)
def test_a_crash_is_laid_to_the_clause_about_it(broken: str, blamed: str, tmp_path: Path) -> None:
    """The clause about crashes is also violated if the property is a PIN that does not bind the target."""
    broker = FakeBroker(target=target_with(), revivals=5)
    case = judged(tmp_path, broker, PIN)
    key = CellKey(blamed, broker.target.id, "plaintext")
    cell = PlannedCell(clause=blamed, target=broker.target.id, listener="plaintext")
    case.recorder.cells[key] = Cell(planned=cell, level="MUST")
    request = build_request(version=0, broken=broken)
    exchange = Exchange(request=request, outcome=Outcome.CLOSED)

    def crash(value: int) -> None:
        broker.journal.append(Step(connection=0, exchanges=(exchange,)))
        raise BrokerGone("it ended: exit status 2\npanic: nil pointer")

    with contextlib.suppress(TargetEnded):
        case.run(crash, 1)
    assert case.recorder.cells[key].verdict is Verdict.VIOLATES
    (failure,) = case.recorder.cells[key].failures.values()
    assert failure.first_line == "this request crashes the target: panic: nil pointer"
    assert failure.is_crash
    assert case.judge.failed_elsewhere == {blamed}


@pytest.mark.parametrize(
    ("step", "blamed"),
    [
        pytest.param(crashing("odd"), "PROTOCOL.malformed-hurts-nobody", id="malformed"),
        pytest.param(crashing(""), "PROTOCOL.well-formed-never-closed", id="well-formed"),
        pytest.param(
            Step(connection=0, pieces=(b"\0",)), "PROTOCOL.malformed-hurts-nobody", id="no-frame"
        ),
    ],
)
def test_the_end_of_a_target_that_is_not_ours_is_a_crash(
    step: Step, blamed: str, tmp_path: Path
) -> None:
    """The latest example that sent anything is to blame; the property that meets the end, and all later ones, name the clause."""
    broker = FakeBroker()
    case = judged(tmp_path, broker, PIN, catalogue()[blamed])
    case.judge._clauses = (PIN,)
    broker.last_sent = (step,)
    for value in range(2):
        with pytest.raises(BrokerGone, match=f"exit status 139; {blamed} judges this"):
            case.run(end_it, value)
    assert case.ran == [0]
    key = CellKey(blamed, broker.target.id, broker.listener)
    assert case.recorder.cells[key].verdict is Verdict.VIOLATES
    (failure,) = case.recorder.cells[key].failures.values()
    assert (failure.is_crash, failure.steps) == (True, (step,))
    assert case.judge.failed_elsewhere == {blamed}
    later = PropertyJudge(case.recorder, cast(Broker, broker), (PIN,), "test_later")
    with pytest.raises(BrokerGone, match=blamed):
        later.judge(end_it, {"value": 0})
    assert len(case.recorder.cells[key].failures) == 1


def test_a_crash_violates_the_property_if_no_clause_about_it_is_planned(tmp_path: Path) -> None:
    """A run of a few properties names one of theirs."""
    broker = FakeBroker(last_sent=(crashing("odd"),))
    case = judged(tmp_path, broker)
    with pytest.raises(BrokerGone, match=MUST.id):
        case.run(end_it, 0)
    assert case.verdict is Verdict.VIOLATES
    assert case.judge.failed_elsewhere == set()


def test_target_that_ends_a_moment_later_has_ended(tmp_path: Path) -> None:
    """Observed with kfake: it closes the connection, and its panic ends it afterwards."""
    broker = FakeBroker(revivals=5)
    case = judged(tmp_path, broker)
    times = iter(range(2))

    def end_late(value: int) -> None:
        if next(times) == 0:
            raise BrokerGone("exit status 2")
        broker.is_alive = False

    with pytest.raises(TargetEnded, match="exit status 2"):
        case.run(end_late, 1)


def test_target_that_ends_once_leaves_a_doubt(tmp_path: Path) -> None:
    """A request that does not end a fresh target may not be to blame."""
    case = judged(tmp_path, FakeBroker(revivals=5))
    ends = iter([True, False])

    def end_once(value: int) -> None:
        if next(ends):
            raise BrokerGone("exit status 139")

    with pytest.raises(HarnessError, match="did not end a fresh one"):
        case.run(end_once, 1)


def test_target_that_ends_while_others_are_under_way_is_not_laid_to_any(tmp_path: Path) -> None:
    """It is started again, nothing is recorded, and the request to blame is found one by one."""
    broker = FakeBroker(revivals=5)
    case = judged(tmp_path, broker)

    with pytest.raises(EndedBesideOthers, match="exit status 139"):
        Aside(partial(case.run, end_it, 1)).begin()
    assert broker.revivals == 4
    assert case.recorder.cells[case.key].verdicts == {}
    with pytest.raises(TargetEnded):
        case.run(end_it, 1)


def test_waiting_that_was_right_costs_no_patience(tmp_path: Path) -> None:
    """Only the waiting of examples that do not conform costs the target's patience."""
    broker = FakeBroker()
    case = judged(tmp_path, broker)
    whole = broker.patience.left_s

    def wait(value: int) -> None:
        broker.patience.wait_in_vain(1)
        if value:
            raise AssertionError

    case.run(wait, 0)
    assert broker.patience.left_s == whole
    with pytest.raises(AssertionError):
        case.run(wait, 1)
    assert broker.patience.left_s == whole - 1


def test_brief_property_begins_nothing_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its time is up, only the first example runs, also after the property begins again."""
    now = [0.0]
    monkeypatch.setattr(examples, "time", SimpleNamespace(monotonic=lambda: now[0]))
    case = judged(tmp_path, FakeBroker(), is_brief=True)
    ran: list[int] = []
    now[0] += 2 * BRIEF_S
    case.run(ran.append, 1)
    case.run(ran.append, 2)
    case.judge.begin_again(None)
    case.run(ran.append, 3)
    assert ran == [1, 3]


def test_no_pinned_example_is_ever_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They all run, however late; the cell says that drawn examples were dropped."""
    now = [0.0]
    monkeypatch.setattr(examples, "time", SimpleNamespace(monotonic=lambda: now[0]))
    case = judged(tmp_path, FakeBroker(), is_brief=True, pinned=3)
    ran: list[int] = []

    def late(value: int) -> None:
        ran.append(value)
        now[0] += BRIEF_S + 1

    for value in range(3):
        case.run(late, value)
    case.judge.raise_first()
    assert case.recorder.cells[case.key].reason == ""
    for value in range(3, 7):
        case.run(late, value)
    case.judge.raise_first()
    assert ran == [0, 1, 2]
    assert case.recorder.cells[case.key].reason == (
        "0 of 4 drawn examples were run before the limit of 1 s for this listener; "
        "every pinned example was run"
    )
    assert case.verdict is Verdict.CONFORMS


def test_cell_says_how_many_drawn_examples_were_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many were drawn is known at the end alone; what is judged again one by one is counted again."""
    now = [0.0]
    monkeypatch.setattr(examples, "time", SimpleNamespace(monotonic=lambda: now[0]))
    case = judged(tmp_path, FakeBroker(), is_brief=True, pinned=1)

    def slow(value: int) -> None:
        now[0] += 0.4 * BRIEF_S

    for _ in range(2):
        case.judge.begin_again(None)
        for value in range(11):
            case.run(slow, value)
    case.judge.raise_first()
    assert case.recorder.cells[case.key].reason.startswith("2 of 10 drawn examples: ")


def test_silence_behind_an_answer_is_never_right(tmp_path: Path) -> None:
    """It costs the target's patience even if the example conforms."""
    broker = FakeBroker()
    case = judged(tmp_path, broker)
    whole = broker.patience.left_s
    case.run(lambda value: broker.patience.wait_in_vain(value, for_good=True), 2)
    assert broker.patience.left_s == whole - 2


def test_declared_silence_costs_no_patience(tmp_path: Path) -> None:
    """A failure that the declaration covers costs no patience; any other costs its waiting time."""
    broker = FakeBroker(target=target_with(declared(match="as ever")))
    case = judged(tmp_path, broker, known="reason")
    whole = broker.patience.left_s

    def wait(value: int) -> None:
        broker.patience.wait_in_vain(1)
        raise AssertionError("new" if value else "as ever")

    case.run(wait, 0)
    assert broker.patience.left_s == whole
    with pytest.raises(AssertionError):
        case.run(wait, 1)
    assert broker.patience.left_s == whole - 1


def test_what_was_found_stands_when_patience_ends(tmp_path: Path) -> None:
    """A difference is the verdict, which says what it leaves out; without one there is no verdict."""

    def wait(value: int) -> None:
        broker.patience.check()
        broker.patience.wait_in_vain(broker.patience.left_s)
        raise AssertionError("silent")

    broker = FakeBroker()
    case = judged(tmp_path, broker, PIN, pinned=3)
    for value in range(3):
        case.run(wait, value)
    assert case.verdict is Verdict.INFORMATIONAL
    reason = case.recorder.cells[case.key].planned.reason
    assert reason.count("what comes after the first failures") == 1


def test_patience_that_ends_before_anything_was_found_is_a_doubt(tmp_path: Path) -> None:
    """Examples that held say nothing about those that were not run."""
    broker = FakeBroker()
    case = judged(tmp_path, broker, PIN, pinned=2)
    case.run(hold, 0)
    broker.patience.left_s = 0.0
    with pytest.raises(OutOfPatience):
        case.run(lambda value: broker.patience.check(), 1)
