"""The mutation score: which defects each clause caught, and how fast.

Speed is counted in examples. The score also lists everything that is wrong, and has tables for readers.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clauses.catalogue import Clause, Level
from conformance.assertions.contradictions import is_of_model
from conformance.mutation.reached_tails import Reach
from reports.document.blocks import (
    BulletList,
    Document,
    ListItem,
    Section,
    Sentence,
    Strong,
    TextTable,
)

DEFECTS_PER_CLAUSE = {Level.MUST: 3}
"""The minimum number of planted defects for a clause, by level; one for any other level."""


COLUMNS = ("clause", "defect", "seeds", "budget", "median", "95 %", "pinned", "result")
TAIL_COLUMNS = ("dimension", "tail", "pinned", "drawn", "by")
MAX_PROPERTIES = 2
"""How many properties the terminal names for a tail; Markdown and JSON name all."""


def defects_asked_of(level: Level) -> int:
    """Return the minimum number of planted defects for a clause of a level."""
    return DEFECTS_PER_CLAUSE.get(level, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """How one clause caught one of the defects that break it.

    Attributes:
        clause: the clause's id.
        defect: the defect's name.
        examples: the number of generated examples until the first failure, seed by seed; None for a seed that the
            defect survived. Empty if they were not counted.
        pinned: whether a pinned example catches the defect too.
        cap: the maximum number of examples that a real run draws for a property of the clause. This many were tried
            with each seed.
    """

    clause: str
    defect: str
    examples: tuple[int | None, ...]
    pinned: bool
    cap: int

    @property
    def survived(self) -> int:
        """The number of seeds that the defect survived, with generated examples only."""
        return self.examples.count(None)

    @property
    def is_certain(self) -> bool:
        """Whether a pinned example catches the defect, or generated ones do with every seed that was tried."""
        return self.pinned or not self.survived

    @property
    def median(self) -> float:
        """The median number of examples to the kill.

        It is infinite if more than half of the seeds caught nothing, and NaN if no seed was counted.
        """
        if not self.examples:
            return math.nan
        return statistics.median_low(_with_infinity(self.examples))

    @property
    def percentile_95(self) -> float:
        """The smallest number of examples that is enough for 95 of 100 seeds; not a number if none was counted."""
        if not self.examples:
            return math.nan
        ordered = sorted(_with_infinity(self.examples))
        return ordered[math.ceil(0.95 * len(ordered)) - 1]


def _with_infinity(examples: Iterable[int | None]) -> list[float]:
    return [math.inf if number is None else number for number in examples]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Which clauses a defect was found to violate.

    Attributes:
        defect: the defect's name.
        breaks: the clauses that it breaks by design.
        violated: the clauses that were found violated.
        transport: how the broker was reached: "in memory" or "over TCP".
        problems: why properties could not judge the defect.
    """

    defect: str
    breaks: tuple[str, ...]
    violated: Collection[str]
    transport: str
    problems: Sequence[str] = ()

    @property
    def missed(self) -> list[str]:
        """Clauses that the defect breaks and that were not found violated."""
        return sorted(set(self.breaks) - set(self.violated))

    @property
    def also(self) -> list[str]:
        """Clauses that were found violated although the defect does not break them."""
        return sorted(clause for clause in set(self.violated) - set(self.breaks) if not is_of_model(clause))

    @property
    def is_exact(self) -> bool:
        """Whether exactly the clauses that the defect breaks were found violated, and every property could judge it."""
        return not self.missed and not self.also and not self.problems


@dataclass(frozen=True, kw_only=True)
class Score:
    """The complete mutation score.

    Attributes:
        clauses: the clauses that were judged.
        reference: the clauses that the plain reference broker was found to violate; there must be none.
        models: the same about the plain model client and the plain model proxy, by id, if they were tried.
        kills: one per clause and defect that breaks it.
        blames: one per defect and transport.
        kills_of_property: by property, how many of the defects that break its clauses it caught.
        seeds: how many seeds were tried.
        complete: whether all defects were tried. Only then are gaps findings.
        reaches: how a standard run reaches the rare values of each dimension; empty if that was not measured.
    """

    clauses: Sequence[Clause]
    reference: Blame
    kills: Sequence[Kill]
    blames: Sequence[Blame]
    kills_of_property: Mapping[str, int] = field(default_factory=dict)
    seeds: int
    complete: bool
    reaches: Sequence[Reach] = ()
    models: Mapping[str, Blame] = field(default_factory=dict)

    @cached_property
    def findings(self) -> list[str]:
        """Everything that is wrong, one sentence each; empty if exactly the broken clauses catch each defect."""
        return [
            *(
                f"{name} VIOLATES {clause}"
                for name, plain in self._without_defect.items()
                for clause in sorted(plain.violated)
            ),
            *self._wrong_blames(),
            *self._survivors(),
            *(self._gaps() if self.complete else ()),
            *self._missed_tails(),
        ]

    @property
    def _without_defect(self) -> Mapping[str, Blame]:
        return {
            "the reference broker without a defect": self.reference,
            **{f"{model} without a fault": plain for model, plain in self.models.items()},
        }

    def _wrong_blames(self) -> Iterable[str]:
        for blame in self.blames:
            if blame.missed:
                yield f"{blame.defect} SURVIVED {', '.join(blame.missed)} {blame.transport}"
            if blame.also:
                yield f"{blame.defect} ALSO TURNED RED {', '.join(blame.also)} {blame.transport}"
        plain = self._without_defect.items()
        for name, blame in (*plain, *((each.defect, each) for each in self.blames)):
            for problem in blame.problems:
                yield f"{name} COULD NOT BE JUDGED {blame.transport}: {problem}"

    def _survivors(self) -> Iterable[str]:
        for kill in self.kills:
            if not kill.is_certain:
                seeds = f"{kill.survived} of {len(kill.examples)} seeds"
                yield f"{kill.defect} SURVIVED {kill.clause} for {kill.cap} examples in {seeds}"

    def _gaps(self) -> Iterable[str]:
        planted = defaultdict(set)
        for blame in self.blames:
            for clause in blame.breaks:
                planted[clause].add(blame.defect)
        for each in self.clauses:
            needed, there = defects_asked_of(each.level), len(planted[each.id])
            if there < needed:
                yield f"{each.id} HAS TOO FEW DEFECTS: {there} of {needed}"
        for name, kills in self.kills_of_property.items():
            if not kills:
                yield f"{name} KILLS NOTHING"

    def _missed_tails(self) -> Iterable[str]:
        for reach in self.reaches:
            if not reach.is_certain:
                missed = f"{reach.seeds - reach.reached_seeds} of {reach.seeds} seeds"
                yield f"{reach.dimension}: {reach.tail} IS NOT REACHED in {missed}"

    @property
    def exact_defects(self) -> int:
        """The number of defects that were caught by exactly their clauses over every transport."""
        wrong = {blame.defect for blame in self.blames if not blame.is_exact}
        wrong |= {kill.defect for kill in self.kills if not kill.is_certain}
        return len(self.defects) - len(wrong)

    @property
    def defects(self) -> list[str]:
        """The defects that were tried, without duplicates."""
        return list(dict.fromkeys(blame.defect for blame in self.blames))

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values; an infinite or unknown number of examples becomes null."""
        return {
            "seeds": self.seeds,
            "kills": [
                {
                    "clause": kill.clause,
                    "defect": kill.defect,
                    "median": _finite(kill.median),
                    "percentile_95": _finite(kill.percentile_95),
                    "seeds": len(kill.examples),
                    "cap": kill.cap,
                    "survived_seeds": kill.survived,
                    "pinned": kill.pinned,
                    "examples": list(kill.examples),
                }
                for kill in self.kills
            ],
            "defects": [
                {
                    "defect": blame.defect,
                    "transport": blame.transport,
                    "breaks": list(blame.breaks),
                    "violated": sorted(blame.violated),
                    "missed": blame.missed,
                    "blamed_also": blame.also,
                    "problems": list(blame.problems),
                }
                for blame in self.blames
            ],
            "properties": dict(self.kills_of_property),
            "tails": [reach.as_json() for reach in self.reaches],
            "findings": self.findings,
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def rows(score: Score) -> Iterator[tuple[str, ...]]:
    """Yield a row for each clause and defect that breaks it, in catalogue order."""
    inexact = {blame.defect: blame for blame in score.blames if not blame.is_exact}
    positions = {clause.id: number for number, clause in enumerate(score.clauses)}
    for kill in sorted(score.kills, key=lambda kill: (positions.get(kill.clause, -1), kill.defect)):
        result = "caught"
        if not kill.is_certain:
            result = f"SURVIVED {kill.survived} of {len(kill.examples)} seeds"
        elif kill.defect in inexact:
            blame = inexact[kill.defect]
            result = f"BLAMED {', '.join((*blame.missed, *blame.also, *blame.problems))}"
        pinned = "yes" if kill.pinned else "no"
        yield (
            kill.clause,
            kill.defect,
            str(len(kill.examples)),
            str(kill.cap),
            _number(kill.median, kill.cap),
            _number(kill.percentile_95, kill.cap),
            pinned,
            result,
        )


def _number(examples: float, cap: int) -> str:
    if math.isnan(examples):
        return "not counted"
    return f"> {cap}" if math.isinf(examples) else f"{examples:g}"


def tail_rows(score: Score, *, max_properties: int | None = None) -> Iterator[tuple[str, ...]]:
    """Yield a row for every tail: whether it is pinned, with how many seeds it is drawn, and by which properties.

    Args:
        score: what was measured.
        max_properties: how many properties are named, those first that reach it most often; all if it is None.
    """
    for reach in score.reaches:
        names = _properties_of(reach)
        named = names[:max_properties]
        more = [f"{len(names) - len(named)} more"] if len(names) > len(named) else []
        pinned = "yes" if reach.pinned else "no"
        drawn = f"{reach.reached_seeds} of {reach.seeds} seeds"
        yield reach.dimension, reach.tail, pinned, drawn, ", ".join([*named, *more])


def _properties_of(reach: Reach) -> list[str]:
    """Name the properties that reach a tail, those that have it pinned first."""
    drawn = {name: len(seeds) for name, seeds in reach.drawn.items()}
    names = sorted(
        {*reach.pinned, *drawn},
        key=lambda name: (name not in reach.pinned, -drawn.get(name, 0), name),
    )
    return [f"{name} ({'pinned' if name in reach.pinned else f'{drawn[name]} of {reach.seeds}'})" for name in names]


def kills_table(score: Score) -> TextTable:
    """Return the kills as a table."""
    return TextTable(columns=COLUMNS, rows=tuple(rows(score)))


def tails_tables(score: Score, *, max_properties: int | None = None) -> tuple[TextTable, ...]:
    """Return the tails as a table, if they were measured; `max_properties` is that of `tail_rows`."""
    return (
        (TextTable(columns=TAIL_COLUMNS, rows=tuple(tail_rows(score, max_properties=max_properties))),)
        if score.reaches
        else ()
    )


def summary(score: Score) -> str:
    """Return one sentence that says how many defects were caught by exactly their clauses."""
    return (
        f"mutation score: {score.exact_defects} of {len(score.defects)} planted defects "
        f"caught by exactly their clauses, with up to {score.seeds} seeds each"
    )


def mutation_report(score: Score, equivalents: Mapping[str, str]) -> Document:
    """Return the score as a report, with the reason why no clause can detect each of the equivalents."""
    findings = BulletList(tuple(map(ListItem, score.findings))) if score.findings else Sentence("None.")
    changes = BulletList(tuple(ListItem((Strong(change), f": {reason}")) for change, reason in equivalents.items()))
    tails = tails_tables(score)
    return Document(
        title="Mutation score",
        blocks=(
            Sentence(f"{summary(score).capitalize()}."),
            Sentence(
                "The counts of examples until a defect is caught include generated examples only, not pinned ones. The budget "
                "is the number that a real run draws on a target's first listener; on further listeners it is a twentieth."
            ),
            kills_table(score),
            *([Section(title="Tails that a standard run reaches", blocks=tails)] if tails else []),
            Section(title="Findings", blocks=(findings,)),
            Section(title="Changes that no client can notice, and that are not planted", blocks=(changes,)),
        ),
    )
