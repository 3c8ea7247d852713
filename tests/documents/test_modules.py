"""A module is one thought: its parts use each other, and constants come first."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile

import pytest

from tests.documents.parsed_modules import definitions, modules

MIN_LINES_OF_A_PART = 50
MAX_FIRST_LINE = 80
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


def unconnected_parts(tree: ast.Module) -> list[list[str]]:
    """Return the parts of a module that share no name and have at least 50 lines, largest first."""
    every = list(definitions(tree))
    known = {each.name for each in every}
    part_of: dict[str, set[str]] = {each.name: {each.name} for each in every}
    for each in every:
        for name in each.used & known:
            joined = part_of[each.name] | part_of[name]
            for member in joined:
                part_of[member] = joined
    lines: Mapping[str, int] = {each.name: each.lines for each in every}
    parts = {id(part): sorted(part) for part in part_of.values()}
    long = [part for part in parts.values() if sum(map(lines.__getitem__, part)) >= MIN_LINES_OF_A_PART]
    return sorted(long, key=lambda part: -sum(map(lines.__getitem__, part)))


def late_constants(tree: ast.Module) -> list[str]:
    """Return the constants that could stand above a module's first function or class, but come later."""
    after_constants = [*dropwhile(lambda each: each.is_value, definitions(tree))]
    late: list[str] = []
    for each in after_constants:
        needed = {before.name for before in after_constants} - {each.name, *late}
        if each.is_value and CONSTANT.fullmatch(each.name) and not each.used & needed:
            late.append(each.name)
    return late


def _is_test(path: str) -> bool:
    return path.startswith("tests/") or "/tests/" in path


def test_modules_are_one_thought() -> None:
    halves: dict[str, Sequence[Sequence[str]]] = {
        path: parts
        for path, tree in modules().items()
        if not _is_test(path) and not _has_independent_parts(path) and len(parts := unconnected_parts(tree)) > 1
    }
    assert halves == {}


def _has_independent_parts(path: str) -> bool:
    """Return whether the definitions of a module stand alone by nature: properties and planted faults."""
    return path.startswith(("conformance/brokers/", "reference_model/faults/"))


def test_constants_come_first() -> None:
    late = {path: names for path, tree in modules().items() if not _is_test(path) and (names := late_constants(tree))}
    assert late == {}


def test_first_lines_say_what_a_module_is_in_80_characters() -> None:
    texts = {path: ast.get_docstring(tree) for path, tree in modules().items()}
    wrong = [path for path, text in texts.items() if text and len(text.splitlines()[0]) > MAX_FIRST_LINE]
    assert wrong == []


LONG_FUNCTION = "def {name}():\n" + "    {uses}\n" * MIN_LINES_OF_A_PART


@pytest.mark.parametrize(
    ("second", "parts"),
    [
        pytest.param(LONG_FUNCTION.format(name="second", uses="pass"), [["first"], ["second"]], id="nothing-shared"),
        pytest.param(
            LONG_FUNCTION.format(name="second", uses="first()"), [["first", "second"]], id="one-uses-the-other"
        ),
        pytest.param("def second(): pass", [["first"]], id="the-second-is-short"),
    ],
)
def test_parts_are_joined_by_the_names_they_use(second: str, parts: list[list[str]]) -> None:
    text = LONG_FUNCTION.format(name="first", uses="pass") + second
    assert unconnected_parts(ast.parse(text)) == parts


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("A = 1\ndef f(): pass", []),
        ("def f(): pass\nA = 1", ["A"]),
        ("def f(): pass\nA = f()", []),
        ("def f(): pass\nA = f()\nB = A", []),
        ("class C: pass\nA: Mapping[str, C] = {}", []),
    ],
)
def test_a_constant_may_only_follow_what_it_needs(text: str, late: list[str]) -> None:
    assert late_constants(ast.parse(text)) == late
