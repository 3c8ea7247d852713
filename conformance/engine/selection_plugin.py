"""Pytest plugin that selects properties by clause.

If a selection is empty, the plugin names similar clauses and properties.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

import pytest

from clauses.catalogue import catalogue
from conformance.engine.planning import is_judged
from reports.plugin import clauses_of

CLAUSE = "--clause"
MAX_NEAR = 3
_COLLECTED = pytest.StashKey[frozenset[str]]()
"""The names of all properties that were collected, before any was deselected."""
_WORD = re.compile(r"[\w.+-]+")
_OPERATORS = ("and", "or", "not")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("kafka-conformance", "Kafka conformance: what is judged")
    group.addoption(
        CLAUSE,
        metavar="ID",
        action="append",
        default=[],
        help="judge only the properties of this clause, or of those that a pattern matches ('KIP-1242.*'); repeatable",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the properties of other clauses than those that are asked for.

    Raises:
        pytest.UsageError: a pattern matches no clause.
    """
    judged = {item: {clause.id for clause in clauses_of(item)} for item in items if is_judged(item)}
    config.stash[_COLLECTED] = frozenset(item.name.partition("[")[0] for item in judged)
    patterns: list[str] = config.getoption(CLAUSE)
    if not patterns:
        return
    known = {clause.id for clause in catalogue()}.union(*judged.values())
    for pattern in patterns:
        if not _matching(pattern, known):
            raise pytest.UsageError(
                f"{CLAUSE} {pattern}: no clause has this id{_nearest(pattern, known)}; "
                "`kafka-conformance clauses` lists all"
            )
    selected = {id_ for pattern in patterns for id_ in _matching(pattern, known)}
    others = [item for item, ids in judged.items() if ids.isdisjoint(selected)]
    if others:
        config.hook.pytest_deselected(items=others)
        gone = set(others)
        items[:] = [item for item in items if item not in gone]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is near the words of a selection if there is nothing to judge."""
    config = terminalreporter.config
    collected = config.stash.get(_COLLECTED, None)
    if not collected or terminalreporter._session is None or terminalreporter._session.items:
        return
    patterns, expression = config.getoption(CLAUSE), config.option.keyword
    if patterns or expression:
        terminalreporter.write_line(nothing_selected(patterns, expression, collected))


def nothing_selected(patterns: Collection[str], expression: str, collected: Collection[str]) -> str:
    """Return the sentence about a selection that is empty.

    Args:
        patterns: the values of `--clause`.
        expression: the value of `-k`.
        collected: the names of the properties that it could have selected.
    """
    filters = [
        *(f"{CLAUSE} {each}" for each in patterns),
        *([f"-k {expression!r}"] if expression else []),
    ]
    if not expression:
        return f"{' '.join(filters)} selects no property that this run can judge: of its role, tier and listeners"
    ids = [clause.id for clause in catalogue()]
    hints = [hint for word in _words(expression) if (hint := _hint(word, collected, ids))]
    return "; ".join([f"{' '.join(filters)} selects no property", *hints])


def _words(expression: str) -> Iterable[str]:
    return (word for word in _WORD.findall(expression) if word not in _OPERATORS)


def _hint(word: str, collected: Collection[str], ids: Collection[str]) -> str:
    """Return what is near a word of an expression: a clause, or names of properties; empty if nothing is."""
    clauses = _matching(word, ids) or difflib.get_close_matches(word, ids, n=1, cutoff=0.8)
    if clauses:
        return f"{CLAUSE} {clauses[0]} selects by clause"
    parts = {part for name in collected for part in name.split("_") if len(part) > 3}
    if any(word.lower() in part for part in (*parts, *collected)):
        # This word alone would select something.
        return ""
    near = difflib.get_close_matches(word.lower(), [*sorted(collected), *sorted(parts)], n=MAX_NEAR)
    return f"near {word!r}: {', '.join(near)}" if near else ""


def _matching(pattern: str, ids: Iterable[str]) -> list[str]:
    return [each for each in ids if fnmatchcase(each, pattern)]


def _nearest(pattern: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(pattern, sorted(known), n=MAX_NEAR, cutoff=0.3)
    return f"; nearest: {', '.join(near)}" if near else ""
