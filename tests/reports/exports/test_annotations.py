"""Annotations name what fails a run, and do not act on the log of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.exports.annotations import MAX_ANNOTATIONS, annotation_lines, newer_lines
from reports.exports.issues import violations_of
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from tests.reports.exports.grids import CLAUSE, HOSTILE, newer_grid
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables


def annotated(folder: Path) -> list[str]:
    """Return the annotations of a grid."""
    failures = read_history_tables(folder).failures or ()
    folded = FoldedGrid(read_grid(folder))
    return list(annotation_lines(violations_of(folded, failures, pages=None), folded))


def test_each_violation_that_fails_a_run_is_a_line(small: Path) -> None:
    """A violated SHOULD fails none."""
    (line,) = annotated(small)
    assert line.startswith(f"::error title=MUST {CLAUSE}%3A apache-kafka-3.9.2::What {CLAUSE} says. Seen: ")


def test_what_is_newer_than_the_set_is_a_notice(tmp_path: Path) -> None:
    folder = newer_grid(tmp_path / "grid")
    assert annotated(folder) == []
    assert list(newer_lines(FoldedGrid(read_grid(folder)))) == [
        f"::notice title=MUST {CLAUSE}%3A apache-kafka-4.4.0%2C fails nothing::What {CLAUSE} says. It does not count yet: "
        "newer than set 0.1."
    ]


def grid_of(folder: Path, *cells: tuple[str, dict[str, Any]]) -> Path:
    """Write a grid of one client; its cells are verdicts with changes of their rows."""
    clauses = [f"KIP-1.clause-{number}" for number in range(len(cells))]
    return write_tables(
        folder,
        targets=[target_row("my-client")],
        clauses=[clause_row(clause, index) for index, clause in enumerate(clauses)],
        cells=[
            cell_row(clause, "my-client", verdict, **changes)
            for clause, (verdict, changes) in zip(clauses, cells, strict=True)
        ],
    )


def test_client_that_fails_with_a_healthy_broker_is_one_error(tmp_path: Path) -> None:
    """The run fails, so its page says why: once, and not for each clause, nor for those that fail nothing."""
    why = "ClientFails: my-client fails against a healthy scripted broker"
    newer = {"reason": f"newer than set 0.1; {why}"}
    cells = [("inconclusive", {"reason": why})] * 2
    folder = grid_of(tmp_path / "grid", *cells, ("informational", newer))
    assert annotated(folder) == [f"::error title=my-client%3A 2 cells could not be judged::{why} (KIP-1.clause-0)"]
    assert not list(newer_lines(FoldedGrid(read_grid(folder))))


def test_violation_that_is_gone_is_an_error(tmp_path: Path) -> None:
    folder = grid_of(tmp_path / "grid", ("unexpected_pass", {"known_violation": "in the baseline (known.txt)"}))
    assert annotated(folder) == [
        "::error title=KIP-1.clause-0%3A my-client%2C declared as violated::"
        "The clause holds now: take out the declaration, which says: in the baseline (known.txt)"
    ]


def test_there_are_at_most_ten_and_nothing_in_them_acts(tmp_path: Path) -> None:
    clauses = [f"KIP-1.clause-{number}" for number in range(MAX_ANNOTATIONS + 5)]
    signatures = [f"{number:016x}" for number in range(len(clauses))]
    target = "apache-kafka-4.4.0"
    pairs = list(zip(clauses, signatures, strict=True))
    folder = write_tables(
        tmp_path / "grid",
        targets=[target_row(target)],
        clauses=[clause_row(clause, index) for index, clause in enumerate(clauses)],
        cells=[cell_row(clause, target, "violates", failures=[signature]) for clause, signature in pairs],
        failures=[
            failure_row(signature, clause, target, message=f"100 %\r::warning::{HOSTILE}")
            for clause, signature in pairs
        ],
    )
    lines = annotated(folder)
    assert len(lines) == MAX_ANNOTATIONS
    assert (
        lines[-1]
        == "::error title=Kafka conformance::6 more errors are not shown here; the summary of the job has them all."
    )
    for line in lines:
        assert line.isprintable()
        assert line.startswith("::error title=")
    assert r"100 %25\r::warning::" in lines[0]
