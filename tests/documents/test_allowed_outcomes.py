"""docs/allowed-outcomes.md lists the choices that the model has."""

from __future__ import annotations

from workflows.documents.allowed_outcomes import DOCUMENT, document


def test_every_choice_of_the_model_is_documented() -> None:
    """Writing the document again would change nothing: `python -m workflows.documents.allowed_outcomes` does it."""
    assert DOCUMENT.read_text(encoding="utf-8") == document()
