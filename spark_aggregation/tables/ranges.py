"""Range statements: for each clause, the range of releases in which an implementation keeps it.

The judged releases are sorted, and neighbours with the same verdict are joined into one span. A statement starts with
the releases in which the clause holds, followed by every span with another verdict::

    from 0.10.0.1 on (oldest judged)
    from 2.4.0 on, not in older releases; known violation in 4.4.0
    only 0.10.0.1; informational in 0.11.0.3 to 4.4.0
    not applicable in 0.10.0.1 to 4.4.0

"Not in older releases" appears only if the release just before was judged and the clause does not hold in it. A release in which
the clause ends (not applicable, informational, or violated without being declared) closes the range. A declared
violation or a missing verdict is an exception within the range.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reports.records import OPERATION, SOUND_VERDICTS, Verdict

_ENDS = (Verdict.NOT_APPLICABLE, Verdict.VIOLATES, Verdict.INFORMATIONAL)
_KNOWN_NOT_TO_HOLD = (*_ENDS, Verdict.KNOWN_VIOLATION)
_GROUP = ("clause", "implementation", "listener")


def range_statements(cells: DataFrame, targets: DataFrame) -> DataFrame:
    """Describe in words in which releases each clause holds.

    Args:
        cells: as `cell_tables.grid_cells` returns them.
        targets: as `cell_tables.grid_targets` returns them.

    Returns:
        One row per `clause`, `implementation` and `listener`: `statement`, `first_held` and `last_held`
        (releases, null if it holds in none), `releases` (how many were judged).
    """
    spans = _spans(_ordered_cells(cells, targets))
    exceptions = _exceptions(_with_place(spans))
    return (
        _bounds(spans)
        .join(exceptions, on=list(_GROUP), how="left")
        .select(
            *_GROUP,
            F.concat_ws("; ", _held_range(), "exceptions").alias("statement"),
            "first_held",
            "last_held",
            "releases",
        )
    )


def _ordered_cells(cells: DataFrame, targets: DataFrame) -> DataFrame:
    """Add to each cell its `position` among the releases, counted from 1, and the `label` of its release."""
    column = ("run_id", "target", "listener")
    is_operation = (F.col("role") == OPERATION).alias("is_operation")
    described = targets.select(*column, "implementation", "release", "release_order", is_operation)
    by_release = Window.partitionBy(*_GROUP).orderBy("release_order", "release", "target")
    same_release = Window.partitionBy(*_GROUP, "release")
    ambiguous = F.count("target").over(same_release) > 1
    # A row is about one implementation, so "3.9.2-zookeeper" is as clear as "apache-kafka-3.9.2-zookeeper".
    target, prefix = F.col("target"), F.concat("implementation", F.lit("-"))
    without_prefix = F.substr(target, F.length(prefix) + 1)
    own_name = F.when(F.startswith(target, prefix), without_prefix).otherwise(target)
    return cells.join(described, on=list(column), how="inner").select(
        *_GROUP,
        "verdict",
        "is_operation",
        F.row_number().over(by_release).alias("position"),
        F.when(ambiguous, own_name).when(~ambiguous, F.col("release")).alias("label"),
    )


def _spans(ordered: DataFrame) -> DataFrame:
    """Join neighbours with equal verdicts into one row per span; `first` and `last` are positions."""
    by_position = Window.partitionBy(*_GROUP).orderBy("position")
    by_position_and_verdict = Window.partitionBy(*_GROUP, "verdict").orderBy("position")
    # Within a span both row numbers grow by one per row, so their difference identifies the span.
    span = F.row_number().over(by_position) - F.row_number().over(by_position_and_verdict)
    return (
        ordered.withColumn("span", span)
        .groupBy(*_GROUP, "verdict", "is_operation", "span")
        .agg(
            F.min("position").alias("first"),
            F.max("position").alias("last"),
            F.min_by("label", "position").alias("first_label"),
            F.max_by("label", "position").alias("last_label"),
        )
        .drop("span")
    )


def _span_text() -> Column:
    single = F.col("first") == F.col("last")
    return F.when(single, F.col("first_label")).when(
        ~single, F.concat_ws(" to ", "first_label", "last_label")
    )


def _with_place(spans: DataFrame) -> DataFrame:
    """Add `before` and `after`: whether a span lies before or after all releases in which the clause holds."""
    group = Window.partitionBy(*_GROUP)
    first_held = F.min(F.when(_is(SOUND_VERDICTS), F.col("first"))).over(group)
    last_held = F.max(F.when(_is(SOUND_VERDICTS), F.col("last"))).over(group)
    return spans.withColumns(
        {
            "before": F.coalesce(F.col("last") < first_held, F.lit(False)),
            "after": F.coalesce(F.col("first") > last_held, F.lit(False)),
        }
    )


def _exceptions(spans: DataFrame) -> DataFrame:
    """Return one text per clause that lists, by verdict, the spans in which it does not simply hold."""
    outside = F.col("before") | F.col("after")
    # "Not in older releases" and a closed range already imply these.
    implied = _is((Verdict.NOT_APPLICABLE,)) & outside
    listed = spans.where(~_is((Verdict.CONFORMS,)) & ~implied)
    part = F.struct("first", _span_text().alias("text"))
    texts = F.array_sort(F.collect_list(part))["text"]
    per_verdict = listed.groupBy(*_GROUP, "verdict", "is_operation").agg(
        F.min("first").alias("first"), F.concat_ws(", ", texts).alias("spans")
    )
    words = F.concat_ws(" in ", _words(), "spans")
    sentence = F.struct("first", "verdict", words.alias("words"))
    sentences = F.array_sort(F.collect_list(sentence))["words"]
    return per_verdict.groupBy(*_GROUP).agg(F.concat_ws("; ", sentences).alias("exceptions"))


def _words() -> Column:
    """Return a verdict in words; an operation that a release lacks is unsupported there."""
    is_unsupported = F.col("is_operation") & _is((Verdict.INFORMATIONAL,))
    words = F.translate("verdict", "_", " ")
    return F.when(is_unsupported, F.lit("unsupported")).otherwise(words)


def _bounds(spans: DataFrame) -> DataFrame:
    """Return one row per clause: where it first and last holds, and what lies just outside."""
    held = F.when(_is(SOUND_VERDICTS), F.col("first"))
    bounds = spans.groupBy(*_GROUP).agg(
        F.max("last").alias("releases"),
        F.min(held).alias("first_held_at"),
        F.max(F.when(_is(SOUND_VERDICTS), F.col("last"))).alias("last_held_at"),
        F.min_by("first_label", held).alias("first_held"),
        F.max_by("last_label", held).alias("last_held"),
        F.collect_list(F.struct("first", "last", "verdict")).alias("spans"),
    )
    ended = _any_span("span.first > last_held_at", _ENDS)
    not_before = _any_span("span.last = first_held_at - 1", _KNOWN_NOT_TO_HOLD)
    return bounds.withColumns({"ended": ended, "not_before": not_before})


def _any_span(condition: str, verdicts: tuple[Verdict, ...]) -> Column:
    listed = ", ".join(f"'{verdict}'" for verdict in verdicts)
    return F.expr(f"exists(spans, span -> {condition} AND span.verdict IN ({listed}))")


def _held_range() -> Column:
    """Return the statement's first part; null if the clause holds in none of the judged releases."""
    first, last = F.col("first_held"), F.col("last_held")
    every = (F.col("first_held_at") == 1) & ~F.col("ended")
    return (
        F.when(F.col("first_held_at").isNull(), F.lit(None))
        .when(F.col("releases") == 1, F.concat(first, F.lit(", the only release judged")))
        .when(every, F.concat(F.lit("from "), first, F.lit(" on (oldest judged)")))
        .when(F.col("ended") & (first == last), F.concat(F.lit("only "), first))
        .when(F.col("ended"), F.concat_ws(" to ", first, last))
        .when(
            F.col("not_before"),
            F.concat(F.lit("from "), first, F.lit(" on, not in older releases")),
        )
        .when(~F.col("not_before"), F.concat(F.lit("from "), first, F.lit(" on")))
    )


def _is(verdicts: tuple[Verdict, ...]) -> Column:
    return F.col("verdict").isin(*verdicts)
