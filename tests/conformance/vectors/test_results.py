"""Tests of the check of results that other test runners wrote."""

from __future__ import annotations

import pytest

from conformance.vectors.results import FAIL, PASS, SKIP, checked_results, result_line
from conformance.vectors.vector_set import CHOICES, VERSION, VectorSet, load_vectors

SET = load_vectors()
IDS = [vector["id"] for vector in SET.vectors[CHOICES]]


def lines(*results: tuple[str, str]) -> str:
    return "".join(f"{result_line(vector_id, result)}\n" for vector_id, result in results)


def test_a_complete_file_has_nothing_missing() -> None:
    checked = checked_results(lines(*((each, PASS) for each in IDS)), SET)
    assert (checked.problems, checked.failed, checked.missing, checked.passed) == ((), (), (), len(IDS))


def test_what_failed_was_skipped_or_is_missing_is_named() -> None:
    checked = checked_results(lines((IDS[0], FAIL), (IDS[1], SKIP)), SET)
    assert (checked.failed, checked.skipped, checked.missing) == ((IDS[0],), (IDS[1],), tuple(IDS[2:]))


def test_a_kind_without_results_is_missing_if_it_is_asked_for() -> None:
    checked = checked_results(lines((IDS[0], PASS)), SET, ["requests"])
    assert checked.missing == tuple(vector["id"] for vector in SET.vectors["requests"])


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (result_line(IDS[0], PASS)[:20], "is the file cut off?"),
        ("[]", "is the file cut off?"),
        (f'{{"id": "{IDS[0]}", "version": {VERSION + 1}, "result": "pass"}}', f"this is version {VERSION}"),
        (result_line(f"{IDS[0][:-1]}x", PASS), f"did you mean {IDS[0]}?"),
        (result_line("nonsense", PASS), "nonsense is no vector"),
        (result_line(IDS[0], "good"), "write pass, fail or skip"),
        ("", "it has no results"),
        (lines((IDS[0], PASS), (IDS[0], FAIL)), "has two results"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_with_its_number(line: str, what: str) -> None:
    (problem,) = checked_results(line, SET).problems
    assert what in problem


def test_a_retired_id_is_stale() -> None:
    retired = VectorSet(index={**SET.index, "retired": ["KIP-35.gone-000000"]}, vectors=SET.vectors)
    (problem,) = checked_results(result_line("KIP-35.gone-000000", PASS), retired).problems
    assert problem == "line 1: KIP-35.gone-000000 is no longer in the set: remove it"
