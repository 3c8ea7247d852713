"""Reads the verdicts of a finished run from its folder: that of each planned cell, folded from its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from reports.records import Phase, Verdict, cell_verdict
from reports.run.judged_examples import CellKey
from reports.run.run_folder import Header

_COLUMNS = ["clause", "target", "listener", "verdict", "phase"]


def run_verdicts(folder: Path, header: Header) -> Mapping[CellKey, Verdict]:
    """Return the verdict of each planned cell of a run, given its folder and its header."""
    judged: dict[CellKey, set[Verdict]] = {}
    for part in sorted(folder.glob("examples/*.parquet")):
        rows = pq.read_table(part, columns=_COLUMNS).group_by(_COLUMNS).aggregate([])
        for row in rows.to_pylist():
            if row["phase"] == Phase.GENERATE.value:
                key = CellKey(row["clause"], row["target"], row["listener"])
                judged.setdefault(key, set()).add(Verdict(row["verdict"]))
    return {
        key: verdict_of(cell, judged.get(key, set()))
        for cell in header["planned_cells"]
        for key in [CellKey(cell["clause"], cell["target"], cell["listener"])]
    }


def verdict_of(planned: Mapping[str, Any], verdicts: Collection[Verdict]) -> Verdict:
    """Return the verdict of a planned cell, as a header has it, given those of its examples."""
    return cell_verdict(
        verdicts,
        applicable=planned["applicable"],
        known_violation=bool(planned["known_violation"]),
        flaky=planned.get("flaky") is not None,
        unproven=bool(planned.get("unproven")),
    )
