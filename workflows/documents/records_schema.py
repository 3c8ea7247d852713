"""Writer of docs/records-schema.md, about run folders and the tables of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.record_columns import RECORD_TABLES, Column
from reports.records import INPUTS_SHA256, RECORD_SCHEMA_VERSION, Verdict
from reports.run_folders.refusal_reasons import RunRefusal
from reports.run_schema import resolved, run_schema
from reports.verify.verification import GIVEN_TABLES
from reports.wording.verdict_labels import SYMBOLS, WORDS
from spark_aggregation.tables.table_schemas import TABLES
from workflows.documents.reference_lists import table

_BEGINNING = f"""# Records schema

What a run folder and the tables of a grid consist of, for programs that read them. `python -m workflows.documents` generates it. Record schema version: {RECORD_SCHEMA_VERSION}.

One run is one folder:

| file | holds |
|---|---|
| `run.json` | versions, targets, clauses and planned cells, written before the first example; the footer, written last |
| `examples/*.parquet` | one row per judged example and clause |
| `exchanges/*.parquet` | what was sent, for every failure and a sample |
| `answers/*.parquet` | what was received, each distinct answer once per file |
| `failures/<signature>/` | hex dump, packet capture, reproducer, drawn values and facts of one distinct failure |
| `machines/*.json` | [the machine of a connection](learned-machines.md) that was learned, one file per listener; none in a smoke run |
| `summary.md` | the verdicts, for people |

Readers refuse an invalid folder completely and list it with the reason; no row of it changes a cell:
{", ".join(f"`{refusal}`" for refusal in RunRefusal)}.

| reason | when |
|---|---|
| `unusable_name` | its path, or that of a file in it, is not UTF-8; both are listed with escapes |
| `special_file` | there is a link in it, a pipe or a device; nothing in it is opened |
| `beyond_limits` | a file or the folder is larger than anything that this suite writes, on disk or when it is decompressed, or a Parquet file is written with another compression or encoding; `reports/run_folders/run_limits.py` has the limits. Nothing in it is opened further |
| `unknown_clause`, `unknown_target` | a cell or row names one that `run.json` does not list |
| `invalid_pack`, `judged_otherwise` | [a pack](hand-over-a-run.md) is not as it was written; what its run states does not follow from its bytes |

Targets outside the registry are not refused. Neither are runs with a clause that the catalogue no longer contains; `notices.json` and the page "How it was made" name it.

The version changes when a reader of the old one would misread the new one. A key or column may be added without that; a
reader ignores what it does not know.
"""
_GIVEN = ", ".join(f"`{table}`" for table in GIVEN_TABLES)
_INPUTS = f"""Each carries `{INPUTS_SHA256}`, in the metadata of its first column (Spark's schema in the file's footer; `exports/*.json` and
`grid.json` repeat it): for {_GIVEN} the SHA-256 of the file that was given, empty where none
was, and for all others that of one line per row of `inputs`: `run_json_sha256`, two spaces, `run_id`, a line feed; the lines sorted.
"""


def records_schema() -> Iterator[str]:
    """Yield the lines of docs/records-schema.md."""
    yield _BEGINNING
    for part in (_verdicts, _header, _parquet, _grid_tables):
        yield from part()


def _verdicts() -> Iterator[str]:
    yield "## Verdicts\n"
    rows = ((f"`{verdict}`", SYMBOLS[verdict], WORDS[verdict]) for verdict in Verdict)
    yield from table(("value", "symbol", "word"), rows)


def _header() -> Iterator[str]:
    yield "## run.json\n"
    yield "The schema itself: [`reports/run_schema.json`](../reports/run_schema.json). \\* may be missing.\n"
    yield from table(("key", "type", "meaning"), _properties(run_schema(), ""))


def _properties(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, described in schema["properties"].items():
        entry = resolved(described)
        missing = "" if name in required else " \\*"
        meaning = described.get("description") or entry.get("description", "")
        yield f"`{prefix}{name}`{missing}", _json_type(entry), meaning
        inner = entry.get("items", entry)
        if "properties" in inner:
            dots = "[]." if "items" in entry else "."
            yield from _properties(inner, f"{prefix}{name}{dots}")


def _json_type(entry: Mapping[str, Any]) -> str:
    type_: str | Sequence[str] = entry.get("type", "")
    return type_ if isinstance(type_, str) else " or ".join(type_)


def _parquet() -> Iterator[str]:
    for name, records in RECORD_TABLES.items():
        yield f"## {name}/*.parquet\n"
        yield f"{records.meaning}\n"
        yield from table(("column", "type", "may be null"), map(_record_column, records.columns))


def _record_column(column: Column) -> tuple[str, str, str]:
    words = ", dictionary-encoded" if column.dictionary else ""
    null = "yes" if column.nullable else ""
    null += "; older suites do not write it" if column.optional else ""
    return f"`{column.name}`", f"{column.type.value}{words}", null


def _grid_tables() -> Iterator[str]:
    yield "## Tables of a grid folder\n"
    yield "`kafka-conformance grid` writes each as `tables/<name>.parquet`. Instants are UTC; verdicts are the values above.\n"
    yield _INPUTS
    for name, schema in TABLES.items():
        yield f"### {name}\n"
        rows = (
            (f"`{each.name}`", f"`{each.dataType.simpleString()}`", "yes" if each.nullable else "")
            for each in schema.fields
        )
        yield from table(("column", "type", "may be null"), rows)
