"""ARCHITECTURE.md agrees with the code about what it counts and lists."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement

from reference_model.tampering import Stage
from tests.conformance.suite_runs import REPOSITORY

ARCHITECTURE = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def test_every_dependency_has_a_reason() -> None:
    """The table of dependencies names each package that the distribution and its extras for users require."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = (*project["dependencies"], *extras["grid"], *extras["images"])
    asked = {Requirement(line).name for line in lines}
    table = ARCHITECTURE.partition("## Dependencies")[2]
    named = {
        name.strip()
        for cell in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
        for name in re.split("[,;(]", cell)
    }
    assert asked - named == set()


def test_stages_of_planted_defects_are_counted() -> None:
    """The text gives the number of stages that `Stage` has."""
    assert f"one of {NUMBERS[len(Stage)]} stages" in ARCHITECTURE
