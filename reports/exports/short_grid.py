"""A grid as `grid.md`, in at most 12 kB, who breaks most first.

It has the sentence, a line per product that breaks a rule, a table per role with the rules that some product does not
plainly keep, and a table of operations. Releases with equal columns share one. Rows that do not fit are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from reports.document.blocks import Block, Document, Hyperlink, Section, Sentence, Strong, TextTable
from reports.document.markdown_form import bounded_markdown
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import (
    WITHOUT_FINDING,
    FoldedCell,
    FoldedGrid,
    TargetColumn,
    role_title,
)
from reports.grid.products import Product, owner_of
from reports.records import OPERATION, WORST_FIRST, Verdict
from reports.tables.cell_rows import GridClause
from reports.wording.escaping import cut
from reports.wording.verdict_labels import SYMBOLS, WORDS, verdict_word

_MAX_GRID_BYTES = 12_000
_MAX_TITLES = 3
_MAX_TITLE = 90


def short_grid(folded: FoldedGrid, products: Sequence[Product], summary: GridSummary) -> str:
    """Return the text."""
    refused = [f"Refused: {run.folder}: {run.reason}" for run in folded.grid.refused]
    document = Document(
        title="",
        blocks=(
            Sentence(Strong(summary.sentence)),
            *owner_sentences(folded),
            TextTable(columns=("product", "breaks", "what is wrong"), rows=tuple(_offenders(products))),
            *_tables(folded, products),
        ),
        end=(Sentence(_legend(folded)), *(Sentence(line[:_MAX_TITLE]) for line in refused[:_MAX_TITLES])),
    )
    site = "the site of this grid"
    where = Hyperlink(site, folded.grid.pages) if folded.grid.pages else site
    return bounded_markdown(document, max_bytes=_MAX_GRID_BYTES, complete_in=where)


def owner_sentences(folded: FoldedGrid) -> Iterator[Sentence]:
    """Yield what readers have to know of each column that its owner has judged."""
    yield from (Sentence(f"{column.name}: {column.owner_note}.") for column in folded.columns if column.owner_note)


def _tables(folded: FoldedGrid, products: Sequence[Product]) -> Iterator[Block]:
    """Yield a table for each role; operations first, because their table is small."""
    for role, of_role in sorted(folded.by_role.items(), key=lambda each: each[0] != OPERATION):
        if role == OPERATION:
            table = _operations(of_role, {each.id: each.name for each in products})
        else:
            table = _rules(of_role)
        yield Section(title=role_title(role), blocks=(table,)) if len(folded.by_role) > 1 else table


def _offenders(products: Sequence[Product]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each product that breaks a rule, the worst first."""
    broken = [product for product in products if product.broken]
    for product in sorted(broken, key=lambda each: (-each.broken.must, -each.broken.should)):
        titles = [cut(bug.title, _MAX_TITLE) for bug in product.bugs[:_MAX_TITLES]]
        more = len(product.bugs) - len(titles)
        words = "; ".join([*titles, *([f"{more} more"] if more > 0 else [])])
        yield product.name, product.broken.verdict_text, words


def _rules(folded: FoldedGrid) -> TextTable:
    """Return a table of the rules that some target does not plainly keep, with equal releases in one column."""
    noted = [
        clause
        for clause in folded.grid.clauses
        if any(cell.verdict not in WITHOUT_FINDING for cell in folded.cells[clause.clause])
    ]
    groups = _equal_columns(folded, noted)
    rows = [
        (
            f"{clause.clause} {clause.level}",
            *(_symbol(folded.cells[clause.clause][indexes[0]]) for indexes in groups),
        )
        for clause in noted
    ]
    # The rows that most targets break come first.
    rows.sort(key=lambda row: -sum(text.startswith(SYMBOLS[Verdict.VIOLATES]) for text in row[1:]))
    names = (_group_name([folded.columns[index] for index in indexes]) for indexes in groups)
    return TextTable(columns=("rule", *names), rows=tuple(rows))


def _equal_columns(folded: FoldedGrid, clauses: Sequence[GridClause]) -> list[list[int]]:
    """Return the indexes of neighbouring columns of one implementation that show the same in these rows."""

    def key(index: int) -> tuple[str, tuple[str, ...]]:
        symbols = tuple(_symbol(folded.cells[clause.clause][index]) for clause in clauses)
        return folded.columns[index].implementation, symbols

    return [list(group) for _, group in groupby(range(len(folded.columns)), key)]


def _symbol(cell: FoldedCell) -> str:
    if cell.is_blank:
        return ""
    return f"{SYMBOLS[cell.verdict]} crashes" if cell.worst.crashes else SYMBOLS[cell.verdict]


def _group_name(columns: Sequence[TargetColumn]) -> str:
    newest, oldest = columns[0], columns[-1]
    return newest.name if len(columns) == 1 else f"{oldest.name} to {newest.short}"


def _operations(folded: FoldedGrid, names: Mapping[str, str]) -> TextTable:
    """Return a table of clients by releases: how many operations have each verdict."""
    rows = []
    for source, clauses in folded.sources:
        cells = [folded.cells[clause.clause] for clause in clauses]
        tried = [[row[at] for row in cells] for at in range(len(folded.columns))]
        client = owner_of(clauses[0], "", OPERATION)
        rows.append((names.get(client, source), *map(_counts, tried)))
    return TextTable(columns=("client", *(column.name for column in folded.columns)), rows=tuple(rows))


def _counts(cells: Sequence[FoldedCell]) -> str:
    counts: Counter[Verdict] = Counter(
        cell.verdict for cell in cells if not cell.is_blank and cell.verdict is not Verdict.NOT_APPLICABLE
    )
    return ", ".join(f"{SYMBOLS[each]} {counts[each]}" for each in WORST_FIRST if counts[each])


def _legend(folded: FoldedGrid) -> str:
    verdicts = [each for each in WORST_FIRST if each is not Verdict.NOT_APPLICABLE]
    words = [f"{SYMBOLS[each]} {WORDS[each]}" for each in verdicts]
    if OPERATION in folded.by_role:
        differ = [each for each in verdicts if verdict_word(each, OPERATION) != WORDS[each]]
        words += [f"for operations {SYMBOLS[each]} {verdict_word(each, OPERATION)}" for each in differ]
    words.append(f"{SYMBOLS[Verdict.NOT_APPLICABLE]} does not apply")
    return f"{'; '.join(words)}; empty: not tried"
