"""Runs that several tests share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.commands.catalogue import properties_of
from reference_model.defects import DEFECTS
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite

FEW_DEFECTS = (
    "negative-correlation-ids-lose-their-sign",
    "tags-descend",
    "names-are-not-checked",
)


@pytest.fixture(scope="session")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """The smoke tier on the healthy reference broker, with Allure's results in `allure` next to `runs`."""
    folder = tmp_path_factory.mktemp("healthy")
    return run_suite(
        *("--broker", "reference", "--tier", "smoke", "--alluredir", str(folder / "allure")),
        runs=folder / "runs",
    )


@pytest.fixture(scope="session")
def defects_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run of a few planted defects, with Allure's results in `allure` next to `runs`."""
    return _judge_defects(FEW_DEFECTS, tmp_path_factory.mktemp("defects"))


@pytest.fixture(scope="session")
def every_defect_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """The same with every planted defect, which takes minutes."""
    return _judge_defects(tuple(DEFECTS), tmp_path_factory.mktemp("every_defect"))


def _judge_defects(names: Iterable[str], folder: Path) -> SuiteRun:
    """Judge each defect by the properties of the clauses that it breaks."""
    brokers = [part for name in names for part in ("--broker", f"reference+{name}")]
    chosen = [
        f"{SUITE}brokers/{place.split(':')[0]}::{place.split(':')[2]}[reference+{name}]"
        for name in names
        for clause in DEFECTS[name].breaks
        for place in properties_of(clause)
    ]
    return run_suite(
        *(*brokers, "--alluredir", str(folder / "allure")),
        runs=folder / "runs",
        suite=chosen,
        profile="unshrunk",
    )
