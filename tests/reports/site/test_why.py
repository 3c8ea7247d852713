"""What the page on why to believe the report counts."""

from __future__ import annotations

from pathlib import Path

from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.site.why import evidence_of
from tests.reports.roll_up_tables import cell_row, clause_row, run_row, target_row, write_tables

KAFKA, OTHER = "apache-kafka-4.4.0", "other-1.0"


def test_evidence_is_counted_per_cell(tmp_path: Path) -> None:
    """Examples of all listeners count together; predictions are those of the model for Apache Kafka alone."""
    model, rule = "MODEL.agrees-with-reference", "KIP-35.keys"
    write_tables(
        tmp_path,
        runs=[run_row(example_rows=123)],
        targets=[target_row(KAFKA), target_row(KAFKA, listener="ssl"), target_row(OTHER)],
        clauses=[clause_row(rule, 0), clause_row(model, 1, source="MODEL")],
        cells=[
            cell_row(rule, KAFKA, examples=6, conforms=6),
            cell_row(rule, KAFKA, listener="ssl", examples=4, conforms=4),
            cell_row(rule, OTHER, examples=9, conforms=9),
            cell_row(model, KAFKA, examples=50, conforms=49),
            cell_row(model, OTHER, "inconclusive", examples=5, conforms=5, reason="it was slow"),
        ],
    )
    evidence = evidence_of(FoldedGrid(read_grid(tmp_path)))
    assert evidence.examples == 123
    assert evidence.predicted == (49, 50)
    assert (evidence.kept, evidence.thin, evidence.unsettled) == (3, 1, 1)
    assert evidence.listeners == ("plaintext", "ssl")
