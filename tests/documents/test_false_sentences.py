"""Sentences that turned out to be false do not come back, in documents and modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import DOCUMENTS, PACKAGES, name_of

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


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """All documents and modules with their file's name, each in lower case on one line."""
    modules = (path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py"))
    paths = (*DOCUMENTS, *(path for path in modules if path != Path(__file__)))
    return [(name_of(path), " ".join(path.read_text("utf-8").lower().split())) for path in paths]


@pytest.mark.parametrize("sentence", FALSE)
def test_no_text_says_what_is_false(sentence: str, texts: list[tuple[str, str]]) -> None:
    """The reader of a document or a module may rely on it."""
    assert [name for name, text in texts if sentence in text] == [], FALSE[sentence]
