"""The rules of `run_refusals` as columns, for many run folders at once.

`history.facts.ingest` applies them.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from clauses.catalogue import Role
from reports.records import EXAMPLE_VERDICTS, GATING_LEVELS, RECORD_SCHEMA_VERSION, Phase, Verdict
from reports.run_folders.run_refusals import (
    BEYOND_LIMITS,
    CHANGED_FILE,
    CLIENTS_IN_ROWS,
    CLOCKS_DIFFER_BY_H,
    CUT_OFF,
    DAMAGED_FILE,
    DAMAGED_HEADER,
    DATED_IN_THE_FUTURE,
    DUPLICATE_RUN_ID,
    FINISHED_TOO_EARLY,
    FOREIGN_SCHEMA,
    INVALID_HEADER,
    INVALID_ROWS,
    MAX_NAMED,
    NO_CLIENTS_IN_ROWS,
    NO_HEADER,
    ROW_COUNT_DIFFERS,
    TESTS_FAILED,
    UNEXPLAINED_STATUS,
    UNLISTED_OF_CELLS,
    UNLISTED_OF_ROWS,
    RefusalReason,
)
from reports.run_schema import run_schema
from spark_aggregation.reading.file_contents import CELL
from spark_aggregation.reading.run_files import planned_cells
from spark_aggregation.reading.schema import HEADER, is_incomplete
from wire.foreign_json import MAX_DEPTH

_RUN_ID_PATTERN = run_schema()["properties"]["run_id"]["pattern"]
_INSTANT_PATTERN = run_schema()["$defs"]["instant"]["pattern"]
_EMPTY = hashlib.sha256(b"").hexdigest()
_CELL_OF_FOLDER = ("folder", *CELL)


def refusals(headers: DataFrame, partials: DataFrame, contents: DataFrame, known: DataFrame) -> DataFrame:
    """Decide whether each folder counts; if it does not, name the first reason that applies.

    Args:
        headers: as `read_headers` returns them.
        partials: partial aggregates of all rows, as `run_files.partial_aggregates` returns them.
        contents: as `run_files.read_tables` returns them.
        known: runs that already count: `run_id`, `known_folder`, `known_sha256`.

    Returns:
        One row per folder: `folder`, `sha256` and `header` as they were read; `counts`; `refusal` (a value of
        `run_refusals.RunRefusal`; null if the folder counts or is a copy of a run that counts), `reason` (a sentence
        for readers).
    """
    per_folder = _files(contents).join(_wrong_rows(headers, partials), on="folder", how="left")
    found = (
        headers.join(per_folder, on="folder", how="full")
        # Ignore files that belong to no run, unless they have rows.
        .where("text IS NOT NULL OR example_rows > 0")
        .fillna(0, subset=["example_rows", "incomplete_rows", "wrong_rows", "exchange_rows"])
        .fillna(0, subset=["client_rows"])
        .withColumn("altered", _altered_files())
    )
    judged = found.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        "sha256",
        "header",
        _refusal(found).alias("verdict"),
    )
    return _without_duplicates(judged.withColumn("sound", F.isnull("verdict")), known)


def _without_duplicates(judged: DataFrame, known: DataFrame) -> DataFrame:
    """Refuse folders whose run id belongs to another sound folder; `refusal` is null for exact copies."""
    same_run = Window.partitionBy("run_id", "sound").orderBy("folder")
    sound, known_already = F.col("sound"), F.col("known_sha256").isNotNull()
    found = judged.join(known, on="run_id", how="left").withColumns(
        {
            "first_folder": F.coalesce("known_folder", F.first("folder").over(same_run)),
            "first_sha256": F.coalesce("known_sha256", F.first("sha256").over(same_run)),
            "again": sound & ((F.row_number().over(same_run) > 1) | known_already),
        }
    )
    differs = F.col("again") & (F.col("sha256") != F.col("first_sha256"))
    taken = F.when(F.col("again"), F.format_string(DUPLICATE_RUN_ID.sentence, "first_folder"))
    return found.select(
        "folder",
        "sha256",
        "header",
        (sound & ~F.col("again")).alias("counts"),
        F.coalesce("verdict.refusal", F.when(differs, DUPLICATE_RUN_ID.refusal.value)).alias("refusal"),
        F.coalesce("verdict.reason", taken).alias("reason"),
    )


def _files(contents: DataFrame) -> DataFrame:
    """Sum up the files of each folder.

    Returns:
        One row per folder: `example_rows`, `incomplete_rows`, `client_rows`, `exchange_rows`, `files` (their names and
            hashes),
        `damaged` (names) and `excess` (the first file beyond a limit, and why; null if there is none).
    """
    return contents.groupBy("folder").agg(
        F.sum("example_rows").alias("example_rows"),
        F.sum("incomplete_rows").alias("incomplete_rows"),
        F.sum("client_rows").alias("client_rows"),
        F.sum("exchange_rows").alias("exchange_rows"),
        F.collect_set(F.struct("name", "sha256")).alias("files"),
        F.array_sort(F.collect_set(F.when(F.col("damaged"), F.col("name")))).alias("damaged"),
        F.min(F.concat("name", F.lit(": "), "excess")).alias("excess"),
    )


def _wrong_rows(headers: DataFrame, partials: DataFrame) -> DataFrame:
    """Return one row per folder with complete rows, which describes what no run may contain.

    `wrong_rows` counts wrong rows. `unplanned_clause` and `unplanned_target` are the ids in rows that belong to no
    planned cell. `violated` are the clauses with a violation that nothing excuses.
    """
    excused = (
        ~F.col("applicable")
        | (F.col("known_violation") != "")
        | F.col("flaky").isNotNull()
        | (F.coalesce("unproven", F.lit("")) != "")
    )
    planned = planned_cells(headers).select(
        *_CELL_OF_FOLDER, F.col("run_id").alias("planned_run_id"), excused.alias("excused")
    )
    rows = partials.join(planned.distinct().hint("shuffle_hash"), on=list(_CELL_OF_FOLDER), how="left")
    wrong = (
        ~F.col("verdict").isin([verdict.value for verdict in EXAMPLE_VERDICTS])
        | ~F.col("phase").isin([phase.value for phase in Phase])
        | ~F.col("run_id").eqNullSafe(F.col("planned_run_id"))
    )
    unplanned = F.col("planned_run_id").isNull()
    violated = (
        (F.col("verdict") == Verdict.VIOLATES.value) & (F.col("phase") == Phase.GENERATE.value) & ~F.col("excused")
    )
    return rows.groupBy("folder").agg(
        F.sum(F.when(wrong, F.col("examples"))).alias("wrong_rows"),
        F.collect_set(F.when(violated, F.col("clause"))).alias("violated"),
        *(F.collect_set(F.when(unplanned, F.col(name))).alias(f"unplanned_{name}") for name in UNLISTED_OF_ROWS),
    )


def _refusal(found: DataFrame) -> Column:
    footer = found["header.footer"]
    version = F.get_json_object("text", "$.record_schema_version")
    cell_clauses, cell_targets = (
        _unlisted(found, name, found["header.planned_cells"][name]) for name in UNLISTED_OF_CELLS
    )
    row_clauses, row_targets = (_unlisted(found, name, found[f"unplanned_{name}"]) for name in UNLISTED_OF_ROWS)
    started, finished = (F.try_to_timestamp(each) for each in (found["header.started_at"], footer["finished_at"]))
    latest = F.current_timestamp() + F.expr(f"INTERVAL {CLOCKS_DIFFER_BY_H} HOURS")
    later = F.when(finished > started, footer["finished_at"]).otherwise(found["header.started_at"])
    wrong_rows = found["wrong_rows"] + found["incomplete_rows"]
    counts = ("example_rows", "exchange_rows")
    rows_differ = reduce(Column.__or__, (found[name] != footer[name] for name in counts))
    of_brokers = F.array_contains(found["header.clauses.role"], Role.BROKER.value)
    unexplained = _unexplained(found)
    return (
        F.when(found["text"].isNull(), _because(NO_HEADER))
        .when(
            F.json_object_keys("text").isNull() | _goes_on(found["text"]) | _is_too_deep(found["text"]),
            _because(DAMAGED_HEADER),
        )
        .when(
            ~version.eqNullSafe(F.lit(str(RECORD_SCHEMA_VERSION))),
            _because(FOREIGN_SCHEMA, F.coalesce(version, F.lit("missing"))),
        )
        .when(_breaks_schema(found["header"]), _because(INVALID_HEADER))
        .when(F.size(cell_clauses) > 0, _because(UNLISTED_OF_CELLS["clause"], _named(cell_clauses)))
        .when(F.size(cell_targets) > 0, _because(UNLISTED_OF_CELLS["target"], _named(cell_targets)))
        .when(footer.isNull(), _because(CUT_OFF))
        .when(F.greatest(started, finished) > latest, _because(DATED_IN_THE_FUTURE, later))
        .when(finished < started, _because(FINISHED_TOO_EARLY, found["header.started_at"]))
        .when(found["excess"].isNotNull(), _because(BEYOND_LIMITS, found["excess"]))
        .when(rows_differ & (F.size("damaged") > 0), _because(DAMAGED_FILE, F.array_join("damaged", ", ")))
        .when(rows_differ, _because(ROW_COUNT_DIFFERS, *(rows[name] for rows in (footer, found) for name in counts)))
        .when(F.size("altered") > 0, _because(CHANGED_FILE, *_first_change()))
        .when(F.size(row_clauses) > 0, _because(UNLISTED_OF_ROWS["clause"], _named(row_clauses)))
        .when(F.size(row_targets) > 0, _because(UNLISTED_OF_ROWS["target"], _named(row_targets)))
        .when(wrong_rows > 0, _because(INVALID_ROWS, wrong_rows))
        .when(of_brokers & (found["client_rows"] != 0), _because(CLIENTS_IN_ROWS))
        .when(~of_brokers & (found["client_rows"] != found["example_rows"]), _because(NO_CLIENTS_IN_ROWS))
        .when(F.size(unexplained) > 0, _because(UNEXPLAINED_STATUS, footer["exit_status"], _named(unexplained)))
    )


def _because(reason: RefusalReason, *values: Column) -> Column:
    """Return a reason with what was found filled in."""
    sentence = F.format_string(reason.sentence, *values) if values else F.lit(reason.sentence)
    return F.struct(F.lit(reason.refusal.value).alias("refusal"), sentence.alias("reason"))


def _named(ids: Column) -> Column:
    return F.array_join(F.slice(ids, 1, MAX_NAMED), ", ")


def _goes_on(text: Column) -> Column:
    """Return whether a text has more after its JSON value. Spark's own functions read no further than that value."""
    # What follows in the text cannot contain a token that is drawn now.
    token = secrets.token_hex(8)
    followed = F.concat(F.lit("["), text, F.lit(f', "{token}"]'))
    return ~F.get_json_object(followed, "$[1]").eqNullSafe(F.lit(token))


def _is_too_deep(text: Column) -> Column:
    """Return whether an object in JSON is nested more deeply than the reader of a single folder allows."""
    limited = {"maxNestingDepth": str(MAX_DEPTH)}
    return F.from_json(text, "MAP<STRING, STRING>", limited).isNull()


def _unexplained(found: DataFrame) -> Column:
    """Return the violated clauses for which a run must have failed, if its exit status says that it did not."""
    gating = ", ".join(f"'{level.value}'" for level in GATING_LEVELS)
    ids = F.expr(f"filter(header.clauses, clause -> clause.level IN ({gating})).id")
    violated = F.array_sort(F.array_intersect(F.coalesce("violated", F.array()), ids))
    return F.when(found["header.footer.exit_status"] != TESTS_FAILED, violated)


def _unlisted(found: DataFrame, name: str, ids: Column) -> Column:
    """Return the clauses or targets among `ids` that the header does not list."""
    return F.array_sort(F.array_except(ids, found[f"header.{name}s"]["id"]))


def _altered_files() -> Column:
    """Return the name and expected hash of each file that does not match the footer.

    The hash is empty if the footer does not list the file.
    """
    there = "try_element_at(map_from_entries(coalesce(files, array())), file.key)"
    differs = f"coalesce({there}, '{_EMPTY}') <> file.value"
    altered = f"filter(map_entries(header.footer.files), file -> {differs})"
    # Suites of old hashed nothing.
    listed = "cardinality(coalesce(header.footer.files, map())) > 0"
    unlisted = "try_element_at(header.footer.files, file.name) IS NULL"
    files = f"filter(coalesce(files, array()), file -> {listed} AND {unlisted})"
    added = f"transform({files}, file -> named_struct('key', file.name, 'value', ''))"
    return F.expr(f"concat(coalesce({altered}, array()), {added})")


def _first_change() -> tuple[Column, Column]:
    """Return the name of the first file that does not match the footer, and how."""
    first = F.col("altered")[0]
    is_there = F.array_contains(F.col("files.name"), first["key"])
    what = (
        F.when(first["value"] == "", F.lit("was added"))
        .when(is_there, F.lit("has changed"))
        .otherwise(F.lit("is missing"))
    )
    return first["key"], what


def _breaks_schema(header: Column) -> Column:
    cells = header["planned_cells"]
    # As text, because Spark would find equal structs by comparing every pair.
    key = "to_json(struct(cell.clause, cell.target, cell.listener))"
    keys = F.expr(f"transform(header.planned_cells, cell -> {key})")
    return (
        F.expr(is_incomplete("header", HEADER))
        | ~header["started_at"].rlike(_INSTANT_PATTERN)
        | F.try_to_timestamp(header["started_at"]).isNull()
        | ~F.coalesce(header["footer"]["finished_at"].rlike(_INSTANT_PATTERN), F.lit(True))
        | (header["footer"]["finished_at"].isNotNull() & F.try_to_timestamp(header["footer"]["finished_at"]).isNull())
        | ~header["run_id"].rlike(_RUN_ID_PATTERN)
        | (F.size(F.array_distinct(keys)) < F.size(cells))
    )
