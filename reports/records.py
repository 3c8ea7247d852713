"""What a verdict and a record are: the contract between a run and the roll-up.

One run is one folder::

    run.json              header, planned cells, and, written last, the footer
    examples/*.parquet    one row per judged example and clause (`EXAMPLE_FIELDS`)
    exchanges/*.parquet   bytes sent, for every failure and a sample (`EXCHANGE_FIELDS`)
    answers/*.parquet     bytes received, each distinct answer once per file (`ANSWER_FIELDS`)
    failures/<signature>/ reproducer, hex dump and details of one distinct failure

This module knows no file: names, columns and the rule that folds examples into a cell.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

RECORD_SCHEMA_VERSION = 1
"""Version of this layout; `run.json` carries it, and a reader refuses one that it does not know."""

TABLES_FOLDER = "tables"
"""Folder that a roll-up writes its Parquet tables into, below the folder it was given."""
OPERATION = "operation"
"""Role of a run whose rows are client operations that were tried on broker releases (KIP-97); no catalogue has them."""
INPUTS_SHA256 = "inputs_sha256"
"""Key under which each table carries the hash of its inputs, in the metadata of its first column."""


class Verdict(enum.StrEnum):
    """What is said of one example (the first four) or of a cell (any)."""

    CONFORMS = "conforms"
    VIOLATES = "violates"
    INFORMATIONAL = "informational"
    INCONCLUSIVE = "inconclusive"
    KNOWN_VIOLATION = "known_violation"
    UNEXPECTED_PASS = "unexpected_pass"
    NOT_APPLICABLE = "not_applicable"
    FLAKY = "flaky"
    NOT_RUN = "not_run"


EXAMPLE_VERDICTS = (
    Verdict.CONFORMS,
    Verdict.VIOLATES,
    Verdict.INFORMATIONAL,
    Verdict.INCONCLUSIVE,
)


BROKEN_VERDICTS = (Verdict.VIOLATES, Verdict.FLAKY, Verdict.KNOWN_VIOLATION)
SOUND_VERDICTS = (Verdict.CONFORMS, Verdict.UNEXPECTED_PASS)
"""A cell that goes from one of the former to one of these is fixed.

A pass that nobody expected is sound as well: the clause holds, and it is the declaration that has to be mended, which
the run's own exit status asks for.
"""


class Refusal(enum.StrEnum):
    """Why a reader refuses a run folder as a whole, so that no row of it changes a cell.

    A clause or target is unknown where a cell or a row is of one that the run's own header does not list. One that
    only today's catalogue or registry does not know costs no run: clauses go, and anybody may judge a target of his own.
    """

    NO_HEADER = "no_header"
    DAMAGED_HEADER = "damaged_header"
    FOREIGN_SCHEMA = "foreign_schema"
    INVALID_HEADER = "invalid_header"
    UNKNOWN_CLAUSE = "unknown_clause"
    UNKNOWN_TARGET = "unknown_target"
    CUT_OFF = "cut_off"
    DAMAGED_FILE = "damaged_file"
    ROW_COUNT_DIFFERS = "row_count_differs"
    CHANGED_FILE = "changed_file"
    INVALID_ROWS = "invalid_rows"
    DUPLICATE_RUN_ID = "duplicate_run_id"


class Phase(enum.StrEnum):
    """Why an example ran: drawn to judge, or to make a failure that was found smaller."""

    GENERATE = "generate"
    SHRINK = "shrink"


class ColumnType(enum.Enum):
    """Type of a column, named once for Arrow, Spark and the JSON Schema."""

    STRING = "string"
    INT16 = "int16"
    INT32 = "int32"
    BINARY = "binary"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a record table.

    Attributes:
        name: the column's name.
        type: its type.
        nullable: whether a row may leave it empty.
        dictionary: whether few distinct values make dictionary encoding worth it.
        optional: whether a file may lack it, as those of older suites do; it is null there.
    """

    name: str
    type: ColumnType
    nullable: bool = False
    dictionary: bool = False
    optional: bool = False


def _key(name: str, *, nullable: bool = False, optional: bool = False) -> Column:
    return Column(
        name, ColumnType.STRING, nullable=nullable or optional, dictionary=True, optional=optional
    )


EXAMPLE_FIELDS = (
    _key("run_id"),
    Column("run_date", ColumnType.DATE),
    _key("target"),
    _key("implementation"),
    _key("release"),
    _key("launcher"),
    _key("listener"),
    _key("client", nullable=True),
    _key("clause"),
    _key("property"),
    _key("tier"),
    _key("phase"),
    Column("example_number", ColumnType.INT32),
    _key("request", optional=True),
    _key("outcome"),
    Column("error_code", ColumnType.INT16, nullable=True),
    _key("verdict"),
    _key("failure_signature", nullable=True),
    Column("latency_bucket", ColumnType.INT16, nullable=True),
)
"""One row per judged example and clause.

`request` is the kind of the example's last request, see `wire.exchange.Request.kind`, and `outcome` what became
of it (answer, closed, ignored, silent); both are `none` where nothing was exchanged. `error_code` is that of its
last ApiVersions answer; `latency_bucket` the rounded-down binary logarithm of the first answer's latency in
microseconds, times four.
"""

NOTHING = "none"
"""The last request, and its outcome, of an example that exchanged nothing."""
NOT_RECORDED = "not_recorded"
"""The kind of request of examples in runs of older suites, once they are counted."""

EXCHANGE_FIELDS = (
    _key("run_id"),
    _key("target"),
    _key("listener"),
    _key("clause"),
    _key("property"),
    Column("example_number", ColumnType.INT32),
    Column("step", ColumnType.INT16),
    _key("outcome"),
    Column("sent", ColumnType.BINARY),
    Column("answer_sha256", ColumnType.STRING, nullable=True),
)
"""One row per exchange of an example that was drawn and failed, or was sampled; `step` counts from 0.

The smallest form of a failure, which shrinking finds, is in `failures/`.
"""
SAMPLED_EXAMPLES_PER_PROPERTY = 3
"""Of how many first examples of a property in a cell the exchanges are kept, failed or not."""

ANSWER_FIELDS = (
    Column("answer_sha256", ColumnType.STRING),
    Column("received", ColumnType.BINARY),
)
"""One row per distinct answer: the bytes behind the size prefix and the prefix itself."""


def cell_verdict(
    verdicts: Collection[Verdict], *, applicable: bool, known_violation: bool, flaky: bool = False
) -> Verdict:
    """Fold the verdicts of a cell's judged examples into the cell's own.

    Args:
        verdicts: the distinct verdicts of its examples, in the generate phase.
        applicable: False where the target never claimed what the clause is about.
        known_violation: whether the registry declares the violation.
        flaky: whether every failure of the cell came and went when it was repeated.

    Returns:
        The worst that was seen: a violation weighs more than a doubt, and a doubt more than a violation that was
        expected, since more may be wrong than that, or a note.
    """
    if not applicable:
        return Verdict.NOT_APPLICABLE
    if not verdicts:
        return Verdict.NOT_RUN
    is_violated = Verdict.VIOLATES in verdicts
    if is_violated and not known_violation:
        return Verdict.FLAKY if flaky else Verdict.VIOLATES
    if Verdict.INCONCLUSIVE in verdicts:
        return Verdict.INCONCLUSIVE
    if known_violation:
        return Verdict.KNOWN_VIOLATION if is_violated else Verdict.UNEXPECTED_PASS
    if Verdict.INFORMATIONAL in verdicts:
        return Verdict.INFORMATIONAL
    return Verdict.CONFORMS


def failure_verdict(verdict: Verdict, *, known_violation: bool, flaky: bool) -> Verdict:
    """Say what a cell would be if this were all that was seen in it.

    Args:
        verdict: of the examples that fail so: they violate the clause, or are a note.
        known_violation: whether the registry declares the cell as violated.
        flaky: whether the cell's violations came and went.
    """
    violates = verdict is Verdict.VIOLATES
    return cell_verdict(
        {verdict}, applicable=True, known_violation=known_violation and violates, flaky=flaky
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakeRate:
    """How often failures showed again when they were repeated alone.

    Attributes:
        failed: repeats that failed.
        repeats: repeats that were made.
        rate: their quotient.
        low: lower end of the 95 % interval of the rate (Wilson).
        high: its upper end.
    """

    failed: int
    repeats: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A cell that a run set out to judge, written down before the first example.

    Attributes:
        clause: clause id.
        target: target id.
        listener: listener name.
        applicable: whether the target claims what the clause is about.
        reason: why it does not apply; where it does, what it is judged without, if anything.
        known_violation: the registry's reason for a declared violation; empty where none is.
        flaky: how often its failures showed again, where all of them are flaky; else None.
    """

    clause: str
    target: str
    listener: str
    applicable: bool = True
    reason: str = ""
    known_violation: str = ""
    flaky: FlakeRate | None = None
