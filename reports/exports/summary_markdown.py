"""A grid or a run as `summary.md`, for a pull request's comment.

The worst comes first and details are folded: a comment has at most 65,536 bytes. What does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.document.blocks import (
    Block,
    BulletList,
    Code,
    Document,
    Hyperlink,
    ListItem,
    Quote,
    Section,
    Sentence,
    Strong,
    TextTable,
)
from reports.document.markdown_form import MAX_COMMENT_BYTES, bounded_markdown
from reports.exports.issues import ViolatedClause, evidence_of, stored_replay_command, violations_of
from reports.exports.short_grid import owner_sentences
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
from reports.wording.verdict_labels import counted

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
    max_bytes: int = MAX_COMMENT_BYTES,
) -> str:
    """Return the summary; `pages` is the prefix of the addresses of the site's pages, None if there are no pages."""
    violations = violations_of(folded, failures, pages=pages)
    document = Document(
        title="Kafka conformance",
        blocks=(
            Sentence(Strong(summary.sentence)),
            *owner_sentences(folded),
            Sentence(_counts(summary)),
            *_violations(violations),
            *_details(folded, violations),
            *(section for verdict in _NEXT_WORST for section in _others(folded, verdict, pages)),
            *_newer(folded),
        ),
        end=tuple(_end(summary, pages)),
    )
    return bounded_markdown(document, level=3, max_bytes=max_bytes)


def _counts(summary: GridSummary) -> str:
    counts = [
        f"{summary.cells[verdict]:,} {verdict_text(verdict)}" for verdict in WORST_FIRST if verdict in summary.cells
    ]
    return f"{counted(summary.clauses, 'clause')} on {counted(summary.targets, 'target')}: {', '.join(counts)}"


def _violations(violations: Sequence[ViolatedClause]) -> Iterator[Block]:
    if violations:
        yield TextTable(
            columns=("clause", "level", "target", "listeners", "seen"),
            rows=tuple(
                (
                    Hyperlink(each.clause, each.link) if each.link else each.clause,
                    f"{verdict_text(each.verdict)} {each.level}",
                    each.target,
                    ", ".join(each.listeners),
                    each.seen,
                )
                for each in violations
            ),
        )


def _details(folded: FoldedGrid, violations: Sequence[ViolatedClause]) -> Iterator[Block]:
    """Yield one folded section per violation, with its bytes."""
    statements = {clause.clause: clause.statement for clause in folded.grid.clauses}
    for violation in violations[:_MAX_DETAILED]:
        if violation.evidence is not None:
            again = Sentence(("Again: ", Code(stored_replay_command(violation.evidence))))
            blocks = (Quote(statements[violation.clause]), *evidence_of(violation.evidence, _MAX_DUMP_LINES), again)
            yield Section(title=violation.key, blocks=blocks, is_folded=True)


def _others(folded: FoldedGrid, verdict: Verdict, pages: str | None) -> Iterator[Block]:
    """Yield a list of the cells of one more verdict, folded if there are many."""
    items = [_other(cell, pages) for cells in folded.cells.values() for cell in cells if cell.verdict is verdict]
    if items:
        yield Section(
            title=f"{verdict_text(verdict)}: {len(items)}",
            blocks=(BulletList(tuple(items)),),
            is_folded=len(items) > _FOLDED_FROM or verdict is Verdict.KNOWN_VIOLATION,
        )


def _newer(folded: FoldedGrid) -> Iterator[Block]:
    """Yield what differs in something newer than the set of clauses that its run was judged by."""
    items = [
        ListItem(cell.reason, f"{cell.clause} on {cell.target}, {cell.listener}")
        for cell in folded.grid.cells
        if cell.is_newer
    ]
    if items:
        yield Section(
            title=f"Newer than the set of clauses, fails nothing: {len(items)}",
            blocks=(BulletList(tuple(items)),),
            is_folded=True,
        )


def _other(cell: FoldedCell, pages: str | None) -> ListItem:
    name = f"{cell.clause} on {cell.target}"
    reason = cell.worst.reason or reason_text(cell.worst)
    if pages is None:
        return ListItem(reason, name)
    page = addresses.cell_page(cell.clause, cell.target, cell.worst.listener)
    return ListItem((Hyperlink(name, f"{pages}{page}"), f": {reason}"))


def _end(summary: GridSummary, pages: str | None) -> Iterator[Block]:
    if pages is not None:
        yield Sentence(Hyperlink("The complete grid", f"{pages}{addresses.HOME}"))
    if summary.refused:
        yield Sentence(f"Left out as invalid: {counted(summary.refused, 'run folder')}.")
