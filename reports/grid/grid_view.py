"""The grid as readers see it: one column per target.

A target's listeners are folded into their worst verdict.

A cell that was never planned is not applicable if its clause is not about that listener (no target has such a
cell), and blank if no run asked for it: its clause is not about the target's role (broker, client), or that operation
was not tried with that release. Otherwise it is not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from clauses.catalogue import Role
from reference_model.profiles.listeners import LISTENERS
from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid.grid_tables import Grid, GridRange
from reports.records import OPERATION, WORST_FIRST, Verdict
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.target_names import implementation_name
from reports.tables.target_rows import GridTarget
from reports.wording.verdict_labels import CRASHES, JUDGED_BY_OWNER, SYMBOLS, counted, percent, verdict_word

WITHOUT_FINDING = (Verdict.CONFORMS, Verdict.NOT_APPLICABLE)
"""Verdicts of cells with nothing to look into, so that they need no page of their own: the clause's page says
everything."""
NOT_ABOUT_LISTENER = "not for this listener"
NOT_PLANNED = "not planned in the target's latest run"
NOT_TRIED = "not tried with this release"
_ROLE_TITLES = {OPERATION: "Client operations on broker releases"}
_WITH_COUNT = (Verdict.VIOLATES, Verdict.KNOWN_VIOLATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerCell:
    """One clause on one listener of a target; `row` is None if no run planned it.

    `flake_rate` is the share of repeats in which its failures recurred (0 to 1); None if none is recorded. `role` is
    what the target was judged as. `crashes` says whether the target ended in one of its failures; `is_blank`, that no
    run asked for the cell: it has no text, and counts nowhere.
    """

    listener: str
    verdict: Verdict
    reason: str
    row: GridCell | None
    flake_rate: float | None = None
    role: str = ""
    crashes: bool = False
    is_blank: bool = False

    @property
    def text(self) -> str:
        """Symbol and short word of the verdict, with its failures or flake rate.

        Examples: "✕ violates 2", "~ flaky 3%", "✕ crashes".
        """
        if self.is_blank:
            return ""
        if self.verdict is Verdict.FLAKY and self.flake_rate is not None and not self.crashes:
            return f"{verdict_text(self.verdict)} {percent(self.flake_rate)}"
        return verdict_text(self.verdict, self.failures, crashes=self.crashes, role=self.role)

    @property
    def examples(self) -> int:
        """How many examples its verdict rests on."""
        return self.row.examples if self.row else 0

    @property
    def failures(self) -> int:
        """How many distinct failures it has, without notes."""
        return self.row.distinct_failures if self.row else 0

    @property
    def found(self) -> str:
        """Its distinct failures and notes in words, "2 distinct failures, 1 note"; empty if it has none."""
        notes = len(self.row.failures) - self.failures if self.row else 0
        counts = ((self.failures, "distinct failure"), (notes, "note"))
        return ", ".join(counted(number, what) for number, what in counts if number)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedCell:
    """One clause on one target, over all listeners.

    Attributes:
        worst: the cell of the listener with the worst verdict; of equal ones the first in `LISTENERS`.
        since: the oldest release from which on the verdict is the same, among the releases in the grid;
            empty if the grid has only one release of the implementation.
    """

    clause: str
    target: str
    worst: ListenerCell
    listeners: tuple[ListenerCell, ...]
    since: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the target, over all listeners."""
        return self.worst.verdict

    @property
    def is_blank(self) -> bool:
        """Whether no run asked for it on any listener: it has no text, and counts nowhere."""
        return self.worst.is_blank

    @property
    def examples(self) -> int:
        """How many examples its verdict rests on, over all listeners."""
        return sum(each.examples for each in self.listeners)


@dataclass(frozen=True, kw_only=True)
class TargetColumn:
    """One target: a column of the grid.

    Attributes:
        name: its display name: "Apache Kafka 4.4.0".
        short: its name within its group: "4.4.0".
        group: name of its group: "Kafka 4.x", "kafka-clients (Java)".
        listeners: its rows of the targets' table, one per listener.
    """

    target: str
    name: str
    short: str
    group: str
    listeners: tuple[GridTarget, ...]

    @property
    def implementation(self) -> str:
        """The id of the implementation that it is a release of."""
        return self.listeners[0].implementation

    @property
    def is_client(self) -> bool:
        """Whether it is a client, so that its releases are versions of a library."""
        return self.listeners[0].role == Role.CLIENT

    @property
    def owner_mark(self) -> str:
        """The mark of a column that its owner has judged; empty for any other."""
        return JUDGED_BY_OWNER if any(each.judged_by_owner for each in self.listeners) else ""

    @property
    def owner_note(self) -> str:
        """The mark with how much was judged again; empty for a column that no owner has judged."""
        again = next((each.judged_by_owner for each in self.listeners if each.judged_by_owner), "")
        return f"{self.owner_mark}; {again}" if again else ""


def role_title(role: str) -> str:
    """Return the heading of the grid of a role: "Brokers", "Clients", "Client operations on broker releases"."""
    return _ROLE_TITLES.get(role, role_word(role))


def role_word(role: str) -> str:
    """Return the one word for the targets of a role: "Brokers", "Operations"."""
    return f"{role.capitalize()}s"


def verdict_text(verdict: Verdict, failures: int = 0, *, crashes: bool = False, role: str = "") -> str:
    """Return a verdict as symbol and short word.

    Violations have the number of distinct failures. If the target crashes, the text says so instead.
    """
    if crashes:
        return f"{SYMBOLS[verdict]} {CRASHES}"
    text = f"{SYMBOLS[verdict]} {verdict_word(verdict, role)}"
    return f"{text} {failures}" if verdict in _WITH_COUNT and failures else text


def reason_text(cell: ListenerCell) -> str:
    """Return in a few words why a cell has its verdict."""
    if cell.verdict is Verdict.INCONCLUSIVE and cell.reason:
        return cell.reason
    if cell.row is not None and cell.found:
        return f"{cell.found} in {counted(cell.row.examples, 'example')}"
    if cell.row is not None and not cell.reason:
        return counted(cell.row.examples, "example")
    return cell.reason


class FoldedGrid:
    """A grid with one column per target; cells are folded once and then looked up."""

    def __init__(self, grid: Grid) -> None:
        """Fold the listeners of a grid's targets."""
        self.grid = grid
        self._rows = {(cell.clause, cell.target, cell.listener): cell for cell in grid.cells}
        self._operations = {each.clause for each in grid.clauses if each.role == OPERATION}
        self._role_of_column = {
            (entry.run_id, entry.target, entry.listener): entry.role
            for entry in grid.targets
            if entry.role != OPERATION
        }
        self._roles_of_target: dict[str, set[str]] = {}
        for entry in grid.targets:
            self._roles_of_target.setdefault(entry.target, set()).add(entry.role)
        self._listeners_of_clause: dict[tuple[str, str], set[str]] = {}
        for cell in grid.cells:
            key = (cell.clause, self.role_of(cell))
            self._listeners_of_clause.setdefault(key, set()).add(cell.listener)
        self._roles_of_clause = {clause.clause: {clause.role} for clause in grid.clauses}
        for clause, role in self._listeners_of_clause:
            self._roles_of_clause[clause].add(role)

    def role_of(self, cell: GridCell) -> str:
        """Return the role that a cell's target was judged in."""
        if cell.clause in self._operations:
            return OPERATION
        return self._role_of_column[cell.run_id, cell.target, cell.listener]

    @cached_property
    def by_role(self) -> Mapping[str, FoldedGrid]:
        """The grid of each role ("broker", "client", "operation") that targets are judged in, with its clauses."""
        roles = sorted({entry.role for entry in self.grid.targets})
        return {role: self if len(roles) == 1 else FoldedGrid(self._only(role)) for role in roles}

    def _only(self, role: str) -> Grid:
        targets = tuple(each for each in self.grid.targets if each.role == role)
        clauses = tuple(each for each in self.grid.clauses if role in self.roles_of(each.clause))
        families = {each.implementation for each in targets}
        names = {each.clause for each in clauses}
        cells = tuple(each for each in self.grid.cells if self.role_of(each) == role)
        runs = {each.run_id for each in targets} | {each.run_id for each in cells}
        return replace(
            self.grid,
            clauses=clauses,
            cells=cells,
            ranges=tuple(each for each in self.grid.ranges if each.clause in names and each.implementation in families),
            targets=targets,
            runs=tuple(each for each in self.grid.runs if each.run_id in runs),
        )

    def roles_of(self, clause: str) -> Sequence[str]:
        """Return the roles that a clause applies to."""
        return sorted(self._roles_of_clause[clause])

    @cached_property
    def columns(self) -> tuple[TargetColumn, ...]:
        """The targets, in the order of the grid's columns."""
        rows: dict[str, dict[str, GridTarget]] = {}
        for entry in self.grid.targets:
            # The facts about a listener are the same in each role.
            rows.setdefault(entry.target, {}).setdefault(entry.listener, entry)
        return tuple(
            _column(tuple(sorted(entries.values(), key=lambda entry: listener_order(entry.listener))))
            for entries in rows.values()
        )

    @cached_property
    def column_groups(self) -> tuple[tuple[str, tuple[TargetColumn, ...]], ...]:
        """The columns by group."""
        return tuple((name, tuple(group)) for name, group in groupby(self.columns, lambda each: each.group))

    @cached_property
    def sources(self) -> tuple[tuple[str, tuple[GridClause, ...]], ...]:
        """The clauses by the source that they come from."""
        return tuple(
            (source, tuple(group)) for source, group in groupby(self.grid.clauses, lambda clause: clause.source)
        )

    @cached_property
    def cells(self) -> Mapping[str, tuple[FoldedCell, ...]]:
        """Clause to its cells, in the order of the columns."""
        return {clause.clause: tuple(self._with_since(clause.clause)) for clause in self.grid.clauses}

    @cached_property
    def ranges(self) -> Mapping[str, tuple[GridRange, ...]]:
        """Clause to its range statements, in the order of the grid."""
        grouped: dict[str, list[GridRange]] = {clause.clause: [] for clause in self.grid.clauses}
        for entry in self.grid.ranges:
            grouped[entry.clause].append(entry)
        return {clause: tuple(entries) for clause, entries in grouped.items()}

    @cached_property
    def main_implementation(self) -> str:
        """The implementation whose ranges the grid shows: the one with most releases; empty if none has several."""
        releases = self._releases
        main = max(releases, key=lambda name: len(releases[name]), default="")
        return main if main and len(releases[main]) > 1 else ""

    @cached_property
    def _releases(self) -> Mapping[str, set[str]]:
        releases: dict[str, set[str]] = {}
        for column in self.columns:
            releases.setdefault(column.implementation, set()).add(column.listeners[0].release)
        return releases

    def _with_since(self, clause: str) -> Iterable[FoldedCell]:
        folded = [self._fold(clause, column) for column in self.columns]
        for index, cell in enumerate(folded):
            yield replace(cell, since=self._since(folded, index))

    def _since(self, folded: Sequence[FoldedCell], index: int) -> str:
        """Return the oldest release with the same verdict in a row; columns go from new to old."""
        family = self.columns[index].implementation
        if len(self._releases[family]) == 1:
            return ""
        oldest = index
        for older in range(index + 1, len(folded)):
            same = self.columns[older].implementation == family
            if not same or folded[older].verdict is not folded[index].verdict:
                break
            oldest = older
        return self.columns[oldest].listeners[0].release

    def _fold(self, clause: str, column: TargetColumn) -> FoldedCell:
        cells = tuple(self._listener_cell(clause, entry.target, entry.listener) for entry in column.listeners)
        worst = min(cells, key=lambda cell: (WORST_FIRST.index(cell.verdict), cell.is_blank))
        return FoldedCell(clause=clause, target=column.target, worst=worst, listeners=cells)

    def _listener_cell(self, clause: str, target: str, listener: str) -> ListenerCell:
        role = OPERATION if clause in self._operations else ""
        row = self._rows.get((clause, target, listener))
        if row is not None:
            rate = self.grid.flake_rates.get((clause, target, listener))
            return ListenerCell(
                listener=listener,
                verdict=row.verdict,
                reason=row.why,
                row=row,
                flake_rate=rate,
                role=role,
                crashes=any(each.signature in self.grid.crashes for each in row.failures),
            )
        blank = self._why_blank(clause, target)
        reason = blank or self._why_not_applicable(clause, target, listener)
        return ListenerCell(
            listener=listener,
            verdict=Verdict.NOT_APPLICABLE if reason else Verdict.NOT_RUN,
            reason=reason or NOT_PLANNED,
            row=None,
            is_blank=bool(blank),
        )

    def _why_blank(self, clause: str, target: str) -> str:
        own = self._roles_of_target[target]
        if own.isdisjoint(self.roles_of(clause)):
            return f"does not apply to {' and '.join(f'{role}s' for role in sorted(own))}"
        return NOT_TRIED if clause in self._operations else ""

    def _why_not_applicable(self, clause: str, target: str, listener: str) -> str:
        shared = self._roles_of_target[target].intersection(self.roles_of(clause))
        about = (self._listeners_of_clause.get((clause, role), ()) for role in shared)
        return "" if any(listener in listeners for listeners in about) else NOT_ABOUT_LISTENER


def listener_order(listener: str) -> tuple[int, str]:
    """Return the sort key of a listener."""
    known = listener in LISTENERS
    return LISTENERS.index(listener) if known else len(LISTENERS), listener


def _column(listeners: tuple[GridTarget, ...]) -> TargetColumn:
    first = listeners[0]
    group = implementation_name(first.implementation)
    return TargetColumn(
        target=first.target,
        name=first.target_name,
        short=first.target_name.removeprefix(f"{group} ").removeprefix(f"{first.implementation}-"),
        group=_group_name(first),
        listeners=listeners,
    )


def _group_name(entry: GridTarget) -> str:
    if entry.implementation == APACHE_KAFKA and entry.release_order:
        return f"Kafka {entry.release_order[0]}.x"
    language = f" ({entry.language})" if entry.language else ""
    return f"{implementation_name(entry.implementation)}{language}"
