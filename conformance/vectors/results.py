"""Results of vectors as JSON lines, which any test runner can write.

It finds what is wrong with a file of them.

Each line is an object: `{"id": ..., "version": 1, "result": "pass"}`. The result is "pass", "fail" or "skip".
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.vectors.vector_set import VERSION, VectorSet

PASS, FAIL, SKIP = RESULTS = ("pass", "fail", "skip")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedResults:
    """What a file of results shows.

    Attributes:
        problems: why parts of it cannot be used, a sentence each.
        failed: ids of vectors that failed.
        skipped: ids of those that were left out on purpose.
        missing: ids of those without a result.
        passed: how many passed.
    """

    problems: tuple[str, ...]
    failed: tuple[str, ...]
    skipped: tuple[str, ...]
    missing: tuple[str, ...]
    passed: int


def result_line(vector_id: str, result: str, **more: Any) -> str:
    """Return the line of one result."""
    return json.dumps({"id": vector_id, "version": VERSION, "result": result, **more})


def checked_results(text: str, vectors: VectorSet, kinds: Collection[str] = ()) -> CheckedResults:
    """Compare a file of results with the set.

    Args:
        text: the file.
        vectors: the set.
        kinds: the kinds that must be complete; if none is given, those of which there is any result.
    """
    kind_of = {vector["id"]: kind for kind, vector in vectors}
    results: dict[str, str] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        problem = _problem_of(line, vectors, kind_of, results)
        if problem:
            problems.append(f"line {number}: {problem}")
    if not results and not problems:
        problems.append("it has no results: write one JSON object a line, with id, version and result")
    wanted = set(kinds) or {kind_of[each] for each in results}
    return CheckedResults(
        problems=tuple(problems),
        failed=tuple(_with(FAIL, results)),
        skipped=tuple(_with(SKIP, results)),
        missing=tuple(each for each, kind in kind_of.items() if kind in wanted and each not in results),
        passed=len([*_with(PASS, results)]),
    )


def _with(result: str, results: dict[str, str]) -> Iterator[str]:
    return (each for each, own in results.items() if own == result)


def _problem_of(line: str, vectors: VectorSet, kind_of: dict[str, str], results: dict[str, str]) -> str:
    """Return what is wrong with a line; take its result if nothing is."""
    try:
        values = json.loads(line)
        vector_id, version, result = values["id"], values["version"], values["result"]
    except (ValueError, KeyError, TypeError):
        return 'it is no JSON object with "id", "version" and "result"; is the file cut off?'
    if version != VERSION:
        return f"it is about version {version} of the set, and this is version {VERSION}: run the vectors again"
    if vector_id in vectors.index["retired"]:
        return f"{vector_id} is no longer in the set: remove it"
    if vector_id not in kind_of:
        near = difflib.get_close_matches(str(vector_id), kind_of, n=1)
        return f"{vector_id} is no vector{f'; did you mean {near[0]}?' if near else ''}"
    if result not in RESULTS:
        return f"{vector_id} has the result {result!r}; write pass, fail or skip"
    if results.get(vector_id, result) != result:
        return f"{vector_id} has two results"
    results[vector_id] = result
    return ""
