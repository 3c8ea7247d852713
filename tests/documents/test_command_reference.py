"""The variables in docs/commands.md."""

from __future__ import annotations

import pytest

from tests.conformance.suite_runs import REPOSITORY
from workflows.documents.command_reference import VARIABLES


@pytest.mark.parametrize("name", [name for name in VARIABLES if name.startswith("KAFKA_")])
def test_variable_is_read_by_the_suite(name: str) -> None:
    """A variable that the document names is one that the code knows."""
    folders = ("conformance", "fixtures", "reports")
    files = (path for folder in folders for path in (REPOSITORY / folder).rglob("*.*"))
    texts = (path.read_text("utf-8") for path in files if path.suffix in (".py", ".j2", ".sh"))
    assert any(name in text for text in texts)
