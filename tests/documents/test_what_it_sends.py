"""The document about what a run sends has the list that the gate of read-only runs has."""

from __future__ import annotations

import re

from fixtures.tiers import EXPECTED, Kind
from tests.conformance.suite_runs import REPOSITORY
from wire.read_only import READ_ONLY, ReadOnlyApi


def test_document_has_the_list_of_the_gate() -> None:
    """Every API of the list is in the table, in the order of the keys, with what it reads; and no other one."""
    text = (REPOSITORY / "docs" / "what-it-sends.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (.+) \|$", text, re.MULTILINE)
    assert [(int(key), ReadOnlyApi(name, reads)) for name, key, reads in rows] == sorted(
        READ_ONLY.items()
    )


def test_document_has_the_figures_that_runs_announce() -> None:
    """The table's figures are those of the line before a run; gentle runs are no row of it."""
    text = (REPOSITORY / "docs" / "what-it-sends.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `--(\S+)(?: --tier (\w+))?` \| ([\d,]+) \| ([\d,]+) \|$", text, re.M)
    found = {
        (tier or "standard", kind): tuple(int(each.replace(",", "")) for each in figures)
        for kind, tier, *figures in rows
    }
    assert found == {
        (amount, kind): figures
        for (amount, kind), figures in EXPECTED.items()
        if kind is not Kind.WELL_FORMED
    }
