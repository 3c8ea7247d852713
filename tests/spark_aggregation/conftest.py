"""One Spark session and one run for all tests of the roll-up, which are slow.

The run is one of the suite.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_aggregation.session import start_session
from tests.conformance.suite_runs import SuiteRun, run_suite


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Java, before pytest chooses by marks."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return the session that the command starts for small runs."""
    session = start_session(quick=True, interpreted=True)
    yield session
    session.stop()


DEFECT = "reference+names-are-not-checked"
PROPERTY = "test_illegal_name_is_refused"


@pytest.fixture(scope="session")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """Return a run of one property on the reference broker, which conforms, and on one with a defect."""
    brokers = ("--broker", "reference", "--broker", DEFECT)
    return run_suite(*brokers, "--tier", "smoke", "-k", PROPERTY, runs=tmp_path_factory.mktemp("judged"))
