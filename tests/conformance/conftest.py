"""Runs that several tests share."""

from __future__ import annotations

import pytest

from conformance.commands.catalogue import properties_of
from reference_model.defects import DEFECTS
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite


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
    """A run of each planted defect, judged by the properties of the clauses that it breaks."""
    folder = tmp_path_factory.mktemp("defects")
    chosen = [
        f"{SUITE}brokers/{place.split(':')[0]}::{place.split(':')[2]}[reference+{defect.name}]"
        for defect in DEFECTS.values()
        for clause in defect.breaks
        for place in properties_of(clause)
    ]
    return run_suite(
        *("--broker", "reference+*", "--alluredir", str(folder / "allure")),
        runs=folder / "runs",
        suite=chosen,
        profile="unshrunk",
    )
