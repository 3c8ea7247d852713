"""docs/clauses.md lists the clauses of the catalogue."""

from __future__ import annotations

from workflows.documents.clause_list import DOCUMENT, document


def test_every_clause_is_in_the_list_and_none_is_lost() -> None:
    """Rewriting it with `python -m workflows.documents.clause_list` changes nothing; the diff shows a lost clause."""
    assert DOCUMENT.read_text(encoding="utf-8") == document()
