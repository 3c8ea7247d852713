"""A grid or a run in Markdown: `summary.md` and the short `grid.md`.

`summary.md` is for a pull request's comment. Blocks that do not fit are counted.

In the summary, the worst comes first and details are folded: a comment has at most 65,536 bytes. `grid.md` has at most
12 kB, who breaks most first: the sentence, a line per product that breaks a rule, a table per role with the rules that
some product does not plainly keep, and a table of operations. Releases with equal columns share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice

from reports.escaping import cut, html_text, markdown_text
from reports.exports.issues import (
    ViolatedClause,
    evidence_lines,
    replay_command,
    violations_of,
)
from reports.grid import addresses
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import (
    WITHOUT_FINDING,
    FoldedCell,
    FoldedGrid,
    TargetColumn,
    reason_text,
    role_title,
    verdict_text,
)
from reports.grid.products import Product, owner_of
from reports.records import OPERATION, UNEXPECTED_VERDICTS, VIOLATED_VERDICTS, WORST_FIRST, Verdict
from reports.tables.cell_rows import GridClause
from reports.tables.failure_rows import KeptFailure
from reports.verdict_labels import SYMBOLS, WORDS, counted, verdict_word

MAX_BYTES = 65_536
_KEPT_FOR_END = 1_024
_NEXT_WORST = tuple(
    verdict for verdict in (*UNEXPECTED_VERDICTS, Verdict.KNOWN_VIOLATION) if verdict not in VIOLATED_VERDICTS
)
_FOLDED_FROM = 12
_MAX_DETAILED = 40
_MAX_DUMP_LINES = 24
_MAX_GRID_BYTES = 12_000
_MAX_ROWS = 99_999
_MAX_TITLES = 3
_MAX_TITLE = 90

Block = Sequence[str]


class BoundedText:
    """Text with a maximum size: collects blocks of lines while they fit, and counts the others."""

    def __init__(self, most_bytes: int) -> None:
        self.left_out = 0
        self._left = most_bytes
        self._lines: list[str] = []

    def add(self, block: Block) -> bool:
        """Add a complete block, or count it as left out; return whether it fits."""
        size = sum(len(line.encode()) + 1 for line in block)
        if size > self._left:
            self.left_out += 1
            return False
        self._left -= size
        self._lines += block
        return True

    def add_rows(self, title: str, rows: Iterable[str], *, is_folded: bool, head: Block = ()) -> None:
        """Add a title and the rows below it, as many as fit; folded ones end in the room that is reserved for the end.

        Args:
            title: text for HTML.
            rows: lines.
            is_folded: whether a reader sees the title alone at first.
            head: the lines of a table above its rows.
        """
        opening = f"<details><summary>{title}</summary>" if is_folded else f"**{title}**"
        if not self.add(["", opening, "", *head]):
            return
        for row in rows:
            self.add([row])
        if is_folded:
            self.close("")
            self.close("</details>")

    def close(self, line: str) -> None:
        """Add a mandatory line; the caller has reserved room for it."""
        self._lines.append(line)

    def text(self) -> str:
        """Return the collected lines."""
        return "\n".join(self._lines) + "\n"


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
    bounded.add(["", "| clause | level | target | listeners | seen |", "|---|---|---|---|---|"])
    for each in found:
        clause = markdown_text(each.clause)
        columns = (
            f"[{clause}]({each.link})" if each.link else clause,
            f"{markdown_text(verdict_text(each.verdict))} {each.level}",
            *(markdown_text(text) for text in (each.target, ", ".join(each.listeners), each.seen)),
        )
        bounded.add([f"| {' | '.join(columns)} |"])


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


def short_grid(folded: FoldedGrid, products: Sequence[Product], summary: GridSummary) -> str:
    """Return the text."""
    refused = (f"Refused: {run.folder}: {run.reason}" for run in folded.grid.refused)
    ends = [
        _legend(folded),
        *(markdown_text(line[:_MAX_TITLE]) for line in islice(refused, _MAX_TITLES)),
    ]
    where = folded.grid.pages or "the site of this grid"
    kept = sum(len(f"\n{line}\n".encode()) for line in [*ends, _left_out(_MAX_ROWS, where)])
    bounded = BoundedText(_MAX_GRID_BYTES - kept)
    bounded.add([f"**{markdown_text(summary.sentence)}**"])
    _add_grid_table(bounded, ["product", "breaks", "what is wrong"], list(_offenders(products)))
    # Operations first, because their table is small.
    for role, of_role in sorted(folded.by_role.items(), key=lambda each: each[0] != OPERATION):
        title = role_title(role) if len(folded.by_role) > 1 else ""
        if role == OPERATION:
            head, rows = _operations(of_role, {each.id: each.name for each in products})
        else:
            head, rows = _rules(of_role)
        _add_grid_table(bounded, head, rows, title=title)
    if bounded.left_out:
        ends.insert(1, _left_out(bounded.left_out, where))
    for line in ends:
        bounded.close("")
        bounded.close(line)
    return bounded.text()


def _left_out(rows: int, where: str) -> str:
    return f"Left out for lack of space: {counted(rows, 'row')}; {where} has everything."


def _add_grid_table(bounded: BoundedText, head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    opening = ["", f"## {title}"] if title else []
    columns = " | ".join(markdown_text(text) for text in head)
    opening += ["", f"| {columns} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        line = f"| {' | '.join(markdown_text(text) for text in row)} |"
        if bounded.add([*opening, line]):
            opening = []


def _offenders(products: Sequence[Product]) -> Iterator[list[str]]:
    """Yield a row for each product that breaks a rule, the worst first."""
    broken = [product for product in products if product.broken]
    for product in sorted(broken, key=lambda each: (-each.broken.must, -each.broken.should)):
        titles = [cut(bug.title, _MAX_TITLE) for bug in product.bugs[:_MAX_TITLES]]
        more = len(product.bugs) - len(titles)
        said = "; ".join([*titles, *([f"{more} more"] if more > 0 else [])])
        yield [product.name, product.broken.verdict_text, said]


def _rules(folded: FoldedGrid) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the rules that some target does not plainly keep, with equal releases in one column."""
    noted = [
        clause
        for clause in folded.grid.clauses
        if any(cell.verdict not in WITHOUT_FINDING for cell in folded.cells[clause.clause])
    ]
    groups = _equal_columns(folded, noted)
    rows = [
        [
            f"{clause.clause} {clause.level}",
            *(_symbol(folded.cells[clause.clause][indexes[0]]) for indexes in groups),
        ]
        for clause in noted
    ]
    # The rows that most targets break come first.
    rows.sort(key=lambda row: -sum(text.startswith(SYMBOLS[Verdict.VIOLATES]) for text in row[1:]))
    return [
        "rule",
        *(_group_name([folded.columns[index] for index in indexes]) for indexes in groups),
    ], rows


def _equal_columns(folded: FoldedGrid, clauses: Sequence[GridClause]) -> list[list[int]]:
    """Return the indexes of neighbouring columns of one implementation that show the same in these rows."""

    def key(index: int) -> tuple[str, tuple[str, ...]]:
        shown = tuple(_symbol(folded.cells[clause.clause][index]) for clause in clauses)
        return folded.columns[index].implementation, shown

    return [list(group) for _, group in groupby(range(len(folded.columns)), key)]


def _symbol(cell: FoldedCell) -> str:
    if cell.is_blank:
        return ""
    return f"{SYMBOLS[cell.verdict]} crashes" if cell.worst.crashes else SYMBOLS[cell.verdict]


def _group_name(columns: Sequence[TargetColumn]) -> str:
    newest, oldest = columns[0], columns[-1]
    return newest.name if len(columns) == 1 else f"{oldest.name} to {newest.short}"


def _operations(folded: FoldedGrid, names: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of clients by releases: how many operations have each verdict."""
    rows = []
    for source, clauses in folded.sources:
        cells = [folded.cells[clause.clause] for clause in clauses]
        tried = [[row[at] for row in cells] for at in range(len(folded.columns))]
        client = owner_of(clauses[0], "", OPERATION)
        rows.append([names.get(client, source), *(_counts(column) for column in tried)])
    return ["client", *(column.name for column in folded.columns)], rows


def _counts(cells: Sequence[FoldedCell]) -> str:
    counts: Counter[Verdict] = Counter(
        cell.verdict for cell in cells if not cell.is_blank and cell.verdict is not Verdict.NOT_APPLICABLE
    )
    return ", ".join(f"{SYMBOLS[each]} {counts[each]}" for each in WORST_FIRST if counts[each])


def _legend(folded: FoldedGrid) -> str:
    shown = [each for each in WORST_FIRST if each is not Verdict.NOT_APPLICABLE]
    words = [f"{SYMBOLS[each]} {WORDS[each]}" for each in shown]
    if OPERATION in folded.by_role:
        differ = [each for each in shown if verdict_word(each, OPERATION) != WORDS[each]]
        words += [f"for operations {SYMBOLS[each]} {verdict_word(each, OPERATION)}" for each in differ]
    words.append(f"{SYMBOLS[Verdict.NOT_APPLICABLE]} does not apply")
    return markdown_text(f"{'; '.join(words)}; empty: not tried")
