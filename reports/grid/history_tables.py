"""A roll-up's tables from its history, read back for rendering.

`grid_tables` has the other tables; the classes of the rows are in `reports.tables`.

A grid folder of an older suite lacks some of these tables. A missing table reads as None and is shown as not
recorded; it never counts as an empty table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from reports.records import TABLES_FOLDER
from reports.repeats import stored_leave_open
from reports.tables.all_tables import ROW_KEYS, ROW_TYPES
from reports.tables.failure_rows import KeptFailure, KeptMachine, Neighbour
from reports.tables.given_rows import InputsLeftOut, MutationScore, ReleaseChange
from reports.tables.history_rows import Coverage, Flakes, Latency, ReleaseStep, Speed, Transition
from wire.foreign_json import read_foreign_json

_KEPT_FACTS = 64
"""How many files stay parsed: a page asks several times for the facts of its failure, and one file may have 600 kB."""


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


def read_history_tables(out_dir: Path) -> HistoryTables:
    """Read the history tables that a roll-up wrote into `out_dir`."""
    return HistoryTables(**{table.name: read_history_table(out_dir, table.name) for table in fields(HistoryTables)})


def read_history_table(out_dir: Path, name: str) -> tuple[Any, ...] | None:
    """Read one of these tables, sorted by its row key; None if the roll-up did not write it."""
    # It imports Arrow, which takes more than a tenth of a second; what shows a run needs the classes of this module
    # alone.
    from reports.grid.table_rows import read_rows  # noqa: PLC0415

    tables = out_dir / TABLES_FOLDER
    if not (tables / f"{name}.parquet").exists():
        return None
    # Spark's order of rows means nothing and depends on how the history grew.
    key = attrgetter(*ROW_KEYS[name])
    return tuple(sorted(read_rows(tables, name, ROW_TYPES[name]), key=key))


def leaves_open(failure: KeptFailure) -> bool:
    """Return whether the repeats of a failure leave open whether the target is at fault: it is no evidence then."""
    try:
        return stored_leave_open(stored_facts(failure).get("repeats"))
    except AttributeError:
        return False


def stored_facts(failure: KeptFailure) -> Mapping[str, Any]:
    """Return the content of a failure's `failure.json`; nothing if none is stored, or no object."""
    return _object_in(failure.facts)


@lru_cache(maxsize=_KEPT_FACTS)
def _object_in(text: str) -> Mapping[str, Any]:
    try:
        facts = read_foreign_json(text)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def failures_by_run(failures: Iterable[KeptFailure]) -> dict[tuple[str, str], KeptFailure]:
    """Return failures by run id and signature."""
    return {(failure.run_id, failure.signature): failure for failure in failures}
