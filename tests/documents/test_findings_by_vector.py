"""docs/findings-by-vector.md follows from its data.

No finding is left out.
"""

from __future__ import annotations

import pytest

from conformance.vectors.vector_set import load_vectors
from reports.document.markdown_form import markdown
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.suite_runs import REPOSITORY
from workflows.compatibility.data import DATA_FILE, read_data
from workflows.compatibility.document import FINDINGS
from workflows.findings_by_vector.document import DOCUMENT, document_of
from workflows.findings_by_vector.rows import FindingRow, FindingState, rows_of
from workflows.findings_by_vector.tried import read_tried

DOCS = REPOSITORY / "docs"
DATA = read_data(DOCS / DATA_FILE)


@pytest.fixture(scope="module")
def rows() -> tuple[FindingRow, ...]:
    with assumptions_outside_hypothesis():
        return rows_of(DATA, DOCS / FINDINGS, load_vectors(), read_tried(DOCS))


def test_the_document_follows_from_its_data(rows: tuple[FindingRow, ...]) -> None:
    """`python -m workflows.findings_by_vector --out docs` writes it again."""
    assert (DOCS / DOCUMENT).read_text(encoding="utf-8") == markdown(document_of(rows))


def test_every_finding_has_a_row(rows: tuple[FindingRow, ...]) -> None:
    assert [row.finding.id for row in rows] == [finding.id for finding in DATA.findings]


def test_what_can_be_a_vector_is_one(rows: tuple[FindingRow, ...]) -> None:
    """`python -m workflows.vectors --add docs/findings/ID` makes one; then its product is tried again."""
    assert [row.finding.id for row in rows if row.state is FindingState.MISSING] == []


def test_a_row_has_vectors_of_the_set_or_a_reason(rows: tuple[FindingRow, ...]) -> None:
    known = {vector["id"] for _, vector in load_vectors()}
    for row in rows:
        assert set(row.vectors) <= known, row.finding.id
        assert row.vectors or row.why or row.state is FindingState.NOT_TRIED, row.finding.id
