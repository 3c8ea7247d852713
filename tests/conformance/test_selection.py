"""Tests of which properties `--clause` selects.

They also cover the sentence about an empty selection.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.selection_plugin import nothing_selected
from tests.conformance.suite_runs import run_suite

COLLECTED = ("test_malformed_request_hurts_nobody", "test_correlation_id_comes_back")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("hedaer", "-k 'hedaer' selects no property"),
        (
            "malformd",
            "-k 'malformd' selects no property; near 'malformd': malformed",
        ),
        (
            "not malformed and corelation",
            "-k 'not malformed and corelation' selects no property; near 'corelation': correlation",
        ),
        (
            "KIP-35.keys-unique",
            "-k 'KIP-35.keys-unique' selects no property; --clause KIP-35.keys-unique selects by clause",
        ),
        (
            "KIP-35.keys-uniqe",
            "-k 'KIP-35.keys-uniqe' selects no property; --clause KIP-35.keys-unique selects by clause",
        ),
        (
            "malformed and comes_back",
            "-k 'malformed and comes_back' selects no property",
        ),
    ],
)
def test_empty_selection_names_near_words(expression: str, sentence: str) -> None:
    """Words that select something alone are no mistake; a clause is selected by another option."""
    assert nothing_selected([], expression, COLLECTED) == sentence


def test_clause_without_a_property_of_the_run_is_said() -> None:
    """The clause exists, and the run has no property of it."""
    assert nothing_selected(["KIP-35.client-*"], "", COLLECTED) == (
        "--clause KIP-35.client-* selects no property that this run can judge: of its role, tier and listeners"
    )


def test_run_of_one_clause_has_its_cells_and_is_not_whole(tmp_path: Path) -> None:
    """A pattern selects the clauses that it matches; no other property is judged, and the run replaces no whole one."""
    options = ("--broker", "reference", "--tier", "smoke", "--listener", "plaintext")
    run = run_suite(*options, "--clause", "KIP-35.keys-*", runs=tmp_path)
    assert run.status == 0, run.output
    assert {cell["clause"] for cell in run.header["planned_cells"]} == {"KIP-35.keys-unique"}
    assert run.header["whole"] is False


def test_unknown_clause_is_wrong_usage(tmp_path: Path) -> None:
    """The nearest ids are named, and nothing is recorded."""
    run = run_suite("--broker", "reference", "--clause", "KIP-35.keys-uniqe", runs=tmp_path / "runs")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "no clause has this id; nearest: KIP-35.keys-unique" in run.output
    assert not (tmp_path / "runs").exists()
