"""How many rules each target breaks: the numbers on the home page and in its neighbours, counted in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clauses.catalogue import Level
from reports.grid.grid_tables import GridClause
from reports.grid.grid_view import FoldedCell, FoldedGrid, TargetColumn
from reports.records import UNSETTLED_VERDICTS, VIOLATED_VERDICTS, Verdict
from reports.verdict_labels import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one target does with the rules of its role; a rule counts once, by its worst listener.

    Attributes:
        column: the target.
        broken: the rules that it breaks without a declaration, a MUST before a SHOULD.
        declared: the rules whose violation is declared as known.
        unsettled: the rules that apply but could not be judged.
        kept: how many rules it keeps.
        examples: how many examples were judged, over all rules and listeners.
    """

    column: TargetColumn
    broken: tuple[GridClause, ...]
    declared: tuple[GridClause, ...]
    unsettled: tuple[GridClause, ...]
    kept: int
    examples: int

    @property
    def must(self) -> int:
        """How many of the broken rules are a MUST."""
        return sum(clause.level == Level.MUST for clause in self.broken)

    @property
    def count(self) -> str:
        """How many rules of each level it breaks: "10 MUST, 3 SHOULD"; empty if none."""
        levels = [clause.level for clause in self.broken]
        return ", ".join(f"{levels.count(level)} {level}" for level in Level if level in levels)

    @property
    def sentence(self) -> str:
        """The result in one sentence, without its symbol."""
        if self.broken:
            rest = len(self.broken) - 1
            others = f", and {rest} more" if rest else ""
            return f"Breaks “{self.broken[0].title}”{others}."
        except_for = (
            f", except for {counted(len(self.declared), 'declared violation')}"
            if self.declared
            else ""
        )
        if not self.kept and not self.declared:
            return "No rule was judged."
        return f"Keeps all of the {counted(self.kept + len(self.declared), 'rule')} that apply{except_for}."


def standings_of(folded: FoldedGrid) -> list[Standing]:
    """Return the standing of every target of a grid of one role: who breaks most comes first.

    Equal ones stay in the order of the columns.
    """
    found = [
        _standing(folded, place, (row[place] for row in folded.cells.values()))
        for place in range(len(folded.columns))
    ]
    return sorted(found, key=lambda each: (-each.must, -len(each.broken)))


def _standing(folded: FoldedGrid, place: int, cells: Iterable[FoldedCell]) -> Standing:
    own = {cell.clause: cell for cell in cells}

    def with_verdict(*verdicts: Verdict) -> tuple[GridClause, ...]:
        chosen = [each for each in folded.grid.clauses if own[each.clause].verdict in verdicts]
        return tuple(sorted(chosen, key=lambda each: list(Level).index(Level(each.level))))

    return Standing(
        column=folded.columns[place],
        broken=with_verdict(*VIOLATED_VERDICTS),
        declared=with_verdict(Verdict.KNOWN_VIOLATION),
        unsettled=with_verdict(*UNSETTLED_VERDICTS),
        kept=len(with_verdict(Verdict.CONFORMS, Verdict.UNEXPECTED_PASS)),
        examples=sum(cell.examples for cell in own.values()),
    )
