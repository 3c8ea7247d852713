"""Evidence of failures: their files, and other targets' responses.

The responses are to the same example as the failure.

Examples of two runs with the same clause, property, listener and number are the same in two cases: both are among the
examples written down with their property (`pinned_examples` of the headers), or both runs kept the bytes that they
sent, and these differ at most in the correlation id.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from clauses.catalogue import Role
from reports.records import CAPTURE_FILE, DUMP_FILE, FACTS_FILE, MACHINES_FOLDER, REPRODUCER_FILE
from reports.run_folders.file_contents import CELL
from spark_aggregation.reading.run_files import parent
from spark_aggregation.reading.schema import FAILURE_FACTS
from spark_aggregation.tables.run_selection import COLUMN

_EXAMPLE = ("clause", "property", "listener", "example_number")


def read_failures(files: DataFrame) -> DataFrame:
    """Read what run folders keep about their failures.

    Args:
        files: as `run_files.list_files` returns them.

    Returns:
        One row per folder `failures/<signature>`: `folder` (the run's), `signature`, `facts`, `hex_dump`,
        `reproducer` (texts), `pcap` (bytes); null for a missing file.
    """
    path = F.col("path")
    names = "|".join(name.replace(".", "[.]") for name in (FACTS_FILE, DUMP_FILE, REPRODUCER_FILE, CAPTURE_FILE))
    return (
        files.where(path.rlike(f"/failures/[^/]+/({names})$"))
        .select(
            parent(path, levels=3).alias("folder"),
            F.element_at(F.split(path, "/"), -2).alias("signature"),
            F.substring_index(path, "/", -1).alias("name"),
            "content",
        )
        .groupBy("folder", "signature")
        .agg(
            _text_of(FACTS_FILE).alias("facts"),
            _text_of(DUMP_FILE).alias("hex_dump"),
            _text_of(REPRODUCER_FILE).alias("reproducer"),
            F.max(F.when(F.col("name") == CAPTURE_FILE, F.col("content"))).alias("pcap"),
        )
    )


def read_machines(files: DataFrame) -> DataFrame:
    """Read the machines of connections that runs learned.

    Args:
        files: as `run_files.list_files` returns them.

    Returns:
        One row per file: `folder` (the run's), `target`, `listener`, `machine` (the file's text); without files that do
            not
        name a target and a listener.
    """
    path = F.col("path")
    text = F.try_validate_utf8(F.col("content").cast("string"))
    columns = [F.get_json_object("machine", f"$.{name}").alias(name) for name in ("target", "listener")]
    return (
        files.where(path.rlike(f"/{MACHINES_FOLDER}/[^/]+[.]json$"))
        .select(parent(path, levels=2).alias("folder"), text.alias("machine"))
        .select("folder", *columns, "machine")
        .where("target IS NOT NULL AND listener IS NOT NULL")
    )


def shown_machines(machines: DataFrame, targets: DataFrame) -> DataFrame:
    """Return the machines of the grid's columns, one row for each, as `KeptMachine` in `reports.tables` says.

    Args:
        machines: `run_id`, `target`, `listener` and `machine`, of at least the runs that the grid shows.
        targets: as `grid_tables.grid_targets` returns them.
    """
    key = ["run_id", *COLUMN]
    shown = machines.join(targets.select(*key), on=key, how="left_semi")
    return shown.groupBy(*key).agg(F.max("machine").alias("machine"))


def _text_of(name: str) -> Column:
    content = F.max(F.when(F.col("name") == name, F.col("content")))
    return F.try_validate_utf8(content.cast("string"))


def first_examples(contents: DataFrame, headers: DataFrame) -> DataFrame:
    """Keep the examples of each property that other targets may have received too.

    Args:
        contents: as `run_files.read_tables` returns them.
        headers: `folder`, `header` and `day` of accepted runs.

    Returns:
        One row per run and such example: `run_id`, `day`, `clause`, `target`, `listener`, `property`, `example_number`,
        `pinned`, `outcome`, `error_code`, `verdict`, `failure_signature`, `sent_sha256` (of all bytes sent, without
        correlation ids) and `answer_sha256` (of the last response). Both are null if the exchanges were not kept.
    """
    key = ["folder", *CELL, "property", "example_number"]
    early = contents.select("folder", F.inline("first_examples"))
    exchanges = contents.select("folder", F.inline("exchanges"))
    # Headers are large, so only these columns of them are joined to every example.
    written_down = headers.select("folder", "day", "header.pinned_examples")
    pinned = F.coalesce(
        F.col("example_number") <= F.try_element_at("pinned_examples", F.col("property")),
        F.lit(False),
    )
    return (
        early.join(written_down.hint("shuffle_hash"), on="folder", how="inner")
        .withColumn("pinned", pinned)
        # Few examples have kept exchanges. Sorting all of them for the join would cost more than everything else.
        .join(_kept_bytes(exchanges).hint("shuffle_hash"), on=key, how="left")
        .where("pinned OR sent_sha256 IS NOT NULL")
        .select(
            *("run_id", "day"),
            *CELL,
            *("property", "example_number", "pinned", "outcome", "error_code", "verdict"),
            *("failure_signature", "sent_sha256", "answer_sha256"),
        )
    )


def _kept_bytes(exchanges: DataFrame) -> DataFrame:
    sent = F.base64(F.concat(F.substring("sent", 5, 4), F.expr("substring(sent, 13)")))
    steps = F.array_sort(F.collect_list(F.struct("step", sent.alias("sent"))))
    return exchanges.groupBy("folder", *CELL, "property", "example_number").agg(
        F.sha2(F.concat_ws(",", steps["sent"]), 256).alias("sent_sha256"),
        F.max_by("answer_sha256", "step").alias("answer_sha256"),
    )


def shown_failures(cells: DataFrame, failures: DataFrame) -> DataFrame:
    """Return the evidence of the failures that the grid's cells name.

    Args:
        cells: as `grid_tables.grid_cells` returns them.
        failures: `run_id`, `signature` and the files, of at least the runs that the grid shows.

    Returns:
        One row per failure, as `KeptFailure` in `reports.tables` says. Whatever the folder lacks is null.
    """
    named = cells.select("run_id", *CELL, F.inline("failures")).drop("examples")
    facts = F.from_json("facts", FAILURE_FACTS)
    with_facts = failures.withColumn("parsed", facts)
    return named.join(with_facts, on=["run_id", "signature"], how="inner").select(
        "run_id",
        "signature",
        *CELL,
        "smallest_example",
        F.col("parsed.property_name").alias("property"),
        *(f"parsed.{name}" for name in ("kind", "message", "example", "verdict")),
        *("facts", "hex_dump", "reproducer", "pcap"),
        "parsed.known_violation",
    )


def neighbours(cells: DataFrame, examples: DataFrame, targets: DataFrame) -> DataFrame:
    """Find out how other targets responded to the smallest example of each failure.

    Args:
        cells: as `grid_tables.grid_cells` returns them.
        examples: as `first_examples` returns them, of at least the runs that the grid shows.
        targets: as `grid_tables.grid_targets` returns them.

    Returns:
        One row per failure and other target, as `Neighbour` in `reports.tables` says.
    """
    is_client = F.max(F.col("role") == Role.CLIENT.value).alias("is_client")
    shown = examples.join(cells.select("run_id", *CELL), on=["run_id", *CELL], how="left_semi").join(
        targets.groupBy("target").agg(is_client), on="target", how="inner"
    )
    failed = cells.select("run_id", *CELL, F.inline("failures")).select(
        "run_id",
        *CELL,
        F.col("signature").alias("failure_signature"),
        F.col("smallest_example").alias("example_number"),
    )
    origin = shown.join(failed, on=["run_id", *CELL, "failure_signature", "example_number"], how="left_semi").select(
        F.col("failure_signature").alias("signature"),
        *_EXAMPLE,
        F.col("target").alias("own_target"),
        F.col("pinned").alias("own_pinned"),
        F.col("sent_sha256").alias("own_sent"),
    )
    # A client may send the same bytes under another script.
    same_bytes = ~F.col("is_client") & (F.col("sent_sha256") == F.col("own_sent"))
    same = (F.col("pinned") & F.col("own_pinned")) | same_bytes
    others = shown.join(origin, on=list(_EXAMPLE), how="inner").where(
        (F.col("target") != F.col("own_target")) & F.coalesce(same, F.lit(False))
    )
    orders = targets.select(*COLUMN, "release_order").distinct()
    return (
        others.join(orders, on=list(COLUMN), how="inner")
        .select(
            *("signature", "target", "listener", "release_order", "outcome", "error_code"),
            *("verdict", "answer_sha256"),
        )
        .distinct()
    )
