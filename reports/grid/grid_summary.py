"""The verdict of a grid in one sentence, the same in every form.

The forms are the page, Markdown and the terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clauses.catalogue import Level
from reports.grid.grid_view import FoldedCell, FoldedGrid
from reports.grid.products import BrokenRules, Product, products_of, those_counted
from reports.records import UNSETTLED_VERDICTS, VIOLATED_VERDICTS, Verdict
from reports.tables.failure_rows import KeptFailure
from reports.wording.verdict_labels import SYMBOLS, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSummary:
    """The summary of a grid.

    Attributes:
        sentence: the verdict in one sentence, with its symbol in front.
        verdict: the verdict that the sentence is about: the gravest of the MUST cells.
        cells: the number of cells with each verdict, in the order of `Verdict`. Here a cell is a clause on a
            target: its listeners count once, by their worst verdict. Blank cells do not count.
        targets: how many products it judges: brokers, clients, and clients of which only operations were tried.
        clauses: how many rows it has.
        refused: how many run folders did not count.
        page: the path of the rendered home page.
    """

    sentence: str
    verdict: Verdict
    cells: Mapping[Verdict, int]
    targets: int
    clauses: int
    refused: int
    page: Path


def summarise(folded: FoldedGrid, page: Path, failures: Sequence[KeptFailure] | None = None) -> GridSummary:
    """Count a grid's cells and put the most important result into one sentence.

    If the stored failures of the cells were not read, it counts no bugs. `page` is the path of the rendered home page.
    """
    products = products_of(folded, failures)
    counts = Counter(own.cell.verdict for product in products for own in product.cells)
    verdict, text = _gravest(products)
    return GridSummary(
        sentence=f"{SYMBOLS[verdict]} {text}",
        verdict=verdict,
        cells={entry: counts[entry] for entry in Verdict if counts[entry]},
        targets=len(products),
        clauses=len(folded.grid.clauses),
        refused=len(folded.grid.refused),
        page=page,
    )


def _gravest(products: Sequence[Product]) -> tuple[Verdict, str]:
    must = {product.id: [own for own in product.cells if own.clause.level == Level.MUST] for product in products}
    binding = [own.cell for cells in must.values() for own in cells if own.cell.verdict is not Verdict.NOT_APPLICABLE]
    unsettled = [cell for cell in binding if cell.verdict in UNSETTLED_VERDICTS]
    open_cells = counted(len(unsettled), "MUST cell")
    not_judged = f" {open_cells} could not be judged." if unsettled else ""
    breaking = [
        product for product in products if any(own.cell.verdict in VIOLATED_VERDICTS for own in must[product.id])
    ]
    if breaking:
        text = f"{breaking_products(products, breaking)}: {BrokenRules.of(products)}."
        return Verdict.VIOLATES, text + not_judged
    unexpected = [cell for cell in binding if cell.verdict is Verdict.UNEXPECTED_PASS]
    if unexpected:
        verb = "is" if len(unexpected) == 1 else "are"
        text = f"{counted(len(unexpected), 'declared violation')} {verb} no longer found."
        return Verdict.UNEXPECTED_PASS, text + not_judged
    if unsettled:
        cells = counted(len(unsettled), "cell")
        text = f"No MUST clause is violated, but {cells} could not be judged."
        return unsettled[0].verdict, text
    if not binding:
        return Verdict.NOT_RUN, "No MUST clause was judged."
    bound = [cells for cells in must.values() if any(own.cell.verdict is not Verdict.NOT_APPLICABLE for own in cells)]
    left_out = sum(map(len, bound)) - len(binding)
    return Verdict.CONFORMS, _all_hold(binding, left_out, len(bound), len(products))


def breaking_products(products: Sequence[Product], breaking: Sequence[Product]) -> str:
    """Return how many products break a MUST, by role: "6 of 17 brokers and 1 of 7 clients break MUST rules"."""
    parts = []
    for role in dict.fromkeys(product.role for product in products):
        own = [product for product in breaking if product.role == role]
        every = those_counted([product for product in products if product.role == role], own)
        if own:
            parts.append(f"{len(own)} of {counted(len(every), role)}")
    verb = "breaks" if len(breaking) == 1 else "break"
    return f"{' and '.join(parts)} {verb} MUST rules"


def _all_hold(binding: Sequence[FoldedCell], left_out: int, bound: int, every: int) -> str:
    """Return the sentence that all MUST clauses hold, with how many cells of how many products were not judged."""
    known = sum(cell.verdict is Verdict.KNOWN_VIOLATION for cell in binding)
    exceptions = f", except for {counted(known, 'known violation')}" if known else ""
    others = f" No MUST clause applies to the other {every - bound:,}." if every > bound else ""
    not_judged_cells = (
        f" {left_out:,} of {counted(len(binding) + left_out, 'MUST cell')} could not be judged or do not apply."
        if left_out
        else ""
    )
    return f"Every MUST clause holds on {counted(bound, 'target')}{exceptions}.{not_judged_cells}{others}"
