"""The documents that follow from code agree with it."""

from __future__ import annotations

from types import ModuleType

import pytest

from workflows.documents.__main__ import DOCUMENTS


@pytest.mark.parametrize("module", DOCUMENTS, ids=lambda module: module.__name__)
def test_document_is_current(module: ModuleType) -> None:
    """Writing it again with `python -m workflows.documents` changes nothing; the diff shows a lost clause, for example."""
    assert module.DOCUMENT.read_text(encoding="utf-8") == module.document()
