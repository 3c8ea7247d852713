"""Violations as a list to open issues from: one entry per clause and target, for all listeners.

The key of an entry depends only on clause and target. The entry's body contains it, so that no issue is opened twice.
Texts are Markdown, escaped, and short enough for an issue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clauses.catalogue import Level
from reports.escaping import markdown_code_block, markdown_text, one_line
from reports.grid import addresses
from reports.grid.grid_tables import GridCell, GridClause
from reports.grid.grid_view import FoldedCell, FoldedGrid, ListenerCell, TargetColumn
from reports.grid.history_tables import KeptFailure
from reports.records import GATING_LEVELS, VIOLATED_VERDICTS, WORST_FIRST, Verdict, gates
from reports.run.failures import READS_FACTS

_LEVELS = (*GATING_LEVELS, *(level for level in Level if not gates(level)))
_LONGEST_NAME = 100
_LONGEST_SEEN = 200
_MOST_DUMP_LINES = 80
_MOST_SCRIPT_LINES = 250
_LONGEST_LINE = 160

Chosen = Callable[[FoldedCell], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One clause that one target violates.

    Attributes:
        key: its stable name, "CLAUSE on TARGET".
        clause: the clause's id.
        target: the target's id.
        level: the clause's level, such as MUST.
        verdict: `violates` if it is that on any listener, else `flaky`.
        listeners: those that violate it.
        title: a short plain-text title for an issue.
        evidence: its first stored failure; None if none is stored.
        link: the page with the most details; empty if there are no pages.
        stated: the clause's row of the grid.
    """

    key: str
    clause: str
    target: str
    level: str
    verdict: Verdict
    listeners: tuple[str, ...]
    title: str
    evidence: KeptFailure | None
    link: str
    stated: GridClause

    @property
    def body(self) -> str:
        """The body of an issue in Markdown: clause, bytes, reproducer, link and, hidden, the key."""
        return "\n".join(_body(self))

    @property
    def seen(self) -> str:
        """What was seen, on one line; empty if no failure is stored."""
        return first_line(self.evidence) if self.evidence else ""


def violations_of(
    folded: FoldedGrid,
    failures: Sequence[KeptFailure],
    *,
    pages: str | None,
    chosen: Chosen = lambda cell: True,
) -> list[Violation]:
    """List violations, the worst first: by level, then in the order of the grid.

    Args:
        folded: the grid.
        failures: the stored failures of its cells.
        pages: prefix of the addresses of the site's pages; None if there are no pages.
        chosen: which cells to list.
    """
    kept = {failure.signature: failure for failure in failures}
    clauses = {clause.clause: clause for clause in folded.grid.clauses}
    found = [
        _violation(clauses[clause], cell, column, kept, pages)
        for clause, cells in folded.cells.items()
        for cell, column in zip(cells, folded.columns, strict=True)
        if any(each.verdict in VIOLATED_VERDICTS for each in cell.listeners) and chosen(cell)
    ]
    return sorted(found, key=lambda each: _level_order(each.level))


def _level_order(level: str) -> int:
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS)


def _violation(
    clause: GridClause,
    cell: FoldedCell,
    column: TargetColumn,
    kept: Mapping[str, KeptFailure],
    pages: str | None,
) -> Violation:
    violating = [each for each in cell.listeners if each.verdict in VIOLATED_VERDICTS]
    failure = _first_kept(violating, kept)
    key = one_line(f"{clause.clause} on {cell.target}")
    # Another listener may rank worse, but only those that violate the clause count here.
    verdict = min((each.verdict for each in violating), key=WORST_FIRST.index)
    link = "" if pages is None else f"{pages}{_page(cell, violating[0], failure)}"
    listeners = tuple(each.listener for each in violating)
    words = "violates" if verdict is Verdict.VIOLATES else "sometimes violates"
    return Violation(
        key=key,
        clause=clause.clause,
        target=cell.target,
        level=clause.level,
        verdict=verdict,
        listeners=listeners,
        title=f"{one_line(column.name)[:_LONGEST_NAME]} {words} {clause.clause}",
        evidence=failure,
        link=link,
        stated=clause,
    )


def first_line(failure: KeptFailure) -> str:
    """Return the first line of a failure's message, with unprintable characters escaped, cut to a maximum length."""
    line = one_line(failure.message.partition("\n")[0])
    return line if len(line) <= _LONGEST_SEEN else f"{line[: _LONGEST_SEEN - 1]}…"


def _first_kept(
    listeners: Sequence[ListenerCell], kept: Mapping[str, KeptFailure]
) -> KeptFailure | None:
    rows: list[GridCell] = [each.row for each in listeners if each.row is not None]
    signatures = [failure.signature for row in rows for failure in row.failures]
    return next((kept[signature] for signature in signatures if signature in kept), None)


def _page(cell: FoldedCell, listener: ListenerCell, failure: KeptFailure | None) -> str:
    if failure is not None:
        return addresses.failure_page(failure.signature)
    return addresses.cell_page(cell.clause, cell.target, listener.listener)


def _body(violation: Violation) -> Iterator[str]:
    clause = violation.stated
    yield (
        f"**{markdown_text(clause.clause)}** ({markdown_text(clause.level)}) on "
        f"**{markdown_text(violation.target)}**, {markdown_text(', '.join(violation.listeners))}"
    )
    yield ""
    yield f"> {markdown_text(clause.statement)}"
    yield ""
    yield f"{markdown_text(clause.meaning)} ({markdown_text(clause.location)})"
    if violation.evidence is not None:
        yield from evidence_lines(violation.evidence)
        yield from _script_lines(violation.evidence)
    if violation.link:
        yield ""
        yield f"[Full record]({violation.link})"
    yield ""
    yield f"<!-- kafka-conformance: {marker(violation.key)} -->"


def marker(key: str) -> str:
    """Return a key for the hidden comment in a body, escaped so that nothing in it ends the comment."""
    return key.replace("--", "-%2D").replace(">", "%3E")


def evidence_lines(failure: KeptFailure, most_lines: int = _MOST_DUMP_LINES) -> Iterator[str]:
    """Yield what was seen and the bytes of a failure, as Markdown."""
    yield ""
    yield f"Seen: {markdown_text(first_line(failure))}"
    if failure.hex_dump:
        yield ""
        yield from markdown_code_block(_cut(failure.hex_dump, most_lines), "text")


def _script_lines(failure: KeptFailure) -> Iterator[str]:
    yield ""
    yield "To judge it again, if you have the run folder:"
    yield ""
    yield from markdown_code_block(replay_command(failure), "sh")
    # A script that was cut, or that reads the bytes from another file, does not run.
    script = _cut(failure.reproducer, _MOST_SCRIPT_LINES)
    is_complete = script == failure.reproducer.rstrip("\n") and READS_FACTS not in script
    if script and is_complete:
        yield ""
        yield "<details><summary>A script that reproduces it, using only Python</summary>"
        yield ""
        yield from markdown_code_block(script, "python")
        yield ""
        yield "</details>"


def replay_command(failure: KeptFailure) -> str:
    """Return the command that judges a stored failure again; the suite itself chose both folder names."""
    return f"kafka-conformance replay runs/{failure.run_id}/failures/{failure.signature}"


def _cut(text: str, most_lines: int) -> str:
    lines = text.rstrip("\n").split("\n")
    shown = [
        line
        if len(line) <= _LONGEST_LINE
        else f"{line[:_LONGEST_LINE]} ... ({len(line)} characters)"
        for line in lines[:most_lines]
    ]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"... ({left} more lines)"] if left else [])])


def violation_documents(violations: Sequence[Violation]) -> list[dict[str, Any]]:
    """Return violations as JSON objects."""
    return [
        {
            "key": each.key,
            "clause": each.clause,
            "target": each.target,
            "level": each.level,
            "verdict": each.verdict,
            "listeners": each.listeners,
            "title": each.title,
            "seen": each.seen,
            "link": each.link,
            "body": each.body,
        }
        for each in violations
    ]
