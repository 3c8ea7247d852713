"""ARCHITECTURE.md agrees with the code about what it counts and lists."""

from __future__ import annotations

import ast
import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement

from reference_model.broker.model.stages import Stage
from spark_aggregation.py_files import PACKAGES as JOB_PACKAGES
from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import PACKAGES

CONTRACTS: list[dict[str, Any]] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
ARCHITECTURE = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
MAX_PUBLIC_METHODS = 15
NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
USERS_EXTRAS = ("grid", "images", "learning", "releases", "reports")


def test_every_dependency_has_a_reason() -> None:
    """The table of dependencies names each package that the distribution and its extras for users require."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = (*project["dependencies"], *(line for name in USERS_EXTRAS for line in extras[name]))
    asked = {Requirement(line).name for line in lines} - {project["name"]}
    table = ARCHITECTURE.partition("## Dependencies")[2]
    named = {
        name.strip() for cell in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE) for name in re.split("[,;(]", cell)
    }
    assert asked - named == set()


def test_stages_of_planted_defects_are_counted() -> None:
    """The text gives the number of stages that `Stage` has."""
    assert f"one of {NUMBERS[len(Stage)]} stages" in ARCHITECTURE


def test_what_the_roll_up_imports_of_reports_is_listed() -> None:
    """The sentence and the rule name the same modules."""
    allowed = {
        each.rpartition(".")[2]
        for contract in CONTRACTS
        for each in contract.get("ignore_imports", ())
        if each.startswith("spark_aggregation.** -> reports.")
    }
    line = ARCHITECTURE.partition("- Of `reports`, `spark_aggregation` imports only ")[2]
    assert set(re.findall("`([a-z_]+)`", line.partition("\n")[0])) == allowed


def test_modules_of_the_pure_core_that_read_files_are_listed() -> None:
    reading = {
        path.relative_to(REPOSITORY).as_posix()
        for package in ("wire", "clauses", "strategies", "reference_model")
        for path in (REPOSITORY / package).rglob("*.py")
        if re.search(r"\.(read_text|read_bytes|open)\((\)|encoding)", path.read_text("utf-8"))
    }
    elsewhere = {each for each in reading if not each.startswith("reference_model/profiles/")}
    assert elsewhere == {"clauses/catalogue.py", "strategies/minimal_requests.py"}
    assert "profiles and\n  `strategies/minimal_requests.py` read the data files" in ARCHITECTURE


def order_of(contract: dict[str, Any]) -> str:
    """Return the layers of a contract as the text writes them."""
    levels = (
        " | ".join(each.strip(" ()") for each in level.replace(":", "|").split("|")) for level in contract["layers"]
    )
    return " > ".join(levels)


@pytest.mark.parametrize(
    "package", ["conformance", "fixtures", "reference_model", "reports", "spark_aggregation", "upgrade"]
)
def test_orders_inside_packages_are_those_of_the_contracts(package: str) -> None:
    """Each line has the layers that import-linter checks."""
    contract = next(each for each in CONTRACTS if each.get("containers") == [package])
    line = re.search(rf"^- `{package}`: (.*)$", ARCHITECTURE, re.MULTILINE)
    assert line is not None
    assert line[1].partition(",")[0].replace("`", "") == order_of(contract)


def test_orders_of_packages_and_models_are_those_of_the_contracts() -> None:
    """The order of the packages is there, and that inside the models of a broker and of a client."""
    packages = next(each for each in CONTRACTS if each["name"].startswith("Layers"))
    line = ARCHITECTURE.partition("packages on the same level do not import each other:\n")[2]
    order = line.partition(".\n")[0].replace("`", "").replace(", ", " | ")
    assert order == order_of(packages)
    models = next(each for each in CONTRACTS if len(each.get("containers", ())) == 2)
    above, below = models["layers"][:2], models["layers"][1:]
    broker, clients = (" > ".join(f"`{each.strip('()')}`" for each in two) for two in (above, below))
    assert f"in `broker` and `clients`: {broker}, and in `clients`: {clients}" in ARCHITECTURE


def test_packages_of_the_job_are_counted() -> None:
    """The document about clusters gives their number."""
    text = (REPOSITORY / "docs" / "run-on-a-cluster.md").read_text(encoding="utf-8")
    assert f"The job needs {NUMBERS[len(JOB_PACKAGES)]} of the suite's packages" in text


def test_classes_are_small() -> None:
    """No class outside the tests has more than 15 public methods, without its properties."""
    paths = (path for each in {*PACKAGES} - {"tests"} for path in (REPOSITORY / each).rglob("*.py"))
    texts = ((path, path.read_text(encoding="utf-8")) for path in paths)
    large = [
        f"{path.relative_to(REPOSITORY).as_posix()}: {node.name}"
        for path, text in texts
        # Most modules have fewer methods than such a class, so they need not be parsed.
        if text.count("    def ") > MAX_PUBLIC_METHODS
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and len(public_methods(node)) > MAX_PUBLIC_METHODS
    ]
    assert large == []


def public_methods(node: ast.ClassDef) -> list[str]:
    """Return the names of a class's public methods."""
    return [
        each.name
        for each in node.body
        if isinstance(each, ast.FunctionDef)
        and not each.name.startswith("_")
        and not any("property" in ast.unparse(decorator) for decorator in each.decorator_list)
    ]
