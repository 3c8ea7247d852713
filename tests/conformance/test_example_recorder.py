"""Each example is recorded for every clause: violations, informational differences, declared violations and phases."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from clauses.catalogue import Clause
from conformance.assertions.judging import Unjudged
from conformance.engine.expectations import (
    drop_unneeded,
    stale_expectations,
    unmatched_expectations,
)
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


@pytest.mark.parametrize(
    "clauses", [(PIN, MUST), (MUST, PIN)], ids=lambda each: "-".join(c.level for c in each)
)
def test_a_must_next_to_a_pin_binds_every_target(
    clauses: tuple[Clause, ...], tmp_path: Path
) -> None:
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
def test_declared_violation_covers_what_it_matches(
    match: str, verdict: Verdict, tmp_path: Path
) -> None:
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
    """Its own file has to be corrected, and whoever judges a build cannot."""
    gone = declared(clause="KIP-0.gone", expires=TODAY)
    elsewhere = replace(declared(match="never seen"), listeners=("ssl",))
    expired = target_with(gone, elsewhere)
    assert len(stale_expectations([expired])) == 2
    case = judged(tmp_path, JudgedBroker(target=expired))
    assert list(unmatched_expectations(case.recorder, [expired]))
    target = judged_like(target_with(), expired)
    assert stale_expectations([target]) == []
    assert list(unmatched_expectations(case.recorder, [target])) == []
