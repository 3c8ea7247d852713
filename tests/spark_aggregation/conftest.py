"""One Spark session for all tests of the roll-up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_aggregation.session import start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return the session that the command starts for small runs."""
    session = start_session(quick=True, interpreted=True)
    yield session
    session.stop()
