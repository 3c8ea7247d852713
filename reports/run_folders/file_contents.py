"""Summaries of a run folder's files, for its rules and for the roll-up.

From a Parquet file, Arrow reads only the columns that the roll-up needs, with strings dictionary-encoded. The result is
small whatever the file holds: its hash, its row count, and its rows aggregated. Spark's own reader and aggregation take
several times as long for the same work.

A file that is damaged, lacks a column or has a column of another type is marked; it counts as having no rows. So does
one beyond the limits of `reports.run_folders.run_limits`, of which no more is read than the limits allow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reports.arrow_schemas import arrow_schema, has_columns
from reports.record_columns import EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column
from reports.records import SAMPLED_EXAMPLES_PER_PROPERTY, Phase
from reports.run_folders.run_limits import MAX_ENTRIES, MAX_UNPACKED_BYTES, excess_of, limit

MAX_COMPARED = 32
"""Examples with a higher number are not compared with those of other targets.

Properties have at most 22 examples written down with them; the median is 2.
"""

CELL = ("clause", "target", "listener")
PARTIAL_KEYS = ("run_id", "run_date", *CELL, "phase", "verdict", "failure_signature")
REACHED_KEYS = (*CELL, "property", "request", "outcome", "error_code")
LATENCY_KEYS = ("target", "listener", "latency_bucket")
_EXAMPLE_KEYS = (*CELL, "property", "example_number")
_NUMBERED = pa.dictionary(pa.int32(), pa.string())
_TEXTS = (_NUMBERED, pa.string(), pa.binary())
_HOW_MANY: tuple[list[str], str] = ([], "count_all")
_MEASURES = {
    "count_all": "examples",
    "examples_sum": "examples",
    "example_number_min": "smallest_example",
    "smallest_example_min": "smallest_example",
}
"""Names of the measures of groups, by those that Arrow gives them.

Rows are grouped twice: first each counts one example and has its number, then counts are summed and the smallest
numbers kept.
"""


def _list_of(fields: Sequence[Column], names: Sequence[str], **measures: pa.DataType) -> pa.ListType:
    columns = [arrow_schema(fields).field(name) for name in names]
    # Nullable, so that rows that break the schema reach the roll-up, which refuses them.
    nullable = [pa.field(column.name, column.type) for column in columns]
    return pa.list_(pa.struct([*nullable, *map(pa.field, measures, measures.values())]))


_PARTIALS = _list_of(EXAMPLE_FIELDS, PARTIAL_KEYS, examples=pa.int64(), smallest_example=pa.int32())
_REACHED = _list_of(EXAMPLE_FIELDS, REACHED_KEYS, examples=pa.int64())
_LATENCIES = _list_of(EXAMPLE_FIELDS, LATENCY_KEYS, examples=pa.int64())
_FIRST_EXAMPLES = _list_of(
    EXAMPLE_FIELDS,
    ("run_id", *_EXAMPLE_KEYS, "outcome", "error_code", "verdict", "failure_signature"),
)
_EXCHANGES = _list_of(EXCHANGE_FIELDS, (*_EXAMPLE_KEYS, "step", "sent", "answer_sha256"))

CONTENTS = pa.schema(
    [
        ("folder", pa.string()),
        ("name", pa.string()),
        ("sha256", pa.string()),
        ("damaged", pa.bool_()),
        ("excess", pa.string()),
        ("example_rows", pa.int64()),
        ("incomplete_rows", pa.int64()),
        ("client_rows", pa.int64()),
        ("exchange_rows", pa.int64()),
        ("partials", _PARTIALS),
        ("reached", _REACHED),
        ("latencies", _LATENCIES),
        ("first_examples", _FIRST_EXAMPLES),
        ("exchanges", _EXCHANGES),
    ]
)
"""One row per file; columns about another table than the file's are null.

- `folder` (of the run, as the reader names it), `name` (below the folder, with slashes), `sha256`;
- `damaged`: true if the rows of the file's table cannot be read; `excess`: why they are not, if a limit forbids it;
- `example_rows`, `exchange_rows`; `incomplete_rows`: example rows with a null in a column that allows none; they are
  left out of all lists; `client_rows`: complete example rows that name a client;
- `partials`: one entry per distinct `PARTIAL_KEYS`, with `examples` (how many rows) and `smallest_example`;
- `reached`: one entry per distinct `REACHED_KEYS`, with `examples`, shrinking left out;
- `latencies`: one entry per distinct `LATENCY_KEYS`, with `examples`, shrinking and rows without a latency left out;
- `first_examples`: the generated examples up to number `MAX_COMPARED` that are written down with their property or
  whose exchanges a run keeps (the first ones of each property, and failures);
- `exchanges`: the exchanges of examples up to that number.
"""

_Found = Mapping[str, int | pa.Array]


class _Damaged(Exception):
    """The rows of a file cannot be read."""


class _TooLarge(Exception):
    """The rows of a file are beyond a limit; the message is the reason."""


def contents_of(folder: str, name: str, content: pa.Buffer, *, pinned_examples: Mapping[str, int]) -> pa.RecordBatch:
    """Summarize one file of a run folder.

    Args:
        folder: the run folder.
        name: the file's name below the folder, with slashes.
        content: the complete file.
        pinned_examples: the largest number of examples written down with each property, by its name.

    Returns:
        One row with the columns of `CONTENTS`.
    """
    values: dict[str, Any] = {"folder": folder, "name": name, "sha256": hashlib.sha256(content).hexdigest()}
    readers: Mapping[str, Callable[[pa.Buffer], _Found]] = {
        "examples": partial(_read_examples, pinned_examples=pinned_examples),
        "exchanges": _read_exchanges,
    }
    table, _, file_name = name.partition("/")
    if table in readers and file_name.endswith(".parquet") and "/" not in file_name:
        try:
            values |= readers[table](content)
        except _Damaged:
            values |= {"damaged": True}
        except _TooLarge as error:
            values |= {"excess": str(error)}
    columns = [_one_value(values.get(field.name), field.type) for field in CONTENTS]
    return pa.RecordBatch.from_arrays(columns, schema=CONTENTS)


def rows_within_limits(content: pa.Buffer, fields: Sequence[Column]) -> pa.RecordBatch:
    """Read all columns of a file of rows.

    Args:
        content: the complete file.
        fields: the columns of its table.

    Raises:
        ValueError: it is damaged, or beyond a limit; the message says which, to follow the file's name.
    """
    try:
        return _read_rows(content, fields, [field.name for field in fields])
    except _Damaged as error:
        raise ValueError("it is not readable as Parquet, or a column is missing or has another type") from error
    except _TooLarge as error:
        raise ValueError(str(error)) from error


def _one_value(value: object, type_: pa.DataType) -> pa.Array:
    return value if isinstance(value, pa.Array) else pa.array([value], type_)


def _read_examples(content: pa.Buffer, pinned_examples: Mapping[str, int]) -> _Found:
    keys = list(dict.fromkeys((*PARTIAL_KEYS, *REACHED_KEYS, *LATENCY_KEYS)))
    written = _read_rows(content, EXAMPLE_FIELDS, [*keys, "client", "example_number"])
    rows = _complete(written, EXAMPLE_FIELDS)
    early = rows.filter(_is_early(rows["example_number"]))
    compared = pc.and_(_are_generated(early), _may_be_compared(early, pinned_examples))
    # From here on, most of the work is per group, not per row.
    groups = _grouped(pa.Table.from_batches([rows]), keys, [("example_number", "min"), _HOW_MANY])
    generated = groups.filter(_are_generated(groups))
    timed = generated.filter(generated["latency_bucket"].is_valid())
    summed = ("examples", "sum")
    least = ("smallest_example", "min")
    return {
        "example_rows": written.num_rows,
        "incomplete_rows": written.num_rows - rows.num_rows,
        "client_rows": rows.num_rows - rows["client"].null_count,
        "partials": _entries(_PARTIALS, _grouped(groups, PARTIAL_KEYS, [least, summed])),
        "reached": _entries(_REACHED, _grouped(generated, REACHED_KEYS, [summed])),
        "latencies": _entries(_LATENCIES, _grouped(timed, LATENCY_KEYS, [summed])),
        "first_examples": _entries(_FIRST_EXAMPLES, pa.Table.from_batches([early.filter(compared)])),
    }


def _grouped(rows: pa.Table, keys: Sequence[str], measures: Sequence[tuple[str | list[str], str]]) -> pa.Table:
    """Group rows by key columns, in which null is a value like any other.

    Returns:
        The keys of each group, and its `measures` as `examples` and `smallest_example`.
    """
    groups = rows.group_by(list(keys), use_threads=False).aggregate(measures)
    return groups.rename_columns([_MEASURES.get(name, name) for name in groups.column_names])


def _read_exchanges(content: pa.Buffer) -> _Found:
    names = [field.name for field in _EXCHANGES.value_type]
    rows = _read_rows(content, EXCHANGE_FIELDS, names)
    early = rows.filter(_is_early(rows["example_number"].fill_null(0)))
    return {
        "exchange_rows": rows.num_rows - rows["step"].null_count,
        "exchanges": _entries(_EXCHANGES, pa.Table.from_batches([early])),
    }


def _is_early(numbers: pa.Array) -> pa.BooleanArray:
    return pc.and_(pc.greater_equal(numbers, 1), pc.less_equal(numbers, MAX_COMPARED))


def _may_be_compared(rows: pa.RecordBatch, pinned_examples: Mapping[str, int]) -> pa.BooleanArray:
    """Return which examples are written down with their property, or have their exchanges kept."""
    properties = rows["property"]
    names = pa.array(pinned_examples.keys(), pa.string())
    pinned = pa.array(pinned_examples.values(), pa.int32()).take(pc.index_in(properties.dictionary, value_set=names))
    last = pc.max_element_wise(pinned, SAMPLED_EXAMPLES_PER_PROPERTY).take(properties.indices)
    is_first = pc.less_equal(rows["example_number"], last)
    return pc.or_(is_first, rows["failure_signature"].is_valid())


def _are_generated(rows: pa.RecordBatch | pa.Table) -> pa.BooleanArray:
    return pc.equal(rows["phase"].cast(pa.string()), Phase.GENERATE.value).fill_null(False)


def _read_rows(content: pa.Buffer, fields: Sequence[Column], names: Sequence[str]) -> pa.RecordBatch:
    """Read columns of a Parquet file.

    Raises:
        _Damaged: the content is not Parquet, or a column is missing or of another type.
        _TooLarge: it is beyond a limit.
    """
    few_values = {column.name for column in fields if column.dictionary}
    expected = pa.schema(
        [pa.field(name, _NUMBERED) if name in few_values else arrow_schema(fields).field(name) for name in names]
    )
    try:
        return _read_columns(content, fields, expected)
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        raise _Damaged from error


def _read_columns(content: pa.Buffer, fields: Sequence[Column], expected: pa.Schema) -> pa.RecordBatch:
    """Read the columns of `expected` from a file within the limits.

    The footer must list the columns of `fields`.
    """
    source = pa.BufferReader(content)
    metadata = pq.read_metadata(source)
    if excess := excess_of(metadata):
        raise _TooLarge(excess)
    found_schema = metadata.schema.to_arrow_schema()
    # Before any column is read: one row of a column of lists can hold any number of values.
    if not has_columns(found_schema, fields):
        raise _Damaged
    there = found_schema.names
    optional = {each.name for each in fields if each.optional}
    lacking = optional.intersection(expected.names) - set(there)
    # With a dictionary, a text that many rows repeat is in memory once.
    texts = [name for name in expected.names if name in there and expected.field(name).type in _TEXTS]
    with pq.ParquetFile(source, metadata=metadata, read_dictionary=texts) as file:
        columns = [name for name in expected.names if name not in lacking]
        table = file.read(columns=columns, use_threads=False)
    for name in lacking:
        field = expected.field(name)
        table = table.append_column(field, pa.nulls(len(table), field.type))
    (rows,) = table.unify_dictionaries().combine_chunks().to_batches()
    _check_dictionaries(rows)
    plain = [name for name in texts if not pa.types.is_dictionary(expected.field(name).type)]
    _check_size([rows[name] for name in plain])
    for name in plain:
        if pa.types.is_dictionary(rows[name].type):
            index = rows.schema.names.index(name)
            rows = rows.set_column(index, name, rows[name].dictionary_decode())
    return rows


def _check_size(columns: Sequence[pa.Array]) -> None:
    """Refuse columns that are too large when every row has its own copy of each text.

    Raises:
        _TooLarge: they are.
    """
    size = 0
    for column in columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).cast(pa.int64())
            size += pc.sum(lengths.take(column.indices)).as_py() or 0
    if size > MAX_UNPACKED_BYTES:
        raise _TooLarge(f"its texts take {size:,} bytes; {limit(MAX_UNPACKED_BYTES)}")


def _complete(rows: pa.RecordBatch, fields: Sequence[Column]) -> pa.RecordBatch:
    """Leave out rows that have a null in a column that allows none."""
    for column in fields:
        is_read = column.name in rows.schema.names
        if is_read and not column.nullable and rows[column.name].null_count:
            rows = rows.filter(rows[column.name].is_valid())
    return rows


def _check_dictionaries(rows: pa.RecordBatch) -> None:
    """Refuse an index that its dictionary does not have; Arrow does not check this when reading.

    Raises:
        IndexError: there is such an index.
    """
    for column in rows.columns:
        if pa.types.is_dictionary(column.type):
            highest = pc.max(column.indices).as_py()
            if highest is not None and highest >= len(column.dictionary):
                raise IndexError(highest)


def _entries(type_: pa.ListType, rows: pa.Table) -> pa.Array:
    """Make one list of rows, with the columns that the list's type names.

    Raises:
        _TooLarge: the list would be beyond a limit.
    """
    fields = list(type_.value_type)
    if len(rows) > MAX_ENTRIES:
        raise _TooLarge(f"{len(rows):,} of its rows differ; {limit(MAX_ENTRIES)}")
    columns = [rows[field.name].combine_chunks() for field in fields]
    _check_size(columns)
    plain = [column.cast(field.type) for column, field in zip(columns, fields, strict=True)]
    entries = pa.StructArray.from_arrays(plain, fields=fields)
    return pa.ListArray.from_arrays(pa.array([0, len(entries)], pa.int32()), entries, type=type_)
