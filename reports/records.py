"""Verdicts and records: the contract between a run and the roll-up.

One run is one folder::

    run.json              header, planned cells and, written last, the footer
    examples/*.parquet    one row per judged example and clause
    exchanges/*.parquet   bytes sent, for every failure and a sample
    answers/*.parquet     bytes received, each distinct response once per file
    failures/<signature>/ reproducer, hex dump and details of one distinct failure
    machines/*.json       what was learned of one listener (`reports.machines.learned`)

This module does no file I/O. It has the names, and every rule about verdicts: how examples fold into a cell, which
verdicts and levels fail a run, and what a change of a verdict is called. Spark turns the same rules into columns.
`record_columns` has the columns of the rows.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clauses.catalogue import Level

RECORD_SCHEMA_VERSION = 1
"""Version of this layout. `run.json` contains it, and readers refuse a version that they do not know."""

HEADER_FILE = "run.json"
"""File of a run folder with its header, planned cells and footer."""
FACTS_FILE = "failure.json"
"""File of a failure's folder with its details."""
DUMP_FILE, CAPTURE_FILE, REPRODUCER_FILE = "exchange.txt", "exchange.pcap", "reproducer.py"
"""Files of a failure's folder: the hex dump of its exchanges, their packets, and the script that shows it again."""
MACHINES_FOLDER = "machines"
"""Folder of a run folder with the machines of connections that were learned."""
HASHED_PARTS = ("examples", "exchanges", "answers", "failures", MACHINES_FOLDER)
"""Parts of a run folder that the footer has hashes of: its rows, failures and machines."""
TABLES_FOLDER = "tables"
"""Folder for a roll-up's Parquet tables, below its output folder."""
OPERATION = "operation"
"""Role of a run that tries client operations on broker releases (KIP-97); the catalogue does not list what it
judges."""
INPUTS_SHA256 = "inputs_sha256"
"""Key of the hash of a table's inputs, in the metadata of the table's first column."""


GATING_LEVELS = (Level.MUST, Level.PIN)
"""Levels whose violation fails a run. A PIN is `violates` only on targets that it binds."""
NOTHING = "none"
"""`request` and `outcome` of an example that exchanged nothing."""
NOT_RECORDED = "not_recorded"
"""`request` in counts of examples from older suites, which did not record it."""
SAMPLED_EXAMPLES_PER_PROPERTY = 3
"""Number of first examples of a property in a cell whose exchanges are stored, failed or not."""


class Verdict(enum.StrEnum):
    """The verdict of one example (the first four) or of a cell (any)."""

    CONFORMS = "conforms"
    VIOLATES = "violates"
    INFORMATIONAL = "informational"
    INCONCLUSIVE = "inconclusive"
    KNOWN_VIOLATION = "known_violation"
    UNEXPECTED_PASS = "unexpected_pass"
    NOT_APPLICABLE = "not_applicable"
    FLAKY = "flaky"
    NOT_RUN = "not_run"


EXAMPLE_VERDICTS = (
    Verdict.CONFORMS,
    Verdict.VIOLATES,
    Verdict.INFORMATIONAL,
    Verdict.INCONCLUSIVE,
)

WORST_FIRST = (
    Verdict.VIOLATES,
    Verdict.UNEXPECTED_PASS,
    Verdict.FLAKY,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_RUN,
    Verdict.KNOWN_VIOLATION,
    Verdict.INFORMATIONAL,
    Verdict.CONFORMS,
    Verdict.NOT_APPLICABLE,
)
"""Verdicts by urgency. A target's column shows the first of these that one of its listeners has."""
UNEXPECTED_VERDICTS = WORST_FIRST[: WORST_FIRST.index(Verdict.KNOWN_VIOLATION)]
"""Verdicts that make the exit status nonzero, or would if the clause had another level."""
VIOLATED_VERDICTS = (Verdict.VIOLATES, Verdict.FLAKY)
"""Undeclared violations. A violation that comes and goes counts like any other."""
BROKEN_VERDICTS = (*VIOLATED_VERDICTS, Verdict.KNOWN_VIOLATION)
"""Violations, declared or not."""
SOUND_VERDICTS = (Verdict.CONFORMS, Verdict.UNEXPECTED_PASS)
"""Verdicts with which the clause holds.

In an unexpected pass, what has to be corrected is the declared violation, as the run's own exit status demands.
"""
UNSETTLED_VERDICTS = (Verdict.INCONCLUSIVE, Verdict.NOT_RUN)
"""Verdicts of cells that were not judged although they apply."""
VERDICTS_WITH_FAILURES = (*BROKEN_VERDICTS, Verdict.INFORMATIONAL)
"""Verdicts that rest on recorded failures; those of an informational cell are notes."""


def gates(level: str, *, strict: bool = False) -> bool:
    """Return whether a violation of a clause of this level fails the run; one of a SHOULD does so if `strict`."""
    return level in GATING_LEVELS or (strict and level == Level.SHOULD)


class Phase(enum.StrEnum):
    """Why an example ran: drawn to judge the target, or to shrink a failure."""

    GENERATE = "generate"
    SHRINK = "shrink"


class CellFact(enum.StrEnum):
    """What a cell's verdict depends on."""

    APPLICABLE = "applicable"
    JUDGED = "judged"
    VIOLATED = "violated"
    DECLARED = "declared"
    FLAKY = "flaky"
    UNPROVEN = "unproven"
    INCONCLUSIVE = "inconclusive"
    INFORMATIONAL = "informational"


CELL_RULES: tuple[tuple[Mapping[CellFact, bool], Verdict], ...] = (
    ({CellFact.APPLICABLE: False}, Verdict.NOT_APPLICABLE),
    ({CellFact.JUDGED: False}, Verdict.NOT_RUN),
    (
        {CellFact.VIOLATED: True, CellFact.DECLARED: False, CellFact.UNPROVEN: True},
        Verdict.INCONCLUSIVE,
    ),
    (
        {CellFact.VIOLATED: True, CellFact.DECLARED: False, CellFact.FLAKY: True},
        Verdict.FLAKY,
    ),
    ({CellFact.VIOLATED: True, CellFact.DECLARED: False}, Verdict.VIOLATES),
    ({CellFact.INCONCLUSIVE: True}, Verdict.INCONCLUSIVE),
    ({CellFact.VIOLATED: True}, Verdict.KNOWN_VIOLATION),
    ({CellFact.DECLARED: True}, Verdict.UNEXPECTED_PASS),
    ({CellFact.INFORMATIONAL: True}, Verdict.INFORMATIONAL),
    ({}, Verdict.CONFORMS),
)
"""Facts that a cell must have, or must not have, and its verdict then; the first rule that matches counts.

An undeclared violation outranks `inconclusive`, unless repeating it left open whether the target is at fault.
`inconclusive` outranks an informational difference, and also a declared violation, because something else may be wrong
as well.
"""


def cell_verdict(
    verdicts: Collection[Verdict],
    *,
    applicable: bool,
    known_violation: bool,
    flaky: bool = False,
    unproven: bool = False,
) -> Verdict:
    """Fold the verdicts of a cell's judged examples into the cell's own.

    Args:
        verdicts: the distinct verdicts of its examples, in the generate phase.
        applicable: False if the target never claimed what the clause is about.
        known_violation: whether the registry declares the violation.
        flaky: whether every violation of the cell came and went when it was repeated.
        unproven: whether the repeats of every violation left open whether the target is at fault.

    Returns:
        The verdict according to `CELL_RULES`.
    """
    facts = {
        CellFact.APPLICABLE: applicable,
        CellFact.JUDGED: bool(verdicts),
        CellFact.VIOLATED: Verdict.VIOLATES in verdicts,
        CellFact.DECLARED: known_violation,
        CellFact.FLAKY: flaky,
        CellFact.UNPROVEN: unproven,
        CellFact.INCONCLUSIVE: Verdict.INCONCLUSIVE in verdicts,
        CellFact.INFORMATIONAL: Verdict.INFORMATIONAL in verdicts,
    }
    return next(
        verdict
        for conditions, verdict in CELL_RULES
        if all(facts[fact] is wanted for fact, wanted in conditions.items())
    )


class TransitionKind(enum.StrEnum):
    """What a change of a cell's verdict is called; the first is the cell's first verdict."""

    APPEARED = "appeared"
    REGRESSED = "regressed"
    NEWLY_FLAKY = "newly_flaky"
    FIXED = "fixed"
    CHANGED = "changed"


TRANSITION_RULES: tuple[tuple[Collection[Verdict], Collection[Verdict], TransitionKind], ...] = (
    (tuple(Verdict), (Verdict.FLAKY,), TransitionKind.NEWLY_FLAKY),
    (tuple(Verdict), (Verdict.VIOLATES,), TransitionKind.REGRESSED),
    (BROKEN_VERDICTS, SOUND_VERDICTS, TransitionKind.FIXED),
    (tuple(Verdict), tuple(Verdict), TransitionKind.CHANGED),
)
"""The verdicts before, those after, and what the change is called; the first rule that matches counts."""


def transition_kind(before: Verdict, after: Verdict) -> TransitionKind:
    """Return what a change from one verdict to another is called."""
    return next(kind for was, is_now, kind in TRANSITION_RULES if before in was and after in is_now)


def failure_verdict(verdict: Verdict, *, known_violation: bool, flaky: bool, unproven: bool = False) -> Verdict:
    """Return the verdict of a cell in which one failure was the only finding.

    Args:
        verdict: that of the failure's examples: they violate the clause, or are informational.
        known_violation: whether the registry declares the cell as violated.
        flaky: whether the cell's violations came and went.
        unproven: whether their repeats left open whether the target is at fault.
    """
    violates = verdict is Verdict.VIOLATES
    return cell_verdict(
        {verdict},
        applicable=True,
        known_violation=known_violation and violates,
        flaky=flaky,
        unproven=unproven,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakeRate:
    """How often failures recurred when repeated alone.

    Attributes:
        rate: `failed` divided by `repeats`.
        low: lower end of the 95 % interval of the rate (Wilson).
        high: its upper end.
    """

    failed: int
    repeats: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A cell that a run plans to judge, recorded before the first example.

    Attributes:
        applicable: whether the target claims what the clause is about.
        reason: why it does not apply; if it applies, what it is judged without, if anything.
        known_violation: the registry's reason for a declared violation; empty if none is declared.
        flaky: how often its failures recurred, if all of them are flaky; else None.
        unproven: why none of its violations counts, although they were seen; empty if they count.
    """

    clause: str
    target: str
    listener: str
    applicable: bool = True
    reason: str = ""
    known_violation: str = ""
    flaky: FlakeRate | None = None
    unproven: str = ""
