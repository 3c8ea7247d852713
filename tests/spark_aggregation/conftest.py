"""One Spark session for all tests of the roll-up, which are slow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_aggregation.session import start_session


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
