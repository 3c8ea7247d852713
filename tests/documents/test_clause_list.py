"""docs/clauses.md lists the clauses that there are."""

from __future__ import annotations

from tests.documents.clause_list import DOCUMENT, document


def test_every_clause_is_in_the_list_and_none_is_lost() -> None:
    """Writing it anew would change nothing: `python -m tests.documents.clause_list` does that, and shows what is lost."""
    assert DOCUMENT.read_text(encoding="utf-8") == document()
