"""The page of each distinct failure, with its files next to it.

The files come from the roll-up's table.

The suite chooses the file names. Only the contents come from a run, and their size is limited. A script that reads
`failure.json` is left out with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from clauses.catalogue import Role
from reference_model.profiles.known_apis import label_of
from reports.exports.issues import driver_of, script_files, stored_replay_command
from reports.grid import addresses
from reports.grid.grid_view import TargetColumn
from reports.grid.history_tables import leaves_open, stored_facts
from reports.grid.products import owner_of
from reports.records import CAPTURE_FILE, DUMP_FILE, FACTS_FILE, OPERATION, REPRODUCER_FILE, Verdict
from reports.repeats import ShownBy
from reports.run.conversation import ByteRow, ConversationPart
from reports.run.failures import READS_FACTS
from reports.run.stored_conversation import stored_conversation
from reports.site.byte_comparison import ByteComparison, compare, first_divergence
from reports.site.expected_answers import expected_answers
from reports.site.rendering import Site
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.failure_rows import KeptFailure, Neighbour
from reports.tables.target_rows import GridTarget

_MAX_UNFOLDED_ROWS = 60
_MAX_BYTE_ROWS = 400
"""Fields of all messages together that a page shows; `exchange.txt` has them all."""
_MAX_SCRIPT = 64 * 1024
_SIGNATURE = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")

_MAX_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGroup:
    """Targets that did the same with the example: each one's name and the address of its cell."""

    outcome: str
    verdict: str
    targets: tuple[tuple[str, str], ...]
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lookups:
    """What every page of a failure looks up in the grid."""

    columns: dict[str, TargetColumn]
    targets: dict[tuple[str, str], GridTarget]
    clauses: dict[str, GridClause]

    @classmethod
    def of(cls, site: Site) -> _Lookups:
        grid = site.folded.grid
        return cls(
            columns={column.target: column for column in site.folded.columns},
            targets={(entry.target, entry.listener): entry for entry in grid.targets},
            clauses={clause.clause: clause for clause in grid.clauses},
        )


def write_failures(site: Site) -> None:
    """Write failures/<signature>.html and its files for every stored failure that a cell names."""
    named = {
        (cell.run_id, failure.signature): (cell, failure)
        for cell in site.folded.grid.cells
        # If a signature is both a violation and a note, the violation counts: it comes first.
        for failure in reversed(cell.failures)
    }
    lookups = _Lookups.of(site)
    neighbours: dict[str, list[Neighbour]] = {}
    for row in site.history.neighbours or ():
        neighbours.setdefault(row.signature, []).append(row)
    for failure in site.history.failures or ():
        pair = named.get((failure.run_id, failure.signature))
        if pair is not None and _SIGNATURE.fullmatch(failure.signature):
            cell, column = pair
            others = neighbours.get(failure.signature, [])
            verdict = Verdict.INCONCLUSIVE if leaves_open(failure) else cell.verdict_of(column)
            _write_failure(site, lookups, failure, cell, verdict, others)


def _write_failure(
    site: Site,
    lookups: _Lookups,
    failure: KeptFailure,
    cell: GridCell,
    said: Verdict,
    neighbours: list[Neighbour],
) -> None:
    target = lookups.targets[failure.target, failure.listener]
    column = lookups.columns[failure.target]
    clause = lookups.clauses[failure.clause]
    role = site.folded.role_of(cell)
    is_operation = role == OPERATION
    is_client = is_operation or role == Role.CLIENT
    facts = stored_facts(failure)
    parts = stored_conversation(facts, failure.hex_dump)
    comparisons = [] if is_client else compare(parts, expected_answers(facts, target))
    files = write_files(failure, site.out_dir)
    has_script = any(name == REPRODUCER_FILE for name, _ in files)
    site.render(
        addresses.failure_page(failure.signature),
        "failure",
        failure=failure,
        cell=cell,
        said=said,
        clause=clause,
        column=column,
        role=role,
        is_client=is_client,
        is_operation=is_operation,
        owner=_owner(site, clause, column, role),
        driver=driver_of(failure),
        is_shown_by_time=facts.get("evidence") == ShownBy.TIME,
        again=stored_replay_command(failure),
        requests=outline(parts) if is_client else [],
        longest_shown=_MAX_UNFOLDED_ROWS,
        parts=shown_rows(_with_marks(parts, comparisons), _MAX_BYTE_ROWS),
        comparisons=comparisons,
        script=failure.reproducer[:_MAX_SCRIPT] if has_script else "",
        files=files,
        groups=None
        if site.history.neighbours is None
        else answer_groups(failure, neighbours, lookups.columns, by_verdict=is_client),
    )


def _owner(site: Site, clause: GridClause, column: TargetColumn, role: str) -> tuple[str, str]:
    """Return name and page of the product that answers for a failure."""
    owner = owner_of(clause, column.target, role)
    return site.names[owner], addresses.target_page(owner)


def _with_marks(
    parts: Sequence[ConversationPart], comparisons: Sequence[ByteComparison]
) -> list[tuple[ConversationPart, int | None]]:
    """Return each part with the row to mark: where decoding fails, else where it first diverges."""
    marked: list[tuple[ConversationPart, int | None]] = []
    number = 0
    for index, part in enumerate(parts):
        if part.sent:
            number += 1
        broken = next((at for at, row in enumerate(part.rows) if row.marked), None)
        answer = index > 0 and parts[index - 1].sent and not part.sent
        if broken is None and answer and comparisons:
            broken = first_divergence(part.rows, comparisons[number - 1].expected.rows)
        marked.append((part, broken))
    return marked


def shown_rows(
    parts: Iterable[tuple[ConversationPart, int | None]], most: int
) -> list[tuple[ConversationPart, int | None, tuple[ByteRow, ...]]]:
    """Return each part with the rows to show: the conversation's first rows, and all rows up to a mark.

    Args:
        parts: each part with the index of the row to mark, if any.
        most: how many rows are shown of all parts together, those up to a mark aside.
    """
    shown = []
    for part, marked in parts:
        rows = part.rows[: max(most, 0 if marked is None else marked + 1)]
        most = max(0, most - len(rows))
        shown.append((part, marked, rows))
    return shown


def outline(parts: Iterable[ConversationPart]) -> list[tuple[str, int]]:
    """Return what a client asked and what came, in words, each with how often it came in a row."""
    lines: list[str] = []
    for part in parts:
        values = {row.path: row.value for row in part.rows}
        key = values.get("request_api_key", "")
        if part.is_outgoing and key.isdecimal():
            version = values.get("request_api_version", "?")
            lines.append(f"Connection {part.connection}: {label_of(int(key))} v{version}")
        elif part.is_outgoing or not lines:
            lines.append(f"Connection {part.connection}: {part.what}")
        else:
            lines[-1] += f", {part.what}"
    return [(line, len(list(equal))) for line, equal in groupby(lines)]


def answer_groups(
    failure: KeptFailure,
    neighbours: Iterable[Neighbour],
    columns: dict[str, TargetColumn],
    *,
    by_verdict: bool = False,
) -> list[AnswerGroup]:
    """Group targets by what they did with the example.

    The group is the verdict alone, or also outcome, error code and bytes.
    """
    grouped: dict[tuple[str, int | None, str | None, str], list[Neighbour]] = {}
    for row in sorted(neighbours, key=lambda row: (row.release_order, row.target), reverse=True):
        if row.target in columns:
            key = (row.outcome, row.error_code, row.answer_sha256, row.verdict)
            key = ("", None, None, row.verdict) if by_verdict else key
            grouped.setdefault(key, []).append(row)
    groups = []
    for (outcome, error_code, digest, verdict), rows in grouped.items():
        words = outcome if error_code is None else f"{outcome}, error code {error_code}"
        bytes_ = f", bytes {digest[:8]}" if digest else ""
        members = dict.fromkeys(row.target for row in rows)
        groups.append(
            AnswerGroup(
                outcome=words + bytes_,
                verdict=verdict,
                targets=tuple(
                    (
                        columns[target].name,
                        addresses.clause_cell(failure.clause, target, failure.listener),
                    )
                    for target in members
                ),
                here=failure.target in members,
            )
        )
    return groups


def write_files(failure: KeptFailure, out_dir: Path) -> tuple[tuple[str, str], ...]:
    """Write the stored contents of a failure as files.

    Returns:
        Name and address (from the site's root) of each file. Empty and too large contents get no file.
    """
    written = []
    for name, content in _contents(failure).items():
        address = addresses.failure_file(failure.signature, name)
        path = out_dir / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        written.append((name, address))
    return tuple(written)


def script_addresses(failure: KeptFailure) -> dict[str, str]:
    """Return the addresses of the files that reproduce a failure, by file name.

    The files are the script and what it reads. Without a stored script the result is empty.
    """
    contents = _contents(failure)
    if REPRODUCER_FILE not in contents:
        return {}
    names = [name for name, _ in script_files(failure) if name in contents]
    return {name: addresses.failure_file(failure.signature, name) for name in names}


def _contents(failure: KeptFailure) -> dict[str, bytes]:
    """Return the contents of a failure's files by name, without empty and too large ones."""
    contents = {
        REPRODUCER_FILE: failure.reproducer.encode(),
        DUMP_FILE: failure.hex_dump.encode(),
        CAPTURE_FILE: failure.pcap or b"",
        "example.txt": failure.example.encode(),
        FACTS_FILE: failure.facts.encode(),
    }
    if len(contents[FACTS_FILE]) > _MAX_FILE_BYTES and READS_FACTS in failure.reproducer:
        del contents[REPRODUCER_FILE]
    return {name: content for name, content in contents.items() if content and len(content) <= _MAX_FILE_BYTES}
