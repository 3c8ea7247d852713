"""Tables from what other commands wrote: the mutation score, and the log of changes between releases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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
    StructField,
    StructType,
)

from spark_aggregation.errors import UnreadableReport
from spark_aggregation.frames import as_table, empty_frame, frame_of
from spark_aggregation.storage import Storage
from spark_aggregation.tables import TABLES


def _list_of(**columns: DataType) -> ArrayType:
    return ArrayType(StructType([StructField(name, type_) for name, type_ in columns.items()]))


_SCORE = StructType(
    [
        StructField(
            "kills",
            _list_of(
                clause=StringType(),
                defect=StringType(),
                median=DoubleType(),
                percentile_95=DoubleType(),
                seeds=IntegerType(),
                survived_seeds=IntegerType(),
                pinned=BooleanType(),
            ),
        ),
    ]
)
_CHANGES = StructType(
    [
        StructField(
            "changes",
            _list_of(
                listener=StringType(),
                before=StringType(),
                since=StringType(),
                was=StringType(),
                became=StringType(),
                clauses=ArrayType(StringType()),
                predicted=BooleanType(),
                inputs=IntegerType(),
                shortest=StringType(),
            ),
        ),
        StructField(
            "left_out",
            _list_of(
                listener=StringType(),
                release=StringType(),
                reason=StringType(),
                inputs=ArrayType(StringType()),
            ),
        ),
    ]
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
"""What a value of JSON may be, by the type that it is read as."""


def mutation_score(spark: SparkSession, path: str | None) -> DataFrame:
    """Read the mutation score.

    Args:
        spark: the session.
        path: the `mutation.json` that `kafka-conformance mutation --out` writes; None for an empty table.

    Returns:
        One row per clause and defect that breaks it: `clause`, `defect`, `seeds` (tried: one where the clause
        needs sockets), `killed` (seeds whose examples caught it), `certain` (whether every run catches it), `median_examples`,
        `p95_examples` (generated examples until it was caught; null where too many seeds caught nothing).

    Raises:
        UnreadableReport: there is no such file, or not such a report in it.
    """
    if path is None:
        return empty_frame(spark, TABLES["mutation"])
    score = _read(spark, path, _SCORE, written_by="kafka-conformance mutation --out")
    kills = score.select(F.inline("kills"))
    survived = F.col("survived_seeds")
    return kills.select(
        "clause",
        "defect",
        "seeds",
        (F.col("seeds") - survived).alias("killed"),
        (F.col("pinned") | (survived == 0)).alias("certain"),
        F.col("median").alias("median_examples"),
        F.col("percentile_95").alias("p95_examples"),
    )


def release_changes(spark: SparkSession, path: str | None) -> DataFrame:
    """Read the log of changes between releases.

    Args:
        spark: the session.
        path: the `changes.json` that `kafka-conformance changes --out` writes; None for an empty table.

    Returns:
        One row per group of inputs, step between adjacent releases, and clause that the change rests on:
        `listener`, `clause` (empty where it rests on none), `from_release`, `to_release` (target ids),
        `predicted`, `inputs` (how many changed so), `shortest` (hexadecimal), `before`, `after` (in words).

    Raises:
        UnreadableReport: there is no such file, or not such a report in it.
    """
    if path is None:
        return empty_frame(spark, TABLES["release_changes"])
    report = _read(spark, path, _CHANGES, written_by="kafka-conformance changes --out")
    changes = report.select(F.inline("changes"))
    named = F.when(F.size("clauses") > 0, F.col("clauses")).when(
        F.size("clauses") <= 0, F.array(F.lit(""))
    )
    renamed = changes.select(
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
    return as_table(renamed, TABLES["release_changes"])


def inputs_left_out(spark: SparkSession, path: str | None) -> DataFrame:
    """Read what the log of changes between releases did not compare.

    Args:
        spark: the session.
        path: as that of `release_changes`.

    Returns:
        One row per listener (and place before authentication), release and reason: `listener`, `release` (a target's
        id), `reason`, `inputs` (how many), `names` (theirs, with commas between).

    Raises:
        UnreadableReport: there is no such file, or not such a report in it.
    """
    if path is None:
        return empty_frame(spark, TABLES["inputs_left_out"])
    report = _read(spark, path, _CHANGES, written_by="kafka-conformance changes --out")
    named = report.select(F.inline("left_out")).select(
        "listener",
        "release",
        "reason",
        F.size("inputs").alias("inputs"),
        F.array_join("inputs", ", ").alias("names"),
    )
    return as_table(named, TABLES["inputs_left_out"])


def report_sha256(spark: SparkSession, path: str | None) -> str:
    """Hash a report that was given; empty for none."""
    if path is None:
        return ""
    return hashlib.sha256(Storage(spark, path).read_text("").encode()).hexdigest()


def _read(spark: SparkSession, path: str, schema: StructType, *, written_by: str) -> DataFrame:
    file = Storage(spark, path)
    if not file.is_file():
        raise UnreadableReport(f"{path} is no file; `{written_by}` writes it into a folder")
    text = file.read_text("")
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UnreadableReport(f"{path} is not JSON: {error}; `{written_by}` writes it") from error
    if not _follows(content, schema):
        raise UnreadableReport(
            f"{path} is not what `{written_by}` writes: fields are missing or of another kind"
        )
    return frame_of(spark, [content], ArrayType(schema))


def _follows(content: object, type_: DataType) -> bool:
    """Tell whether all that a type names is there, and of its kind; any single value may be null."""
    if not isinstance(content, _KINDS[type(type_)]):
        return False
    if isinstance(type_, StructType):
        assert isinstance(content, dict)
        return all(
            field.name in content and _may_be(content[field.name], field.dataType)
            for field in type_
        )
    if isinstance(type_, ArrayType):
        assert isinstance(content, list)
        return all(_follows(entry, type_.elementType) for entry in content)
    return True


def _may_be(content: object, type_: DataType) -> bool:
    is_list = isinstance(type_, ArrayType)
    return (content is None and not is_list) or _follows(content, type_)
