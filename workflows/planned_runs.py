"""Leaves out what a job of a night judged although its plan does not have it.

Jobs run other people's brokers and clients. One that was taken over could otherwise supply the column of any target.
Each job's run folders are in the folder of its artefact, `runs-NAME`, in which no other job can write.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from reports.errors import RunRefused
from reports.records import HEADER_FILE
from reports.run.run_folder import read_run_header
from workflows.night_result import names_of

_PREFIX = "runs-"


def leave_out_unplanned(runs: Path, plan: str) -> list[str]:
    """Remove folders of runs that the job that they came from had not to do; return one line for each.

    Args:
        runs: the folder of the downloaded artefacts.
        plan: the output `matrix` of the plan: the rows of the workflow's job matrix, as JSON.
    """
    judged = {row["name"]: set(row["judged"].split()) for row in json.loads(plan)["include"]}
    lines = []
    for place in sorted(runs.iterdir()):
        planned = judged.get(place.name.removeprefix(_PREFIX))
        if planned is None or not place.name.startswith(_PREFIX) or place.is_symlink():
            lines.append(f"left out {place.name}: no job of the plan has this name")
            _remove(place)
            continue
        for folder, reason in _unplanned(place, planned):
            lines.append(f"left out {folder.relative_to(runs)}: {reason}")
            _remove(folder)
    return lines


def _unplanned(place: Path, planned: set[str]) -> Iterator[tuple[Path, str]]:
    for header in sorted(place.rglob(HEADER_FILE)):
        try:
            names = set(names_of(read_run_header(header.parent)))
        except RunRefused:
            # The roll-up refuses it as well, and lists it.
            continue
        others = sorted(names - planned)
        if others:
            yield header.parent, f"its job was to judge other targets than {', '.join(others)}"


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()
