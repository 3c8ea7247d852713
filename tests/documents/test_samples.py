"""What README and guide show of a failing run is what such a run prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.suite_runs import REPOSITORY, run_suite

pytestmark = [pytest.mark.slow]
TARGET = "reference+tags-descend"
PROPERTY = "test_tags_in_answers_ascend"
_FINDING = re.compile(r"^✕ .+?^  again: .+?$", re.MULTILINE | re.DOTALL)
_RUN_FOLDER = re.compile(r"\S+/\d{8}T\d{6}Z-[0-9a-f]{8}/")


def finding_in(text: str) -> str:
    """Return the first finding of an output or document, without the path of the run folder."""
    found = _FINDING.search(text)
    assert found
    return _RUN_FOLDER.sub("RUNS/RUN/", found[0])


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Judge the target of the samples by the property that fails."""
    return run_suite(
        *("--broker", TARGET, "--listener", "plaintext", "--tier", "smoke", "-k", PROPERTY),
        runs=tmp_path_factory.mktemp("samples") / "runs",
    ).output


@pytest.mark.parametrize("document", ["README.md", "docs/read-a-failure.md"])
def test_sample_is_what_a_run_prints(document: str, output: str) -> None:
    """Clause, message, bytes and the name of the failure are the same."""
    text = (REPOSITORY / Path(document)).read_text(encoding="utf-8")
    assert finding_in(text) == finding_in(output)
