"""A grid or a run as `summary.md`, for a pull request's comment.

The worst comes first and details are folded: a comment has at most 65,536 bytes. Blocks that do not fit are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.exports.bounded_text import Block, BoundedText
from reports.exports.issues import ViolatedClause, evidence_lines, replay_command, violations_of
from reports.grid import addresses
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import (
    FoldedCell,
    FoldedGrid,
    reason_text,
    verdict_text,
)
from reports.records import UNEXPECTED_VERDICTS, VIOLATED_VERDICTS, WORST_FIRST, Verdict
from reports.tables.failure_rows import KeptFailure
from reports.wording.escaping import html_text, markdown_text
from reports.wording.markdown_table import table_head, table_row
from reports.wording.verdict_labels import counted

MAX_BYTES = 65_536
_KEPT_FOR_END = 1_024
_NEXT_WORST = tuple(
    verdict for verdict in (*UNEXPECTED_VERDICTS, Verdict.KNOWN_VIOLATION) if verdict not in VIOLATED_VERDICTS
)
_FOLDED_FROM = 12
_MAX_DETAILED = 40
_MAX_DUMP_LINES = 24


def summary_markdown(
    folded: FoldedGrid,
    summary: GridSummary,
    failures: Sequence[KeptFailure],
    *,
    pages: str | None,
    most_bytes: int = MAX_BYTES,
) -> str:
    """Return the summary; `pages` is the prefix of the addresses of the site's pages, None if there are no pages."""
    found = violations_of(folded, failures, pages=pages)
    bounded = BoundedText(most_bytes - _KEPT_FOR_END)
    bounded.add(list(_head(summary)))
    _add_table(bounded, found)
    for block in _details(folded, found):
        bounded.add(block)
    for verdict in _NEXT_WORST:
        _add_others(bounded, folded, verdict, pages)
    end = list(_end(bounded.left_out, summary, pages))
    return bounded.text() + "".join(f"{line}\n" for line in end)


def _head(summary: GridSummary) -> Iterator[str]:
    yield "### Kafka conformance"
    yield ""
    yield f"**{markdown_text(summary.sentence)}**"
    yield ""
    counts = [
        f"{summary.cells[verdict]:,} {markdown_text(verdict_text(verdict))}"
        for verdict in WORST_FIRST
        if verdict in summary.cells
    ]
    size = f"{counted(summary.clauses, 'clause')} on {counted(summary.targets, 'target')}"
    yield f"{size}: {', '.join(counts)}"


def _add_table(bounded: BoundedText, found: Sequence[ViolatedClause]) -> None:
    if not found:
        return
    bounded.add(["", *table_head(("clause", "level", "target", "listeners", "seen"))])
    for each in found:
        clause = markdown_text(each.clause)
        columns = (
            f"[{clause}]({each.link})" if each.link else clause,
            f"{markdown_text(verdict_text(each.verdict))} {each.level}",
            *(markdown_text(text) for text in (each.target, ", ".join(each.listeners), each.seen)),
        )
        bounded.add([table_row(columns)])


def _details(folded: FoldedGrid, found: Sequence[ViolatedClause]) -> Iterator[Block]:
    """Yield one folded block per violation, with its bytes."""
    statements = {clause.clause: clause.statement for clause in folded.grid.clauses}
    for each in found[:_MAX_DETAILED]:
        if each.evidence is not None:
            yield [
                "",
                f"<details><summary>{html_text(each.key)}</summary>",
                "",
                f"> {markdown_text(statements[each.clause])}",
                *evidence_lines(each.evidence, _MAX_DUMP_LINES),
                "",
                f"Again: `{replay_command(each.evidence)}`",
                "",
                "</details>",
            ]


def _add_others(bounded: BoundedText, folded: FoldedGrid, verdict: Verdict, pages: str | None) -> None:
    """List the cells of one more verdict, folded if there are many."""
    rows = [_other(cell, pages) for cells in folded.cells.values() for cell in cells if cell.verdict is verdict]
    if not rows:
        return
    title = f"{html_text(verdict_text(verdict))}: {len(rows)}"
    is_folded = len(rows) > _FOLDED_FROM or verdict is Verdict.KNOWN_VIOLATION
    bounded.add_rows(title, rows, is_folded=is_folded)


def _other(cell: FoldedCell, pages: str | None) -> str:
    name = f"{markdown_text(cell.clause)} on {markdown_text(cell.target)}"
    if pages is not None:
        page = addresses.cell_page(cell.clause, cell.target, cell.worst.listener)
        name = f"[{name}]({pages}{page})"
    return f"- {name}: {markdown_text(cell.worst.reason or reason_text(cell.worst))}"


def _end(left_out: int, summary: GridSummary, pages: str | None) -> Iterator[str]:
    if left_out:
        yield ""
        yield f"Left out for lack of space: {counted(left_out, 'more block')}."
    if pages is not None:
        yield ""
        yield f"[The complete grid]({pages}{addresses.HOME})"
    if summary.refused:
        yield ""
        yield f"Left out as invalid: {counted(summary.refused, 'run folder')}."
