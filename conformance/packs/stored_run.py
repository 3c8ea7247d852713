"""What a run has stored of brokers: rows, exchanges and failures that fit.

A stranger may have written it. So whatever does not fit is `Contradicted`, and nothing is guessed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.failures.stored_failures import NoStoredFailure, StoredFailure, read_failure
from conformance.mutation.properties import all_properties
from reference_model.judging.rejudging import RecordedExchange
from reports.record_columns import RECORD_TABLES
from reports.records import FACTS_FILE, NOTHING, SAMPLED_EXAMPLES_PER_PROPERTY, Phase
from reports.repeats import ShownBy
from reports.run.conversation import CONVERSATION, ConversationPart, parts_from_json
from reports.run.failures import signature_of
from reports.run.recorded_conversation import NEXT_REQUEST
from reports.run.run_folder import Header
from reports.run_folders.file_contents import rows_within_limits
from reports.run_folders.run_limits import limit
from reports.wording.verdict_labels import CRASH_KINDS
from wire.api_keys import API_VERSIONS_KEY
from wire.exchange import Outcome
from wire.foreign_json import read_foreign_json
from wire.frames import SIZE_BYTES
from wire.headers import read_error_code, read_request_start

MAX_ROWS_OF_TABLE = 100_000
"""Rows of one table of a run that are held in memory; the largest run had 20,000."""
Row = Mapping[str, Any]
ExampleKey = tuple[str, str, str, str, int]
"""Clause, target, listener and property of an example, and its number."""


class Contradicted(Exception):
    """What a run states does not follow from its bytes; the message says where and why, in one sentence."""


def rows_of(run: Path, table: str) -> list[Row]:
    """Return all rows of a table, which `RECORD_TABLES` names.

    Raises:
        Contradicted: a file is damaged or beyond a limit, or the table has too many rows.
    """
    rows: list[Row] = []
    for path in sorted(run.glob(f"{table}/*.parquet")):
        try:
            read = rows_within_limits(pa.py_buffer(path.read_bytes()), RECORD_TABLES[table].columns)
        except ValueError as error:
            raise Contradicted(f"{table}/{path.name}: {error}") from error
        if len(rows) + len(read) > MAX_ROWS_OF_TABLE:
            raise Contradicted(f"the table {table} has too many rows; {limit(MAX_ROWS_OF_TABLE)}")
        rows += read.to_pylist()
    return rows


def key_of(row: Row) -> ExampleKey:
    """Return the key of a row of an example, or of an exchange."""
    return row["clause"], row["target"], row["listener"], row["property"], row["example_number"]


def exchanges_of(run: Path) -> Mapping[ExampleKey, Sequence[RecordedExchange]]:
    """Return the stored exchanges of each example, in order.

    Raises:
        Contradicted: a response is missing, or is not the one that its hash names.
    """
    answers = {}
    for row in rows_of(run, "answers"):
        answers[row["answer_sha256"]] = row["received"]
        if hashlib.sha256(row["received"]).hexdigest() != row["answer_sha256"]:
            raise Contradicted(f"the bytes of the response {row['answer_sha256'][:12]} have another SHA-256")
    found: dict[ExampleKey, list[RecordedExchange]] = defaultdict(list)
    for row in sorted(rows_of(run, "exchanges"), key=lambda row: row["step"]):
        sha256 = row["answer_sha256"]
        if sha256 is not None and sha256 not in answers:
            raise Contradicted(f"the response {sha256[:12]} of an exchange for {row['clause']} is not stored")
        received = None if sha256 is None else answers[sha256]
        found[key_of(row)].append(
            RecordedExchange(step=row["step"], sent=row["sent"], outcome=row["outcome"], received=received)
        )
    return found


@dataclass(frozen=True, slots=True)
class FailureDetails:
    """A stored failure, with what its folder has of the exchanges.

    Attributes:
        failure: the failure.
        kind: the class of its exception.
        exchanges: what was exchanged, in order.
        lacks: what its conversation has that rows of exchanges cannot have; empty if nothing.
    """

    failure: StoredFailure
    kind: str
    exchanges: Sequence[RecordedExchange]
    lacks: str

    @property
    def needs_more(self) -> str:
        """What else than bytes, and their order, shows it; empty if nothing."""
        if self.failure.evidence != ShownBy.BYTES:
            return "time shows its failure"
        return "the target ended" if self.kind in CRASH_KINDS else self.lacks


def failures_of(run: Path) -> Mapping[str, FailureDetails]:
    """Return the stored failures by signature.

    Raises:
        Contradicted: a folder does not describe a failure, or another one.
    """
    found = {}
    for path in sorted(run.glob(f"failures/*/{FACTS_FILE}")):
        try:
            facts = read_foreign_json(path.read_bytes())
            failure = read_failure(path)
            kept = _exchanges_in(parts_from_json(facts.get(CONVERSATION, [])))
        except (NoStoredFailure, ValueError, AttributeError) as error:
            raise Contradicted(f"failures/{path.parent.name} does not describe a failure") from error
        kind = str(facts.get("kind", ""))
        clause, target, listener, name = key_of_failure(failure)
        own = signature_of(
            clause=clause,
            target=target,
            listener=listener,
            property_name=name,
            kind=kind,
            message=failure.message,
        )
        if not own == failure.signature == path.parent.name:
            raise Contradicted(f"failures/{path.parent.name} describes another failure")
        found[failure.signature] = FailureDetails(failure, kind, *kept)
    return found


def _exchanges_in(parts: Sequence[ConversationPart]) -> tuple[Sequence[RecordedExchange], str]:
    """Return the exchanges of a conversation, and what of it an exchange cannot say; empty if nothing."""
    exchanges: list[RecordedExchange] = []
    lacks = ""
    sent: bytes | None = None
    for part in parts:
        outcome, _, arrival = part.what.partition(", ")
        if part.sent and part.rows:
            sent = part.data
        elif sent is not None and outcome in tuple(Outcome):
            exchanges.append(
                RecordedExchange(step=len(exchanges), sent=sent, outcome=outcome, received=part.data or None)
            )
            sent = None
            lacks = lacks or arrival
        elif part.what != NEXT_REQUEST and part.what != "closed by us":
            lacks = lacks or part.what
        if part.left_out or any("left out" in note or "first" in note or "unanswered" in note for note in part.notes):
            lacks = lacks or "the answer to the next request"
    return exchanges, lacks


def check_rows(
    header: Header,
    rows: Sequence[Row],
    exchanges: Mapping[ExampleKey, Sequence[RecordedExchange]],
    failures: Mapping[str, FailureDetails],
) -> None:
    """Check that the tables of a run fit together, and to its header.

    Raises:
        Contradicted: rows, exchanges or failures are missing, are too many, or state something else.
    """
    _check_of_header(header, rows)
    for row in rows:
        key, number, failure = key_of(row), row["example_number"], row["failure_signature"]
        if failure is not None and failure not in failures:
            raise Contradicted(f"{where(key)}: the failure {failure} of example {number} is not stored")
        if (
            failure is not None
            and row["phase"] == Phase.GENERATE
            and row["verdict"] != failures[failure].failure.verdict
        ):
            raise Contradicted(f"{where(key)}: the failure {failure} has another verdict than example {number}")
        is_first = 1 <= number <= SAMPLED_EXAMPLES_PER_PROPERTY
        if is_first and row["request"] != NOTHING and key not in exchanges:
            raise Contradicted(f"{where(key)}: the exchanges of example {number} are not stored")
        if key in exchanges:
            _check_last_exchange(row, exchanges[key][-1])
    _check_numbers(rows)
    known = set(map(key_of, rows))
    for key in exchanges:
        if key not in known:
            raise Contradicted(f"{where(key)}: exchanges are stored of example {key[-1]}, which has no row")
    shown = {row["failure_signature"] for row in rows}
    for name, details in failures.items():
        if name not in shown:
            raise Contradicted(f"{where(key_of_failure(details.failure))}: no example has the stored failure {name}")


def _check_of_header(header: Header, rows: Iterable[Row]) -> None:
    """Check that each row is of the run, target and cell that the header describes.

    Raises:
        Contradicted: one is not.
    """
    targets = {entry["id"]: entry for entry in header["targets"]}
    left_out = {_cell_of(cell) for cell in header["planned_cells"] if not cell["applicable"]}
    for row in rows:
        target = targets[row["target"]]
        of_run = {"implementation": target["implementation"], "release": target["release"], "tier": header["tier"]}
        for name, value in of_run.items():
            if row[name] != value:
                raise Contradicted(f"{where(key_of(row))}: its rows have another {name} than run.json")
        if _cell_of(row) in left_out:
            raise Contradicted(f"{where(key_of(row))}: it has examples, but run.json says that it does not apply")


def _cell_of(row: Row) -> tuple[str, str, str]:
    return row["clause"], row["target"], row["listener"]


def _check_last_exchange(row: Row, last: RecordedExchange) -> None:
    """Check the error code that a row states, if its last exchange is a plain one about versions.

    Raises:
        Contradicted: the stored response has another one.
    """
    is_broken = row["request"] is None or row["request"].endswith("-broken")
    if is_broken or last.outcome != Outcome.ANSWER or last.received is None:
        return
    code = read_error_code(last.received[SIZE_BYTES:])
    is_about_versions = read_request_start(last.sent[SIZE_BYTES:]).api_key == API_VERSIONS_KEY
    if is_about_versions and code is not None and code != row["error_code"]:
        what = f"the response to example {row['example_number']} has the error code {code}"
        raise Contradicted(f"{where(key_of(row))}: {what}, and not {row['error_code']}")


def _check_numbers(rows: Iterable[Row]) -> None:
    """Check that the examples of each property are numbered from 1 in each cell.

    Raises:
        Contradicted: one is missing, or stands twice.
    """
    numbers: dict[Sequence[str | int], list[int]] = defaultdict(list)
    for row in rows:
        *cell, number = key_of(row)
        if number and is_about(row["property"], row["clause"]):
            numbers[tuple(cell)].append(number)
    for cell_key, found in numbers.items():
        # A stranger chooses the numbers, so no list of all up to the largest is made.
        for expected, number in enumerate(sorted(found), 1):
            if number > expected:
                raise Contradicted(f"{where(cell_key)}: example {expected} is missing")
            if number < expected:
                raise Contradicted(f"{where(cell_key)}: an example stands twice")


def is_about(name: str, clause: str) -> bool:
    """Return whether a property judges a clause; its examples may show that the target violates another one."""
    judged = all_properties().get(name)
    return judged is not None and clause in judged.clauses


def key_of_failure(failure: StoredFailure) -> tuple[str, str, str, str]:
    """Return the key of the examples that a failure is about, without a number."""
    return failure.clause, failure.target, failure.listener, failure.property_name


def where(key: Sequence[str | int]) -> str:
    """Return which examples a sentence is about: those of a property for a clause on a listener of a target."""
    clause, target, listener, name = key[:4]
    return f"{clause} on {target}, {listener}, {name}"
