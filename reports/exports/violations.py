"""Violations as a list to open issues from: one entry per clause and product, for all its listeners.

The product answers for the entry: an operation's entry is the client's, and names the releases that it was tried with. The
key of an entry depends only on clause and product. The entry's body contains it, so that no issue is opened twice.
Texts are Markdown, escaped, and short enough for an issue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from clauses.catalogue import Level
from reports.escaping import markdown_text, one_line
from reports.exports.issue_texts import evidence_lines, first_line, marker, script_lines
from reports.grid import addresses
from reports.grid.grid_tables import GridClause
from reports.grid.grid_view import FoldedCell, FoldedGrid, ListenerCell
from reports.grid.history_tables import KeptFailure, failures_by_run, leaves_open
from reports.grid.products import OwnCell, Product, products_of
from reports.records import GATING_LEVELS, OPERATION, VIOLATED_VERDICTS, WORST_FIRST, Verdict, gates
from reports.verdict_labels import CRASHES

_LEVELS = (*GATING_LEVELS, *(level for level in Level if not gates(level)))
_LONGEST_NAME = 100
_IN_JSON = (
    *("key", "role", "clause", "target", "releases", "level"),
    *("verdict", "listeners", "title", "seen", "link", "body"),
)

Chosen = Callable[[FoldedCell], bool]
Failures = Mapping[tuple[str, str], KeptFailure]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolatedClause:
    """One clause that one product violates.

    Attributes:
        key: its stable name, "CLAUSE on PRODUCT"; for an operation, its row alone.
        target: the id of the product that violates it.
        role: what was judged: broker, client or operation.
        level: the clause's level, such as MUST.
        verdict: `violates` if it is that on any listener, else `flaky`.
        listeners: those that violate it.
        releases: the targets that an operation was tried with; empty if it is none.
        title: a short plain-text title for an issue.
        evidence: its first stored failure; None if none is stored.
        link: the page with the most details; empty if there are no pages.
        stated: the clause's row of the grid.
    """

    key: str
    clause: str
    target: str
    role: str
    level: str
    verdict: Verdict
    listeners: tuple[str, ...]
    releases: tuple[str, ...]
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

    @property
    def columns(self) -> tuple[str, ...]:
        """The targets whose columns show it: the releases of an operation, else the product."""
        return self.releases or (self.target,)


def violations_of(
    folded: FoldedGrid,
    failures: Sequence[KeptFailure],
    *,
    pages: str | None,
    chosen: Chosen = lambda cell: True,
) -> list[ViolatedClause]:
    """List violations in the chosen cells, the worst first: by level, then by product, in the order of the grid."""
    kept = failures_by_run(failures)
    found = [
        _violation(product, list(cells), kept, pages)
        for product in products_of(folded)
        for _, cells in groupby(
            [own for own in product.cells if _is_violated(own.cell) and chosen(own.cell)],
            key=lambda own: (own.role, own.clause.clause),
        )
    ]
    return sorted(found, key=lambda each: _level_order(each.level))


def _is_violated(cell: FoldedCell) -> bool:
    return any(each.verdict in VIOLATED_VERDICTS for each in cell.listeners)


def _level_order(level: str) -> int:
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS)


def _violation(
    product: Product, cells: Sequence[OwnCell], kept: Failures, pages: str | None
) -> ViolatedClause:
    """Return the entry of one clause: several cells of an operation, one for each release, are one entry."""
    clause, role = cells[0].clause, cells[0].role
    red = [
        (own, each)
        for own in cells
        for each in own.cell.listeners
        if each.verdict in VIOLATED_VERDICTS
    ]
    failure = next((found for _, each in red for found in _kept_failures(each, kept)), None)
    own, listener = red[0]
    page = (
        addresses.failure_page(failure.signature)
        if failure is not None
        else addresses.cell_page(clause.clause, own.cell.target, listener.listener)
    )
    is_operation = role == OPERATION
    # Another listener may rank worse, but only those that violate the clause count here.
    verdict = min((each.verdict for _, each in red), key=WORST_FIRST.index)
    crashes = any(each.crashes for _, each in red)
    return ViolatedClause(
        key=one_line(clause.clause if is_operation else f"{clause.clause} on {product.id}"),
        clause=clause.clause,
        target=product.id,
        role=role,
        level=clause.level,
        verdict=verdict,
        listeners=tuple(dict.fromkeys(each.listener for _, each in red)),
        releases=tuple(each.cell.target for each in cells) if is_operation else (),
        title=_title(product, cells, verdict, crashes=crashes),
        evidence=failure,
        link="" if pages is None else f"{pages}{page}",
        stated=clause,
    )


def _title(product: Product, cells: Sequence[OwnCell], verdict: Verdict, *, crashes: bool) -> str:
    name = one_line(product.name)[:_LONGEST_NAME]
    if cells[0].role == OPERATION:
        operation = cells[0].clause.clause.rpartition(".")[2]
        fails = "fails" if verdict is Verdict.VIOLATES else "sometimes fails"
        releases = ", ".join(one_line(own.column.name) for own in cells)
        return f"{name}: {operation} {CRASHES if crashes else fails} with {releases}"[
            : _LONGEST_NAME * 2
        ]
    words = "violates" if verdict is Verdict.VIOLATES else "sometimes violates"
    words = f"{CRASHES} and violates" if crashes else words
    return f"{name} {words} {cells[0].clause.clause}"


def _kept_failures(listener: ListenerCell, kept: Failures) -> Iterator[KeptFailure]:
    if listener.row is not None:
        for failure in listener.row.failures:
            key = (listener.row.run_id, failure.signature)
            if key in kept and not leaves_open(kept[key]):
                yield kept[key]


def _body(violation: ViolatedClause) -> Iterator[str]:
    clause = violation.stated
    names = [*violation.releases, *violation.listeners]
    yield (
        f"**{markdown_text(clause.clause)}** ({markdown_text(clause.level)}) on "
        f"**{markdown_text(violation.target)}**, {markdown_text(', '.join(names))}"
    )
    yield ""
    yield f"> {markdown_text(clause.statement)}"
    yield ""
    yield f"{markdown_text(clause.meaning)} ({markdown_text(clause.location)})"
    if violation.evidence is not None:
        yield from evidence_lines(violation.evidence)
        yield from script_lines(violation.evidence)
    if violation.link:
        yield ""
        yield f"[Full record]({violation.link})"
    yield ""
    yield f"<!-- kafka-conformance: {marker(violation.key)} -->"


def violation_documents(violations: Sequence[ViolatedClause]) -> list[dict[str, Any]]:
    """Return violations as JSON objects."""
    return [{name: getattr(each, name) for name in _IN_JSON} for each in violations]
