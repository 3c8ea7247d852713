"""The project's address has one home, from which documents get it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.suite_runs import REPOSITORY
from workflows.documents.project_address import NAME, addressed_documents, project_repository, with_address

NEW = "Someone/kafka-conformance"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- uses: OWNER/kafka-conformance@COMMIT", f"- uses: {NEW}@COMMIT"),
        ("repository: old-owner/kafka-conformance", f"repository: {NEW}"),
        ("gh attestation verify FILE --repo OWNER/kafka-conformance", f"gh attestation verify FILE --repo {NEW}"),
        ("https://github.com/OWNER/kafka-conformance/issues", f"https://github.com/{NEW}/issues"),
        (
            "https://OWNER.github.io/kafka-conformance/SHA256SUMS",
            "https://someone.github.io/kafka-conformance/SHA256SUMS",
        ),
    ],
    ids=["action", "checkout", "command", "link", "pages"],
)
def test_address_is_written(text: str, expected: str) -> None:
    assert with_address(text, NEW) == expected


@pytest.mark.parametrize(
    "text",
    ["/opt/kafka-conformance/bin", "uses: OWNER/NAME@COMMIT", "https://github.com/apache/kafka", "kafka-conformance"],
)
def test_other_text_stays(text: str) -> None:
    assert with_address(text, NEW) == text


@pytest.mark.parametrize("path", [*addressed_documents()], ids=lambda path: path.name)
def test_document_has_the_address_of_its_home(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert with_address(text, project_repository()) == text, "run `python -m workflows.documents`"


def test_nothing_else_writes_the_address() -> None:
    """Neither code nor a template: what needs it reads it from pyproject.toml."""
    owner = re.escape(project_repository().partition("/")[0])
    address = re.compile(rf"\b{owner}(/|\.github\.io/){NAME}\b")
    folders = ("conformance", "fixtures", "reports", "spark_aggregation", "upgrade", "vectors", "workflows", ".github")
    files = [path for folder in folders for path in (REPOSITORY / folder).rglob("*.*")]
    texts = (path for path in files if path.suffix in (".py", ".j2", ".html", ".yml", ".toml", ".json"))
    hand_written = [path for path in texts if address.search(path.read_text(encoding="utf-8"))]
    assert hand_written == []
