"""One Spark session for all tests of the roll-up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_aggregation.session import start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give the session that the command would start for small runs."""
    session = start_session(quick=True, interpreted=True)
    yield session
    session.stop()
