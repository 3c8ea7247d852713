"""Spark's schemas of the tables that the roll-up writes and the report reads.

`frames.as_table` applies the schemas to frames. The class of a table's rows, in `reports.tables`, says what each column
means. A column that is not nullable is never null in the file.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from reports.arrow_schemas import table_schemas

TABLES: Mapping[str, StructType] = {name: from_arrow_schema(schema) for name, schema in table_schemas().items()}
"""Every table by name."""

_FROM_THE_HISTORY = ("first_seen", "last_changed", "previous_verdict")
JUDGED_CELLS = StructType([column for column in TABLES["cells"] if column.name not in _FROM_THE_HISTORY])
"""The columns of `cells` that come from a cell's run alone."""
