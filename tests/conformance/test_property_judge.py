"""Tests of how one example is judged and recorded for every clause.

They cover violations, differences, declarations, phases, harness errors and time.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Clause
from conformance.assertions.errors import Unjudged
from conformance.engine import example_limits
from conformance.engine.example_limits import SECONDARY_BUDGET_S
from conformance.engine.judge_interface import Judge
from conformance.engine.planning import (
    drop_unneeded,
    stale_expectations,
    unmatched_expectations,
)
from conformance.engine.property_judge import PropertyJudge
from fixtures.errors import BrokerGone, NoCredentials, OutOfPatience
from fixtures.registry.likeness import judged_like
from fixtures.registry.targets import KnownViolation
from reports.records import Phase, Verdict
from tests.conformance.judged_properties import (
    MUST,
    PIN,
    TODAY,
    JudgedBroker,
    declared,
    hold,
    judged,
    target_with,
    violate,
)
from wire.exchange import Exchange, Outcome, Step, probe_request


def test_violation_is_recorded_and_raised(tmp_path: Path) -> None:
    """An AssertionError is a violation, and Hypothesis shrinks it afterwards."""
    case = judged(tmp_path, JudgedBroker())
    case.run(hold, 1)
    for value in (100, 10):
        with pytest.raises(AssertionError):
            case.run(violate, value)
    assert case.verdict is Verdict.VIOLATES
    assert case.recorder.cells[case.key].verdicts == {Verdict.CONFORMS: 1, Verdict.VIOLATES: 1}
    (failure,) = case.recorder.cells[case.key].failures.values()
    assert failure.message == "seen 10"
    assert failure.example == "{'value': 10}"


def test_a_message_has_nothing_of_what_pytest_adds(tmp_path: Path) -> None:
    """Pytest adds the values of a compared expression, which say nothing about the target without our code."""

    def differ(value: int) -> None:
        # As pytest rewrites it.
        raise AssertionError(f"the response has the correlation id 0\nits details\nassert 0 == {value}")

    case = judged(tmp_path, JudgedBroker())
    with pytest.raises(AssertionError):
        case.run(differ, 818)
    (failure,) = case.recorder.cells[case.key].failures.values()
    assert failure.message == "the response has the correlation id 0\nits details"


def test_rejected_example_is_not_recorded(tmp_path: Path) -> None:
    """An example that the property rejects is not counted."""

    def reject(value: int) -> None:
        raise UnsatisfiedAssumption

    case = judged(tmp_path, JudgedBroker())
    with pytest.raises(UnsatisfiedAssumption):
        case.run(reject, 1)
    assert case.verdict is Verdict.NOT_RUN


def test_harness_error_ends_the_property(tmp_path: Path) -> None:
    """After a fault of ours no further example runs; each raises the same error at once."""

    def lose(value: int) -> None:
        raise BrokerGone("it ended")

    case = judged(tmp_path, JudgedBroker())
    for value in range(3):
        with pytest.raises(BrokerGone, match="it ended"):
            case.run(lose, value)
    assert case.ran == [0]
    assert case.recorder.cells[case.key].verdicts == {}


def test_example_without_credentials_is_left_out(tmp_path: Path) -> None:
    """The others are judged, and the cell says what it is judged without; if all need them, the property is not."""

    def need_credentials(value: int) -> None:
        if value:
            raise NoCredentials("none is given")

    case = judged(tmp_path, JudgedBroker())
    case.run(need_credentials, 1)
    assert case.recorder.cells[case.key].verdicts == {}
    with pytest.raises(NoCredentials, match="none is given"):
        case.judge.raise_first()
    case.run(need_credentials, 0)
    case.judge.raise_first()
    assert case.verdict is Verdict.CONFORMS
    assert case.recorder.cells[case.key].reason == "none is given"


def test_broker_that_ended_violates_nothing(tmp_path: Path) -> None:
    """A failure during which the broker ended is inconclusive, not a violation."""
    case = judged(tmp_path, JudgedBroker(is_alive=False))
    with pytest.raises(BrokerGone):
        case.run(violate, 1)
    assert case.recorder.cells[case.key].failures == {}


def test_waiting_that_was_right_costs_no_patience(tmp_path: Path) -> None:
    """Only the waiting of examples that do not conform costs the target's patience."""
    broker = JudgedBroker()
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


def test_silence_after_an_answer_is_never_right(tmp_path: Path) -> None:
    broker = JudgedBroker()
    case = judged(tmp_path, broker)
    whole = broker.patience.left_s
    case.run(lambda value: broker.patience.wait_in_vain(value, for_good=True), 2)
    assert broker.patience.left_s == whole - 2


def test_declared_silence_costs_no_patience(tmp_path: Path) -> None:
    """A failure that the declaration covers costs no patience; any other costs its waiting time."""
    broker = JudgedBroker(target=target_with(declared(match="as ever")))
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

    broker = JudgedBroker()
    case = judged(tmp_path, broker, PIN, pinned=3)
    for value in range(3):
        case.run(wait, value)
    assert case.verdict is Verdict.INFORMATIONAL
    reason = case.recorder.cells[case.key].planned.reason
    assert reason.count("not judged after the first failures") == 1


def test_patience_that_ends_before_anything_was_found_is_a_doubt(tmp_path: Path) -> None:
    """Examples that held say nothing about those that were not run."""
    broker = JudgedBroker()
    case = judged(tmp_path, broker, PIN, pinned=2)
    case.run(hold, 0)
    broker.patience.left_s = 0.0
    with pytest.raises(OutOfPatience):
        case.run(lambda value: broker.patience.check(), 1)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which goes on only as a test says."""
    now = [0.0]
    monkeypatch.setattr(example_limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_spent_budget_ends_shrinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the budget is spent, only examples that failed before run, so that shrinking ends."""
    case = judged(tmp_path, JudgedBroker())
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    monkeypatch.setattr(example_limits, "SHRINK_BUDGET_S", -1.0)
    case.run(violate, 2)
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    assert case.ran == [1, 1]


def test_secondary_listener_begins_nothing_late(tmp_path: Path, now: list[float]) -> None:
    """After its time is up, only the first example runs, also after the property begins again."""
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True)
    ran: list[int] = []
    now[0] += 2 * SECONDARY_BUDGET_S
    case.run(ran.append, 1)
    case.run(ran.append, 2)
    case.judge.begin_again(None)
    case.run(ran.append, 3)
    assert ran == [1, 3]


def test_distance_takes_no_time_of_a_secondary_listener(tmp_path: Path, now: list[float]) -> None:
    """The target has its own time for each example, however long requests are under way."""
    distance_s = 2 * SECONDARY_BUDGET_S
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True, distance_s=distance_s)
    ran: list[int] = []
    for number in range(3):
        case.run(ran.append, number)
        now[0] += distance_s
    case.run(ran.append, 3)
    now[0] += distance_s + 2 * SECONDARY_BUDGET_S
    case.run(ran.append, 4)
    assert ran == [0, 1, 2, 3]


def test_no_pinned_example_is_ever_dropped(tmp_path: Path, now: list[float]) -> None:
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True, pinned=3)
    ran: list[int] = []

    def late(value: int) -> None:
        ran.append(value)
        now[0] += SECONDARY_BUDGET_S + 1

    for value in range(3):
        case.run(late, value)
    case.judge.raise_first()
    assert case.recorder.cells[case.key].reason == ""
    for value in range(3, 7):
        case.run(late, value)
    case.judge.raise_first()
    assert ran == [0, 1, 2]
    assert case.recorder.cells[case.key].reason == (
        "0 of 4 drawn examples were run before the limit of 1 s for this listener; every pinned example was run"
    )
    assert case.verdict is Verdict.CONFORMS


def test_cell_says_how_many_drawn_examples_were_run(tmp_path: Path, now: list[float]) -> None:
    """How many were drawn is known at the end alone; what is judged again one by one is counted again."""
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True, pinned=1)

    def slow(value: int) -> None:
        now[0] += 0.4 * SECONDARY_BUDGET_S

    for _ in range(2):
        case.judge.begin_again(None)
        for value in range(11):
            case.run(slow, value)
    case.judge.raise_first()
    assert case.recorder.cells[case.key].reason.startswith("2 of 10 drawn examples were run ")


def test_note_is_information_with_its_bytes(tmp_path: Path) -> None:
    """A note violates nothing, even where a PIN is binding, and its bytes are kept."""
    case = judged(tmp_path, JudgedBroker(pin_is_binding=True))
    exchange = Exchange(request=probe_request(0), outcome=Outcome.SILENT)
    case.judge.notes(Unjudged("no schema"), (Step(connection=0, exchanges=(exchange,)),))
    case.recorder.write_failures(case.key)
    assert case.verdict is Verdict.INFORMATIONAL
    (folder,) = (case.recorder.writer.folder / "failures").iterdir()
    assert {file.name for file in folder.iterdir()} == {
        *("exchange.txt", "exchange.pcap", "reproducer.py", "failure.json")
    }


@pytest.mark.parametrize("pin_is_binding", [True, False])
def test_pin_is_binding_for_some_targets_only(pin_is_binding: bool, tmp_path: Path) -> None:
    """A difference from a PIN violates on Apache Kafka, and elsewhere is information with its evidence."""
    case = judged(tmp_path, JudgedBroker(pin_is_binding=pin_is_binding), PIN)
    if pin_is_binding:
        with pytest.raises(AssertionError):
            case.run(violate, 1)
    else:
        case.run(violate, 1)
    assert case.verdict is (Verdict.VIOLATES if pin_is_binding else Verdict.INFORMATIONAL)
    assert len(case.recorder.cells[case.key].failures) == 1


@pytest.mark.parametrize("clauses", [(PIN, MUST), (MUST, PIN)], ids=lambda each: "-".join(c.level for c in each))
def test_a_must_next_to_a_pin_binds_every_target(clauses: tuple[Clause, ...], tmp_path: Path) -> None:
    """A property that judges both finds a violation, not information, on a target for which a PIN is not binding."""
    case = judged(tmp_path, JudgedBroker(), *clauses)
    with pytest.raises(AssertionError, match="seen 1"):
        case.run(violate, 1)
    must = case.key._replace(clause=MUST.id)
    assert case.recorder.cells[must].verdict is Verdict.VIOLATES


@pytest.mark.parametrize(
    ("match", "verdict"),
    [
        ("^seen [0-9]$", Verdict.KNOWN_VIOLATION),
        ("seen", Verdict.KNOWN_VIOLATION),
        ("seen 2", Verdict.VIOLATES),
    ],
)
def test_declared_violation_covers_what_it_matches(match: str, verdict: Verdict, tmp_path: Path) -> None:
    """A declared violation excuses failures whose message it matches, and no others."""
    broker = JudgedBroker(target=target_with(declared(match=match)))
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
    broker = JudgedBroker(target=target_with(declared(match="seen 1"), declared(match="seen 2")))
    case = judged(tmp_path, broker, known="reason")
    case.run(violate, 1)
    case.run(violate, 2)
    with pytest.raises(AssertionError, match="seen 3"):
        case.run(violate, 3)
    assert case.verdict is Verdict.VIOLATES


def test_every_row_has_its_phase(tmp_path: Path) -> None:
    """Rows up to and including the first failure are generated; later ones are shrunk."""
    case = judged(tmp_path, JudgedBroker())
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


GONE = "the violation that is declared for apache-kafka-4.4.0 was not found"


@pytest.mark.parametrize(
    ("own", "found", "verdict", "reason"),
    [
        pytest.param(False, False, Verdict.CONFORMS, GONE, id="gone"),
        pytest.param(False, True, Verdict.KNOWN_VIOLATION, "", id="found"),
        pytest.param(True, False, Verdict.UNEXPECTED_PASS, "", id="gone-but-declared-for-itself"),
    ],
)
def test_what_a_release_declares_excuses_a_target_that_may_do_better(
    own: bool, found: bool, verdict: Verdict, reason: str, tmp_path: Path
) -> None:
    """A violation that is gone fails the run only if it is declared for the target itself."""
    release = replace(target_with(declared(match="seen")), id="apache-kafka-4.4.0", quorum="kraft")
    target = judged_like(target_with(*[declared()] * own), release)
    case = judged(tmp_path, JudgedBroker(target=target), known="reason")
    case.run(violate if found else hold, 1)
    drop_unneeded(case.recorder, [target])
    assert case.verdict is verdict
    assert case.recorder.cells[case.key].reason == reason


def test_what_a_release_declares_is_never_stale_for_another_target(tmp_path: Path) -> None:
    gone = declared(clause="KIP-0.gone", expires=TODAY)
    elsewhere = replace(declared(match="never seen"), listeners=("ssl",))
    expired = target_with(gone, elsewhere)
    assert len(stale_expectations([expired])) == 2
    case = judged(tmp_path, JudgedBroker(target=expired))
    assert list(unmatched_expectations(case.recorder, [expired]))
    target = judged_like(target_with(), expired)
    assert stale_expectations([target]) == []
    assert list(unmatched_expectations(case.recorder, [target])) == []


def test_the_judge_of_a_run_has_every_method_of_its_own() -> None:
    methods = {name for name in vars(Judge) if not name.startswith("_")}
    own = {"contradicted", "declared", "elsewhere", "keep_machine"}
    assert methods - vars(PropertyJudge).keys() == own
