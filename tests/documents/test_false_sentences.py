"""Sentences that turned out to be false do not come back, in documents and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import DOCUMENTS, name_of

PACKAGES = (
    "benchmarks",
    "clauses",
    "conformance",
    "fixtures",
    "kafka_conformance",
    "proposals",
    "reference_model",
    "reports",
    "spark_aggregation",
    "strategies",
    "tests",
    "wire",
    "workflows",
)
FALSE = {
    "every run finds it": "a run finds what its pinned examples or its draws reach",
    "turn red in every run": "generated examples are tried with some seeds, not with all",
    "at least a hundred examples": "properties that wait for the target draw fewer",
    "ten times as many as the others": "a deep run draws more only for properties without a number of their own",
    "each with a property and planted defects": "one clause compares releases and has no property",
    "red is what was not judged": "red is what is violated",
    "red where a planned target was not judged": "a target with an inconclusive cell makes the job red, too",
    "has no run that ended with 0, 1 or 12.": "a target with an inconclusive cell makes the job red, too",
    "one of four stages": "there are nine",
    "reports.records.refusal": "its name is RunRefusal",
    "`history.commit`": "its name is RunHistory",
    "costs `grid` in memory": "the benchmark measures a roll-up",
    "a file above 256 mb": "the limit is LARGEST_FILE_BYTES",
    "among the files of the run is found": "files at the top of a run folder, such as summary.md, have no hashes",
}
"""Each with the reason why it is false."""


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield every docstring with its file's name."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for package in PACKAGES:
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, documented):
                    yield name_of(path), ast.get_docstring(node) or ""


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """All documents and docstrings with their file's name, each in lower case on one line."""
    documents = ((name_of(path), path.read_text("utf-8")) for path in DOCUMENTS)
    return [(name, " ".join(text.lower().split())) for name, text in (*documents, *docstrings())]


@pytest.mark.parametrize("sentence", FALSE)
def test_no_text_says_what_is_false(sentence: str, texts: list[tuple[str, str]]) -> None:
    """The reader of a document or a docstring may rely on it."""
    assert [name for name, text in texts if sentence in text] == [], FALSE[sentence]
