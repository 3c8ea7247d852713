"""How the suite responds to a command line that it cannot use."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.plugin import clauses_of
from tests.conformance.suite_runs import run_suite

NO_TESTS_COLLECTED = 5


def test_mark_with_an_unknown_clause_is_wrong_usage() -> None:
    """A property with an unknown clause ends the run before its folder is created, and the error suggests the nearest ids."""
    mark = SimpleNamespace(args=["KIP-35.key-unique"])
    item: Any = SimpleNamespace(nodeid="test_something", iter_markers=lambda _: iter([mark]))
    with pytest.raises(
        pytest.UsageError, match=r"no clause 'KIP-35\.key-unique' in the catalogue"
    ) as refused:
        clauses_of(item)
    assert "the nearest are KIP-35.keys-unique" in str(refused.value)


@pytest.mark.slow
def test_nothing_chosen_is_never_green(tmp_path: Path) -> None:
    """A run without any selected property ends with pytest's status for it, and keeps no records."""
    run = run_suite("--broker", "reference", "-k", "no_such_property", runs=tmp_path / "runs")
    assert run.status == NO_TESTS_COLLECTED
    assert " deselected" in run.output
    assert not (tmp_path / "runs").exists()
