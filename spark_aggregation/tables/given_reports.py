"""Tables from the reports of other commands.

The reports are the mutation score and the log of changes between releases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    StringType,
    StructType,
)

from spark_aggregation.errors import UnreadableReport
from spark_aggregation.reading.frames import empty_frame
from spark_aggregation.reading.schema import schema, texts
from spark_aggregation.reading.storage import Storage
from spark_aggregation.tables.table_schemas import TABLES
from wire.foreign_json import read_foreign_json

_SCORE = schema(
    {
        "kills": ArrayType(
            schema(
                {
                    **texts("clause", "defect"),
                    "seeds": IntegerType(),
                    "survived_seeds": IntegerType(),
                    "pinned": BooleanType(),
                },
                {"median": DoubleType(), "percentile_95": DoubleType()},
            )
        )
    }
)
_CHANGES = schema(
    {
        "changes": ArrayType(
            schema(
                {
                    **texts("listener", "before", "since", "was", "became", "shortest"),
                    "clauses": ArrayType(StringType()),
                    "predicted": BooleanType(),
                    "inputs": IntegerType(),
                }
            )
        ),
        "left_out": ArrayType(
            schema(
                {
                    **texts("listener", "release", "reason"),
                    "inputs": ArrayType(StringType()),
                }
            )
        ),
    }
)

_KINDS: Mapping[type[DataType], tuple[type, ...]] = MappingProxyType(
    {
        StringType: (str,),
        BooleanType: (bool,),
        IntegerType: (int,),
        DoubleType: (int, float),
        ArrayType: (list,),
        StructType: (dict,),
    }
)
"""Python types that a JSON value may have, by the Spark type that it is read as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTables:
    """Tables that do not come from runs.

    Attributes:
        tables: a function that makes each table, by the table's name.
        inputs_sha256: the hash of the report that each table comes from, empty if none was given.
    """

    tables: Mapping[str, Callable[[], DataFrame]]
    inputs_sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    content: DataFrame
    sha256: str


def given_tables(spark: SparkSession, *, mutation: str | None = None, changes: str | None = None) -> GivenTables:
    """Read each given report once. Tables without a given report are empty.

    Args:
        spark: the session.
        mutation: the `mutation.json` that `kafka-conformance mutation --out` writes.
        changes: the `changes.json` that `kafka-conformance changes --out` writes.

    Raises:
        UnreadableReport: a file does not exist, or does not contain such a report.
    """
    score = _read(spark, mutation, _SCORE, written_by="kafka-conformance mutation --out")
    log = _read(spark, changes, _CHANGES, written_by="kafka-conformance changes --out")
    made = {
        "mutation": (score, _mutation_score),
        "release_changes": (log, _release_changes),
        "inputs_left_out": (log, _inputs_left_out),
    }
    return GivenTables(
        tables={
            name: partial(rows_of, report.content) if report else partial(empty_frame, spark, TABLES[name])
            for name, (report, rows_of) in made.items()
        },
        inputs_sha256={name: "" if report is None else report.sha256 for name, (report, _) in made.items()},
    )


def _mutation_score(score: DataFrame) -> DataFrame:
    """Return a row per clause and defect that breaks it, as `MutationScore` in `reports.tables` says."""
    survived = F.col("survived_seeds")
    return score.select(F.inline("kills")).select(
        "clause",
        "defect",
        "seeds",
        (F.col("seeds") - survived).alias("killed"),
        (F.col("pinned") | (survived == 0)).alias("certain"),
        F.col("median").alias("median_examples"),
        F.col("percentile_95").alias("p95_examples"),
    )


def _release_changes(log: DataFrame) -> DataFrame:
    """Return a row per group of inputs, step between adjacent releases, and clause that the change rests on.

    `ReleaseChange` in `reports.tables` says what the columns mean.
    """
    named = F.when(F.size("clauses") > 0, F.col("clauses")).when(F.size("clauses") <= 0, F.array(F.lit("")))
    return log.select(F.inline("changes")).select(
        "listener",
        F.explode(named).alias("clause"),
        F.col("before").alias("from_release"),
        F.col("since").alias("to_release"),
        "predicted",
        "inputs",
        "shortest",
        F.col("was").alias("before"),
        F.col("became").alias("after"),
    )


def _inputs_left_out(log: DataFrame) -> DataFrame:
    """Return a row per listener, release and reason for not comparing, as `InputsLeftOut` in `reports.tables` says."""
    return log.select(F.inline("left_out")).select(
        "listener",
        "release",
        "reason",
        F.size("inputs").alias("inputs"),
        F.array_join("inputs", ", ").alias("names"),
    )


def _read(spark: SparkSession, path: str | None, schema: StructType, *, written_by: str) -> _Report | None:
    if path is None:
        return None
    file = Storage(spark, path)
    if not file.is_file():
        raise UnreadableReport(f"{path} is not a file; `{written_by}` writes it into a folder")
    text = file.read_text("")
    try:
        content = read_foreign_json(text)
    except ValueError as error:
        raise UnreadableReport(f"{path} is not JSON: {error}; `{written_by}` writes it") from error
    if not _follows(content, schema):
        raise UnreadableReport(f"{path} was not written by `{written_by}`: fields are missing or have another type")
    parsed = spark.range(1).select(F.from_json(F.lit(text), schema).alias("report"))
    return _Report(content=parsed.select("report.*"), sha256=hashlib.sha256(text.encode()).hexdigest())


def _follows(content: object, type_: DataType) -> bool:
    """Return whether every field that a type names is present and of its kind. Scalars and structs may be null."""
    if not isinstance(content, _KINDS[type(type_)]):
        return False
    if isinstance(type_, StructType):
        assert isinstance(content, dict)
        return all(field.name in content and _may_be(content[field.name], field.dataType) for field in type_)
    if isinstance(type_, ArrayType):
        assert isinstance(content, list)
        return all(_follows(entry, type_.elementType) for entry in content)
    return True


def _may_be(content: object, type_: DataType) -> bool:
    is_list = isinstance(type_, ArrayType)
    return (content is None and not is_list) or _follows(content, type_)
