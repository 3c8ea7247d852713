"""Each product answers only for its own cells.

A release does not answer for the operations of clients. The sentence about a product states its gravest verdict.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.registry.clients import Client, all_clients
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from reports.grid.products import BrokenRules, Product, client_name, products_of, those_counted
from reports.records import Verdict
from reports.tables.target_rows import GridTarget
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables

NEW, OLD = "apache-kafka-4.4.0", "apache-kafka-2.3.1"
CLIENT = "some-lib-2.1"
HANGS, ALSO_HANGS, WORKS = (f"{CLIENT}.{name}" for name in ("share-group", "old-group", "produce"))
OF_OTHER = "other-lib-1.0.produce"
EARLIER = {"run_id": "20261120T143000Z-00000000"}
SIGNATURE, CRASH = "a" * 16, "b" * 16


def _folder(out_dir: Path) -> Path:
    """Write a grid in which a client hangs with a release, which itself breaks a rule, and with the newest one."""
    rows = (HANGS, ALSO_HANGS, WORKS)
    return write_tables(
        out_dir,
        targets=[
            *(target_row(target) for target in (NEW, OLD)),
            *(target_row(target, role="operation") for target in (NEW, OLD)),
        ],
        clauses=[
            clause_row("C.must"),
            clause_row("C.should", 1, level="SHOULD"),
            *(clause_row(row, 2, role="operation", source=CLIENT) for row in rows),
            clause_row(OF_OTHER, 3, role="operation", source="other-lib-1.0"),
        ],
        cells=[
            *(cell_row("C.must", target) for target in (NEW, OLD)),
            cell_row("C.should", OLD, "violates", failures=[CRASH]),
            cell_row("C.should", NEW),
            *(cell_row(HANGS, target, "violates", failures=[SIGNATURE]) for target in (NEW, OLD)),
            cell_row(ALSO_HANGS, OLD, "flaky", failures=[SIGNATURE]),
            *(cell_row(WORKS, target) for target in (NEW, OLD)),
            cell_row(OF_OTHER, OLD, **EARLIER),
        ],
        failures=[
            failure_row(CRASH, "C.should", OLD, kind="TargetEnded", message="panic"),
            failure_row(SIGNATURE, HANGS, OLD, message="it hangs"),
        ],
    )


def _products_in(folder: Path) -> tuple[Product, ...]:
    failures = read_history_tables(folder).failures
    return products_of(FoldedGrid(read_grid(folder)), failures)


def _products(out_dir: Path) -> dict[str, Product]:
    return {each.id: each for each in _products_in(_folder(out_dir))}


def test_operation_belongs_to_the_client(tmp_path: Path) -> None:
    """The release is red for nothing that a client does; the client is a product although only operations were
    tried."""
    products = _products(tmp_path)
    assert list(products) == [NEW, OLD, CLIENT, "other-lib-1.0"]
    assert products[NEW].counts == {Verdict.CONFORMS: 2}
    assert not products[NEW].broken
    assert str(products[OLD].broken) == "1 SHOULD, 1 bug"
    assert (products[CLIENT].name, products[CLIENT].role) == ("some-lib 2.1", "client")
    # A rule counts once, however many releases show it.
    assert str(products[CLIENT].broken) == "2 MUST, 1 bug"


def test_headline_counts_by_role(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    failures = read_history_tables(folder).failures
    summary = summarise(FoldedGrid(read_grid(folder)), folder / "index.html", failures)
    assert summary.sentence == "✕ 1 of 2 clients breaks MUST rules: 2 MUST + 1 SHOULD, 2 bugs."
    assert summary.targets == 4


def test_crash_is_said_with_the_count(tmp_path: Path) -> None:
    products = _products(tmp_path)
    assert products[OLD].broken.verdict_text == "✕ crashes: 1 SHOULD, 1 bug"
    assert products[CLIENT].broken.verdict_text == "✕ violates 2 MUST, 1 bug"
    assert BrokenRules.of([products[NEW]]).verdict_text == ""


def test_what_was_not_tried_is_blank(tmp_path: Path) -> None:
    """An operation of another client, from an earlier run, adds to the grid, and counts only where it was tried."""
    folded = FoldedGrid(read_grid(_folder(tmp_path))).by_role["operation"]
    tried, untried = folded.cells[OF_OTHER][1], folded.cells[OF_OTHER][0]
    assert (tried.is_blank, tried.worst.text) == (False, "✓ works")
    assert (untried.is_blank, untried.worst.text) == (True, "")
    (statement,) = (each.statement for each in folded.ranges[OF_OTHER])
    assert statement == "works in 2.3.1, the only release tried"


def test_crash_is_a_word_of_the_cell(tmp_path: Path) -> None:
    """Every page and export takes the text from the cell."""
    folded = FoldedGrid(read_grid(_folder(tmp_path)))
    cell = folded.cells["C.should"][1]
    assert cell.worst.text == "✕ crashes"
    assert (cell.examples, folded.cells["C.must"][0].examples) == (100, 100)


BUSY = {"class": "too slow", "rate": {"failed": 2, "repeats": 2}}
GONE = {"class": "flaky", "rate": {"failed": 0, "repeats": 3}}
SOMETIMES = {"class": "flaky", "rate": {"failed": 1, "repeats": 3}}


@pytest.mark.parametrize(
    ("repeats", "titles"),
    [
        (BUSY, ["It loops"]),
        (GONE, ["It loops"]),
        (SOMETIMES, ["It loops", "It hangs"]),
        (None, ["It loops", "It hangs"]),
    ],
    ids=["busy", "gone", "sometimes", "not repeated"],
)
def test_failure_that_proves_nothing_is_no_bug(
    repeats: dict[str, Any] | None, titles: list[str], tmp_path: Path
) -> None:
    """A red cell may have such failures next to those that make it red."""
    facts = json.dumps({"repeats": repeats})
    folder = write_tables(
        tmp_path,
        targets=[target_row(NEW)],
        clauses=[clause_row("C.must")],
        cells=[cell_row("C.must", NEW, "violates", failures=[SIGNATURE, CRASH])],
        failures=[
            failure_row(SIGNATURE, "C.must", NEW, message="it hangs", facts=facts),
            failure_row(CRASH, "C.must", NEW, message="it loops", facts="{}"),
        ],
    )
    (product,) = _products_in(folder)
    assert sorted(bug.title for bug in product.bugs) == sorted(titles)


def test_clients_that_were_only_tried_do_not_count(tmp_path: Path) -> None:
    """A client whose operations work was not judged by any rule; one whose operation fails counts."""
    folder = write_tables(
        tmp_path,
        targets=[target_row(CLIENT, role="client"), target_row(NEW, role="operation")],
        clauses=[
            clause_row("C.must", role="client"),
            clause_row(OF_OTHER, 1, role="operation", source="other-lib-1.0"),
        ],
        cells=[cell_row("C.must", CLIENT, "violates"), cell_row(OF_OTHER, NEW)],
    )
    folded = FoldedGrid(read_grid(folder))
    assert summarise(folded, folder).sentence == "✕ 1 of 1 client breaks MUST rules: 1 MUST."
    judged, tried = products_of(folded)
    assert those_counted([judged, tried], [judged]) == [judged]
    assert those_counted([judged, tried], [tried]) == [judged, tried]
    assert those_counted([tried], []) == [tried]


def _named_row(client: Client) -> GridTarget:
    return GridTarget(**target_row(client.id, implementation=client.library, release=client.version))


@pytest.mark.parametrize("client", all_clients(), ids=lambda client: client.id)
def test_client_has_one_name_whether_it_was_judged_or_only_tried(client: Client) -> None:
    """An operation's row has only the id; the column of a client has its library and version as well."""
    assert client_name(client.id) == _named_row(client).target_name


def test_operations_of_a_library_with_a_scope_belong_to_the_client_that_was_judged(
    tmp_path: Path,
) -> None:
    """Rows of operations begin with the library's name, and the client's id has no signs."""
    (client,) = (each for each in all_clients() if each.id == "platformatic-kafka-1.35.0")
    row = f"{client.name}.produce"
    judged = {"implementation": client.library, "release": client.version, "role": "client"}
    folder = write_tables(
        tmp_path,
        targets=[target_row(NEW, role="operation"), target_row(client.id, **judged)],
        clauses=[
            clause_row("C.must", role="client"),
            clause_row(row, 1, role="operation", source=client.name),
        ],
        cells=[cell_row("C.must", client.id), cell_row(row, NEW)],
    )
    (product,) = _products_in(folder)
    assert (product.id, product.name) == (client.id, "@platformatic/kafka 1.35.0")
    assert product.column is not None
    assert product.column.short == "1.35.0"
    assert [own.role for own in product.cells] == ["client", "operation"]


TARGETS = ("apache-kafka-4.4.0", "apache-kafka-3.9.2")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (("conforms", "conforms"), "✓ Every MUST clause holds on 2 targets."),
        (("conforms", "not_applicable"), "✓ Every MUST clause holds on 1 target. No MUST clause applies to the other 1."),
        (("known_violation", "conforms"), "✓ Every MUST clause holds on 2 targets, except for 1 known violation."),
        (("violates", "not_run"), "✕ 1 of 2 brokers breaks MUST rules: 1 MUST + 2 PIN. 1 MUST cell could not be judged."),
        (("flaky", "inconclusive"), "✕ 1 of 2 brokers breaks MUST rules: 1 MUST + 2 PIN. 1 MUST cell could not be judged."),
        (("violates", "violates"), "✕ 2 of 2 brokers break MUST rules: 2 MUST + 2 PIN."),
        (("flaky", "conforms"), "✕ 1 of 2 brokers breaks MUST rules: 1 MUST + 2 PIN."),
        (("unexpected_pass", "inconclusive"), "! 1 declared violation is no longer found. 1 MUST cell could not be judged."),
        (("inconclusive", "conforms"), "? No MUST clause is violated, but 1 cell could not be judged."),
        (("not_run", "not_run"), "○ No MUST clause is violated, but 2 cells could not be judged."),
        (("not_applicable", "not_applicable"), "○ No MUST clause was judged."),
    ],
)  # fmt: skip
def test_sentence_says_the_gravest(verdicts: tuple[str, str], sentence: str, tmp_path: Path) -> None:
    """Each pair of verdicts of one MUST clause has its sentence; a violated PIN changes nothing."""
    write_tables(
        tmp_path,
        targets=[target_row(target) for target in TARGETS],
        clauses=[clause_row("C.must"), clause_row("C.pin", 1, level="PIN")],
        cells=[
            *(cell_row("C.must", *pair) for pair in zip(TARGETS, verdicts, strict=True)),
            *(cell_row("C.pin", target, "violates") for target in TARGETS),
        ],
    )
    summary = summarise(FoldedGrid(read_grid(tmp_path)), tmp_path / "index.html")
    assert summary.sentence == sentence
    assert summary.cells[Verdict.VIOLATES] == 2 + verdicts.count("violates")


def test_sentence_counts_the_must_cells_that_were_not_asked(tmp_path: Path) -> None:
    """Readers see that "every MUST clause" does not mean every one in the catalogue."""
    write_tables(
        tmp_path,
        targets=[target_row(target) for target in TARGETS],
        clauses=[clause_row("C.must"), clause_row("C.other", 1)],
        cells=[
            *(cell_row("C.must", target, "conforms") for target in TARGETS),
            cell_row("C.other", TARGETS[0], "conforms"),
            cell_row("C.other", TARGETS[1], "not_applicable"),
        ],
    )
    assert summarise(FoldedGrid(read_grid(tmp_path)), tmp_path / "index.html").sentence == (
        "✓ Every MUST clause holds on 2 targets. 1 of 4 MUST cells could not be judged or do not apply."
    )
