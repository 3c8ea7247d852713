"""Each test that docs/security.md names exists."""

from __future__ import annotations

import re

from tests.conformance.suite_runs import REPOSITORY

_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
PAGE = REPOSITORY / "docs" / "security.md"


def test_every_row_names_a_test_that_exists() -> None:
    """A row without one, or with one that was renamed, is a sentence that nothing shows."""
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "shown by" not in line
    ]
    assert len(rows) > 30
    for row in rows:
        named = _NAMED.findall(row)
        assert named, row
        for path, name in named:
            text = (REPOSITORY / path).read_text(encoding="utf-8")
            assert f"def {name}(" in text, f"{path}::{name}"
