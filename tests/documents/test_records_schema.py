"""The document about the records says what the code says."""

from __future__ import annotations

from tests.documents.records_schema import DOCUMENT, document


def test_document_is_current() -> None:
    """Writing it anew would change nothing: `python -m tests.documents.records_schema` does that."""
    assert DOCUMENT.read_text(encoding="utf-8") == document()
