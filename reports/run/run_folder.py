"""Reads one local run folder, or refuses it by name.

It reads the header, and folds the rows of each planned cell into a verdict. `reports.run_folders.run_rules` decides
whether the folder counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from reports.records import HASHED_PARTS, HEADER_FILE, Phase, Verdict, cell_verdict
from reports.run.judged_examples import CellKey
from reports.run_folders.file_contents import contents_of
from reports.run_folders.refusal_reasons import FolderFault
from reports.run_folders.refused_runs import RunRefused
from reports.run_folders.run_limits import fault_of_files, is_hidden
from reports.run_folders.run_rules import JUDGED_COLUMNS, fault_of_contents, header_of

EXCHANGE_FILES = "exchanges/*.parquet"

Header = Mapping[str, Any]


def read_run_header(folder: Path) -> Header:
    """Read the header of a complete run: one that was not cut off and that has all its rows.

    Returns:
        `run.json`, as its schema describes it.

    Raises:
        RunRefused: the folder does not count; the exception says why.
    """
    if refused := fault_of_files(folder):
        raise RunRefused(folder, *refused)
    path = folder / HEADER_FILE
    header = header_of(path.read_bytes() if path.is_file() else None)
    if isinstance(header, FolderFault):
        raise RunRefused(folder, *header)
    if fault := fault_of_contents(header, _summaries(folder, header.get("pinned_examples") or {})):
        raise RunRefused(folder, *fault)
    return header


def complete_runs(headers: Iterable[Path]) -> Iterator[tuple[Path, Header]]:
    """Yield folder and header of each run that counts, given the paths of headers.

    Other runs, such as incomplete ones, are skipped.
    """
    for path in headers:
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            continue
        yield path.parent, header


def _summaries(
    folder: Path, pinned_examples: Mapping[str, int], *, parts: Sequence[str] = HASHED_PARTS
) -> Iterator[Mapping[str, Any]]:
    """Summarize the files that Spark would list as well: none that is empty or hidden."""
    paths = (path for part in parts for path in (folder / part).rglob("*"))
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in paths):
        if path.is_file() and path.stat().st_size > 0 and not is_hidden(name):
            try:
                content = pa.py_buffer(path.read_bytes())
            except OSError:
                yield {**dict.fromkeys(JUDGED_COLUMNS), "name": name, "damaged": True}
                continue
            summary = contents_of(str(folder), name, content, pinned_examples=pinned_examples)
            yield from summary.select(JUDGED_COLUMNS).to_pylist()


def run_verdicts(folder: Path, header: Header) -> Mapping[CellKey, Verdict]:
    """Return the verdict of each planned cell of a run that counts, given its folder and its header.

    It counts the rows that the rules have judged: none of a hidden or damaged file.
    """
    judged: dict[CellKey, set[Verdict]] = {}
    for file in _summaries(folder, {}, parts=("examples",)):
        for row in file["partials"] or ():
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
