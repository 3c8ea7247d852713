"""A roll-up's tables from its history, read back for rendering.

`grid_tables` has the other tables.

A grid folder of an older suite lacks some of these tables. A missing table reads as None and is shown as not
recorded; it never counts as an empty table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from reports.records import NOT_RECORDED, TABLES_FOLDER, Verdict
from reports.repeats import stored_leave_open
from wire.foreign_json import read_foreign_json

_TEXTS_OF_FAILURES = (
    "property",
    "kind",
    "message",
    "example",
    "verdict",
    "facts",
    "hex_dump",
    "reproducer",
    "known_violation",
)
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "from_verdict": lambda text: None if text is None else Verdict(text),
    "to_verdict": Verdict,
    "error_codes": tuple,
    "release_order": tuple,
    **dict.fromkeys(_TEXTS_OF_FAILURES, lambda text: text or ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of a cell's verdict; `from_verdict` is None if the cell appeared."""

    clause: str
    target: str
    listener: str
    at: datetime
    run_id: str
    from_verdict: Verdict | None
    to_verdict: Verdict
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStep:
    """A difference between the verdicts of two adjacent releases of one implementation."""

    clause: str
    implementation: str
    listener: str
    from_target: str
    to_target: str
    from_verdict: Verdict
    to_verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Flakes:
    """How often a cell's failures recurred when repeated; `low` and `high` are the 95 % interval (Wilson)."""

    clause: str
    target: str
    listener: str
    failed: int
    repeats: int
    rate: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The outcomes of one kind of request of a property on one listener, over all targets.

    `request` is the kind of request, as in `reports.records`.
    """

    clause: str
    property: str
    listener: str
    request: str = NOT_RECORDED
    targets: int
    examples: int
    answered: int
    closed: int
    ignored: int = 0
    silent: int
    none: int
    error_codes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How many examples have their first response in one latency bucket; see `reports.records`."""

    target: str
    listener: str
    bucket: int
    examples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast a run judged one target."""

    run_id: str
    target: str
    tier: str
    launcher: str
    started_at: datetime
    duration_s: float
    examples: int
    examples_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationScore:
    """How reliably the properties of one clause catch one planted defect."""

    clause: str
    defect: str
    seeds: int
    killed: int
    certain: bool
    median_examples: float | None
    p95_examples: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChange:
    """Inputs that two adjacent releases treat differently, and whether the profiles predict it."""

    listener: str
    clause: str
    from_release: str
    to_release: str
    predicted: bool
    inputs: int
    shortest: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsLeftOut:
    """Inputs that were not compared on one release, all for the same reason; commas separate their `names`."""

    listener: str
    release: str
    reason: str
    inputs: int
    names: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFailure:
    """The stored form of one distinct failure; see `reports.run.failures`. A text that was not stored is empty.

    Attributes:
        facts: the text of its `failure.json`.
        pcap: the packet capture of its exchanges; None if none was stored.
        known_violation: the declarations that describe exactly this failure; empty if none does.
    """

    run_id: str
    signature: str
    clause: str
    target: str
    listener: str
    property: str
    kind: str
    message: str
    example: str
    verdict: str
    smallest_example: int
    facts: str
    hex_dump: str
    reproducer: str
    pcap: bytes | None
    known_violation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What one target did with the example of a failure."""

    signature: str
    target: str
    listener: str
    release_order: tuple[int, ...]
    outcome: str
    error_code: int | None
    verdict: str
    answer_sha256: str | None


def leaves_open(failure: KeptFailure) -> bool:
    """Return whether the repeats of a failure leave open whether the target is at fault: it is no evidence then."""
    try:
        return stored_leave_open(stored_facts(failure).get("repeats"))
    except AttributeError:
        return False


def stored_facts(failure: KeptFailure) -> Mapping[str, Any]:
    """Return the content of a failure's `failure.json`; nothing if none is stored, or no object."""
    try:
        facts = read_foreign_json(failure.facts)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def failures_by_run(failures: Iterable[KeptFailure]) -> dict[tuple[str, str], KeptFailure]:
    """Return failures by run id and signature."""
    return {(failure.run_id, failure.signature): failure for failure in failures}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMachine:
    """What was learned of one listener, as the JSON that its run has; see `reports.machines.learned`."""

    run_id: str
    target: str
    listener: str
    machine: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTables:
    """All history tables; None for one that the roll-up did not write."""

    transitions: tuple[Transition, ...] | None
    release_steps: tuple[ReleaseStep, ...] | None
    flakes: tuple[Flakes, ...] | None
    coverage: tuple[Coverage, ...] | None
    latency: tuple[Latency, ...] | None
    speed: tuple[Speed, ...] | None
    mutation: tuple[MutationScore, ...] | None
    release_changes: tuple[ReleaseChange, ...] | None
    inputs_left_out: tuple[InputsLeftOut, ...] | None
    failures: tuple[KeptFailure, ...] | None
    neighbours: tuple[Neighbour, ...] | None
    machines: tuple[KeptMachine, ...] | None = None


ROW_TYPES: Mapping[str, type] = {
    "transitions": Transition,
    "release_steps": ReleaseStep,
    "flakes": Flakes,
    "coverage": Coverage,
    "latency": Latency,
    "speed": Speed,
    "mutation": MutationScore,
    "release_changes": ReleaseChange,
    "inputs_left_out": InputsLeftOut,
    "failures": KeptFailure,
    "neighbours": Neighbour,
}
"""Maps each table that is exported to the class of its rows."""
_READ: Mapping[str, type] = {**ROW_TYPES, "machines": KeptMachine}


def read_history_tables(out_dir: Path) -> HistoryTables:
    """Read the history tables that a roll-up wrote into `out_dir`."""
    return HistoryTables(**{name: read_history_table(out_dir, name) for name in _READ})


def read_history_table(out_dir: Path, name: str) -> tuple[Any, ...] | None:
    """Read one of these tables, sorted by its row key; None if the roll-up did not write it."""
    # It imports Arrow, which takes more than a tenth of a second; what shows a run needs the classes of this module
    # alone.
    from reports.grid.table_rows import ROW_KEYS, read_rows  # noqa: PLC0415

    tables = out_dir / TABLES_FOLDER
    if not (tables / f"{name}.parquet").exists():
        return None
    # Spark's order of rows means nothing and depends on how the history grew.
    key = attrgetter(*ROW_KEYS[name])
    return tuple(sorted(read_rows(tables, name, _READ[name], _typed), key=key))


def _typed(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: convert(values[name]) for name, convert in _CONVERSIONS.items() if name in values}
