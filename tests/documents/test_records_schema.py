"""docs/records-schema.md agrees with the code."""

from __future__ import annotations

from workflows.documents.records_schema import DOCUMENT, document


def test_document_is_current() -> None:
    """Rewriting it with `python -m workflows.documents.records_schema` changes nothing."""
    assert DOCUMENT.read_text(encoding="utf-8") == document()
