"""Products that answer for verdicts, with their cells and bugs.

A product has its own cells, and the bugs that these cells show.

A product is a broker or a client in one version. An operation that a client tries with a release belongs to the client:
the release is only what it was tried with. So no release is ever red for a client.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clauses.catalogue import Level, Role
from reports.grid.bugs import Bug, Evidence, bugs_of
from reports.grid.grid_view import FoldedCell, FoldedGrid, TargetColumn
from reports.grid.history_tables import failures_by_run, leaves_open
from reports.records import OPERATION, VIOLATED_VERDICTS, WORST_FIRST, Verdict, gates
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.failure_rows import KeptFailure
from reports.tables.target_names import implementation_name, without_signs
from reports.wording.verdict_labels import CRASHES, SYMBOLS, counted

_VERSIONED = re.compile(r"(?P<library>.+?)-(?P<version>\d[^-]*)(?P<variant>-.+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCell:
    """A cell for which a product answers.

    Attributes:
        clause: the clause, or the row of an operation.
        cell: the cell; its target is what the operation was tried with, if it is one.
        role: the role of the cell: broker, client or operation.
        column: the column of the cell's target.
    """

    clause: GridClause
    cell: FoldedCell
    role: str
    column: TargetColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A broker or a client in one version, with everything that it answers for.

    Attributes:
        id: the target's id; the client's name if only operations were tried with it.
        role: broker or client.
        column: its column in the grid of its role; None if only operations were tried with it.
        cells: its cells, without blank ones: those of its own role, then the operations that it tried.
        bugs: what is wrong with it, the worst first; see `bugs.bugs_of`.
        counts_bugs: whether its failures were read, so that the number of its bugs is known.
    """

    id: str
    name: str
    role: str
    column: TargetColumn | None
    cells: tuple[OwnCell, ...]
    bugs: tuple[Bug, ...]
    counts_bugs: bool = True

    @property
    def release(self) -> str:
        """Its version; of a client whose operations alone were tried, the one in its id."""
        if self.column:
            return self.column.listeners[0].release
        parts = _VERSIONED.fullmatch(self.id)
        return parts["version"] if parts else ""

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many of its cells have each verdict, the worst first."""
        counts = Counter(own.cell.verdict for own in self.cells)
        return {verdict: counts[verdict] for verdict in WORST_FIRST if counts[verdict]}

    @property
    def broken(self) -> BrokenRules:
        """The rules that it breaks, and its bugs, as numbers."""
        return BrokenRules.of([self])

    @property
    def crashes(self) -> bool:
        """Whether it ended in one of its failures."""
        return any(bug.crashes for bug in self.bugs)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRules:
    """How much is wrong: the same numbers wherever a page, badge or export counts.

    A rule is counted once per product, however many listeners or releases show it. Declared violations do not count.

    Attributes:
        levels: how many rules of each level are broken, in the order of `Level`; no level with 0.
        bugs: how many bugs that are; see `bugs.bugs_of`. None if the failures were not read.
        crashes: whether a target ended.
    """

    levels: tuple[tuple[str, int], ...]
    bugs: int | None
    crashes: bool = False

    @classmethod
    def of(cls, products: Sequence[Product]) -> BrokenRules:
        """Add up the rules that products break."""
        levels: Counter[str] = Counter()
        for product in products:
            broken = {
                own.clause.clause: own.clause.level for own in product.cells if own.cell.verdict in VIOLATED_VERDICTS
            }
            levels.update(broken.values())
        return cls(
            levels=tuple((level.value, levels[level]) for level in Level if levels[level]),
            bugs=sum(len(product.bugs) for product in products)
            if all(product.counts_bugs for product in products)
            else None,
            crashes=any(product.crashes for product in products),
        )

    @property
    def must(self) -> int:
        """How many MUST rules are broken."""
        return dict(self.levels).get(Level.MUST.value, 0)

    @property
    def should(self) -> int:
        """How many SHOULD rules are broken."""
        return dict(self.levels).get(Level.SHOULD.value, 0)

    def __bool__(self) -> bool:
        return bool(self.levels)

    def __str__(self) -> str:
        """Return the numbers in words: "10 MUST + 3 SHOULD, 7 bugs"; empty if nothing is broken."""
        rules = " + ".join(f"{number:,} {level}" for level, number in self.levels)
        return rules if self.bugs is None or not rules else f"{rules}, {counted(self.bugs, 'bug')}"

    @property
    def verdict_text(self) -> str:
        """The symbol and word of the verdict, then the numbers, or an empty text if nothing is broken.

        Example: "✕ crashes: 3 MUST, 2 bugs".
        """
        word = f"{CRASHES}:" if self.crashes else "violates"
        return f"{SYMBOLS[Verdict.VIOLATES]} {word} {self}" if self else ""


def products_of(folded: FoldedGrid, failures: Sequence[KeptFailure] | None = None) -> tuple[Product, ...]:
    """Return every product of a grid of all roles: brokers first, in the order of the columns.

    If the stored failures of its cells were not read, the number of bugs is not known.
    """
    kept = failures_by_run(failures or ())
    columns: dict[str, TargetColumn] = {}
    cells: dict[str, list[OwnCell]] = {}
    for role, of_role in folded.by_role.items():
        if role != OPERATION:
            columns |= {column.target: column for column in of_role.columns}
            cells |= {column.target: [] for column in of_role.columns}
        for owner, own in _own_cells(role, of_role):
            cells.setdefault(owner, []).append(own)
    products = (_product(id_, columns.get(id_), own, kept) for id_, own in cells.items())
    return tuple(replace(each, counts_bugs=failures is not None) for each in products)


def those_counted(products: Sequence[Product], breaking: Collection[Product]) -> Sequence[Product]:
    """Return the products of one role that "2 of 5 break rules" counts.

    Clients that were only tried do not count if others were judged, unless they break rules.
    """
    if not any(each.column for each in products):
        return products
    return [each for each in products if each.column or each in breaking]


def owner_of(clause: GridClause, target: str, role: str) -> str:
    """Return the id of the product that answers for a cell: the client of an operation, else the target itself."""
    return without_signs(clause.source) if role == OPERATION else target


def _own_cells(role: str, folded: FoldedGrid) -> Iterator[tuple[str, OwnCell]]:
    for clause in folded.grid.clauses:
        for cell, column in zip(folded.cells[clause.clause], folded.columns, strict=True):
            if not cell.is_blank:
                own = OwnCell(clause=clause, cell=cell, role=role, column=column)
                yield owner_of(clause, cell.target, role), own


def _product(
    id_: str,
    column: TargetColumn | None,
    cells: Sequence[OwnCell],
    kept: Mapping[tuple[str, str], KeptFailure],
) -> Product:
    return Product(
        id=id_,
        name=column.name if column else client_name(id_),
        role=Role.CLIENT.value if column is None or column.is_client else Role.BROKER.value,
        column=column,
        cells=tuple(cells),
        bugs=bugs_of([each for own in cells for _, each in evidence_of(own, kept, VIOLATED_VERDICTS)]),
    )


def evidence_of(
    own: OwnCell, kept: Mapping[tuple[str, str], KeptFailure], verdicts: Collection[Verdict]
) -> Iterator[tuple[GridCell, Evidence]]:
    """Yield each failure by which a cell has one of some verdicts, with the row of its listener.

    A failure whose repeats leave open whether the target is at fault is no evidence. If a violation of the cell is not
    stored, and no stored one is evidence, it yields one without a stored failure. `kept` are the stored failures, as
    `failures_by_run` returns them.
    """
    for listener in own.cell.listeners:
        if listener.verdict not in verdicts or listener.row is None:
            continue
        failures = [kept.get((listener.row.run_id, each.signature)) for each in listener.row.violations]
        shown: list[KeptFailure | None] = [each for each in failures if each is not None and not leaves_open(each)]
        if not shown and (not failures or None in failures):
            shown = [None]
        for failure in shown:
            evidence = Evidence(
                clause=own.clause,
                target=own.column,
                listener=listener.listener,
                is_operation=own.role == OPERATION,
                is_client=own.role != Role.BROKER,
                failure=failure,
                crashes=listener.crashes if failure is None else None,
                level_gates=gates(own.clause.level),
            )
            yield listener.row, evidence


def library_of(product: Product) -> str:
    """Return the id of what a product is a version of: the implementation, or the library."""
    if product.column:
        return product.column.implementation
    return library_in(product.id)


def library_in(id_: str) -> str:
    """Return the library in the id of a client of which only that is known: "kafka-python" of "kafka-python-3.0.12"."""
    parts = _VERSIONED.fullmatch(id_)
    return parts["library"] if parts else id_


def client_name(id_: str) -> str:
    """Return the display name of a client of which only the id is known.

    "kafka-python-3.0.12" becomes "kafka-python 3.0.12".

    It is the one that its column has if the client is judged as well, see `GridTarget.target_name`.
    """
    parts = _VERSIONED.fullmatch(id_)
    if parts is None:
        return id_
    variant = (parts["variant"] or "").replace("-", " ", 1)
    return f"{implementation_name(parts['library'])} {parts['version']}{variant}"
