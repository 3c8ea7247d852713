"""Judges stored exchanges again with today's oracle, without a target.

    kafka-conformance rejudge RUN... --out FILE

Exit status: 0 if the oracle allows everything, 1 if it does not, 2 for wrong usage, 3 if Spark does not start here, 10
if a disk is full or a folder cannot be read or written to, or for an error of the job itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from reference_model.judging.rejudging import RecordedExchange, differences, oracles_for
from reference_model.profiles.profile import IMPLEMENTATIONS_WITH_PROFILE
from reports.command_line.suite_command import SuiteCommand, check_writable
from reports.records import Phase
from reports.run_folders.file_contents import CELL
from spark_aggregation.errors import check_path, disk_faults_explained
from spark_aggregation.history.facts import ingest
from spark_aggregation.history.state import empty_state
from spark_aggregation.reading.run_files import read_rows, screened
from spark_aggregation.reading.schema import ANSWERS, EXAMPLES, EXCHANGES
from spark_aggregation.reading.storage import Storage, is_small, is_uri
from spark_aggregation.session import start_session

_EXAMPLE = ("run_id", *CELL, "property", "example_number")
_FACTS = (*_EXAMPLE, "recorded_verdict")
DIFFERENCES = pa.schema(
    [
        ("run_id", pa.string()),
        ("clause", pa.string()),
        ("target", pa.string()),
        ("listener", pa.string()),
        ("property", pa.string()),
        ("example_number", pa.int32()),
        ("recorded_verdict", pa.string()),
        ("step", pa.int16()),
        ("sent", pa.string()),
        ("recorded_outcome", pa.string()),
        ("recorded_answer", pa.string()),
        ("allowed", pa.string()),
    ]
)
"""One row per exchange that is not allowed. Bytes are in hexadecimal, null if no response came."""


def stored_examples(spark: SparkSession, roots: Sequence[str], accepted: DataFrame) -> DataFrame:
    """Collect the exchanges of each example.

    Returns:
        One row per kept example of a target with a profile: `run_id`, `clause`, `target`, `listener`,
        `property`, `example_number`, `recorded_verdict`, `implementation`, `release`, and `exchanges`, an
        array of (step, sent, outcome, received) in order.
    """
    # A target's entry may have a folder too: that of a build.
    targets = accepted.select("folder", F.explode("header.targets").alias("entry")).select(
        "folder",
        F.col("entry.id").alias("target"),
        F.col("entry.implementation"),
        F.col("entry.release"),
    )
    judged = targets.where(F.col("implementation").isin(*IMPLEMENTATIONS_WITH_PROFILE))
    answers = read_rows(spark, roots, "answers", ANSWERS)
    distinct = answers.groupBy("folder", "answer_sha256").agg(F.max("received").alias("received"))
    exchange = F.struct("step", "sent", "outcome", "received")
    examples = (
        read_rows(spark, roots, "exchanges", EXCHANGES)
        .join(judged, on=["folder", "target"], how="inner")
        .join(distinct, on=["folder", "answer_sha256"], how="left")
        .groupBy(*_EXAMPLE, "implementation", "release")
        .agg(F.array_sort(F.collect_list(exchange)).alias("exchanges"))
    )
    generated = read_rows(spark, roots, "examples", EXAMPLES).where(F.col("phase") == Phase.GENERATE.value)
    verdicts = generated.select(*_EXAMPLE, F.col("verdict").alias("recorded_verdict"))
    return examples.join(verdicts, on=list(_EXAMPLE), how="left").select(
        *_FACTS, "implementation", "release", "exchanges"
    )


def _judge_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [row for example in batch.to_pylist() for row in _judge(example)]
        yield pa.RecordBatch.from_pylist(rows, schema=DIFFERENCES)


def _judge(example: dict[str, object]) -> Iterator[dict[str, object]]:
    facts = {name: example[name] for name in _FACTS}
    names = ("target", "implementation", "release", "listener")
    oracles = oracles_for(*(str(example[name]) for name in names))
    recorded = example["exchanges"]
    assert isinstance(recorded, list)
    exchanges = [RecordedExchange(**each) for each in recorded]
    for difference in differences(oracles, exchanges, clause=str(example["clause"])):
        received = difference.exchange.received
        yield {
            **facts,
            "step": difference.exchange.step,
            "sent": difference.exchange.sent.hex(),
            "recorded_outcome": difference.exchange.outcome,
            "recorded_answer": None if received is None else received.hex(),
            "allowed": difference.allowed,
        }


def write_differences(rows: DataFrame, out: Storage, name: str) -> None:
    """Write differences as one file of JSON lines, sorted."""
    parts = f"{name}.parts"
    ordered = rows.coalesce(1).sortWithinPartitions(*_EXAMPLE, "step")
    ordered.write.mode("overwrite").option("ignoreNullFields", False).json(out.uri(parts))
    out.take_only_part(parts, name)


@click.command(cls=SuiteCommand, name="spark_aggregation.rejudge_job")
@click.argument("runs", nargs=-1, required=True)
@click.option("--out", required=True, help="File for the differences, as JSON lines.")
def command(runs: tuple[str, ...], out: str) -> None:
    """Judge the stored exchanges of run folders again, with today's oracle."""
    check_path(out)
    folders = screened(runs)
    for run in folders.refused:
        click.echo(f"refused {run.folder}: {run.reason}", err=True)
    if not folders.roots:
        raise click.UsageError("none of the given folders can be read")
    with disk_faults_explained("the differences could not be found and written"):
        if not is_uri(out):
            # Before Java starts, because Hadoop does not say why it cannot write.
            check_writable(Path(out).parent)
        spark = start_session(quick=is_small(folders.roots))
        judged, different = _rejudge(spark, folders.roots, out)
    click.echo(json.dumps({"examples": judged, "differences": different}))
    if different:
        sys.exit(1)


def _rejudge(spark: SparkSession, runs: Sequence[str], out: str) -> tuple[int, int]:
    ingested = ingest(spark, runs, empty_state(spark).known)
    examples = stored_examples(spark, runs, ingested.accepted).cache()
    rows = examples.mapInArrow(_judge_batches, from_arrow_schema(DIFFERENCES)).cache()
    folder, _, name = out.rpartition("/")
    write_differences(rows, Storage(spark, folder or "."), name)
    return examples.count(), rows.count()


if __name__ == "__main__":
    command()
