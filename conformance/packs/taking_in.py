"""Takes in a pack, whose run counts once its bytes were judged again.

A pack comes from the owner of what was judged, whose word is not enough. So nothing that follows from other parts of
it is taken over: the dumps of failures are written again, and no script and no capture comes along. What the bytes do
not show is marked in the run itself, so every reader of the run sees it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from clauses.catalogue import Role, catalogue
from conformance.packs.judging_again import why_not_judged_again
from conformance.packs.stated_header import check_header, set_of, targets_of, why_no_verdict
from conformance.packs.stored_run import Contradicted
from fixtures.registry.targets import Target
from reports.command_line.distribution import suite_version
from reports.records import DUMP_FILE, FACTS_FILE, HEADER_FILE
from reports.run.conversation import CONVERSATION, parts_from_json
from reports.run.failures import render_dump
from reports.run.judged_examples import CellKey
from reports.run.run_folder import Header, read_run_header
from reports.run_folders.refusal_reasons import INVALID_PACK, JUDGED_OTHERWISE, FolderFault
from reports.run_folders.refused_runs import RunRefused
from reports.run_folders.run_pack import is_packed, unpack
from reports.run_folders.run_rules import header_of
from reports.wording.verdict_labels import NOT_JUDGED_AGAIN, judged_again
from wire.foreign_json import read_foreign_json

ONLY_BROKERS = "a pack has a run of brokers, because what a client did is not stored for clauses that hold"
"""Why a run of clients or of operations is refused."""
Reasons = Mapping[CellKey, str]
"""For each cell that was judged: why it was not judged again; empty if it was."""


def take_in(pack: Path, folder: Path) -> Reasons:
    """Write the run of a pack into a folder, after judging it again.

    The run is marked as judged by its owner, and each of its cells that was not judged again says why.

    Args:
        pack: the file.
        folder: the run folder to make; it does not exist. If the pack is refused, it may have some files.

    Raises:
        RunRefused: the pack is not as it was written, its run does not count, another version of the suite has judged
            it, or its bytes show something else than it states. One sentence says which.
        OSError: the folder cannot be written to.
    """
    unpack(pack, folder)
    try:
        header = _header(folder)
        check_header(header)
        targets = targets_of(header)
        reasons = why_not_judged_again(folder, header, targets)
    except Contradicted as error:
        raise RunRefused(pack, *JUDGED_OTHERWISE.fault(str(error))) from error
    except RunRefused as error:
        raise RunRefused(pack, error.refusal, error.detail) from error
    more = _why_no_verdicts(header, targets)
    reasons = {key: more.get(key) or why for key, why in reasons.items()}
    _write_dumps(folder)
    _write_header(folder, _marked(header, reasons, {**reasons, **more}))
    return reasons


def _header(folder: Path) -> Header:
    """Return the header of the unpacked run, which counts, without the files that a pack does not have."""
    header = header_of((folder / HEADER_FILE).read_bytes())
    if isinstance(header, FolderFault):
        raise RunRefused(folder, *header)
    files = header["footer"].get("files") or {}
    if not files:
        raise RunRefused(folder, *INVALID_PACK.fault("its run.json lists no hashes of its files; judge again"))
    if roles := {clause["role"] for clause in header["clauses"]} - {Role.BROKER.value}:
        raise RunRefused(folder, *INVALID_PACK.fault(f"it is about {', '.join(sorted(roles))}; {ONLY_BROKERS}"))
    own = suite_version(), catalogue().sha256
    its = header["suite"]["version"], header["suite"]["catalogue_sha256"]
    if its != own:
        ways = " and this is ".join(f"{version} with the clauses {sha256[:12]}" for version, sha256 in (its, own))
        raise RunRefused(folder, *INVALID_PACK.fault(f"it was judged by version {ways}: judge it with this version"))
    packed = {name: sha256 for name, sha256 in files.items() if is_packed(name)}
    header = {**header, "footer": {**header["footer"], "files": packed}}
    (folder / HEADER_FILE).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
    return read_run_header(folder)


def _write_dumps(folder: Path) -> None:
    for facts in sorted(folder.glob(f"failures/*/{FACTS_FILE}")):
        stored = read_foreign_json(facts.read_bytes()).get(CONVERSATION)
        if stored:
            facts.with_name(DUMP_FILE).write_text(render_dump(parts_from_json(stored)), encoding="utf-8")


def _why_no_verdicts(header: Header, targets: Mapping[str, Target]) -> Reasons:
    """Return, for each cell whose verdict more than bytes decides, what that is."""
    judged_by = set_of(header)
    found = {
        _key_of(cell): why_no_verdict(cell, targets[cell["target"]], judged_by) for cell in header["planned_cells"]
    }
    return {key: why for key, why in found.items() if why}


def _key_of(cell: Mapping[str, str]) -> CellKey:
    return CellKey(cell["clause"], cell["target"], cell["listener"])


def _marked(header: Header, reasons: Reasons, notes: Reasons) -> Header:
    """Return the header with what readers of the grid need to know of a run that its owner has judged.

    Args:
        header: the header.
        reasons: as `take_in` returns them.
        notes: what cells say about it, also those that do not apply.
    """
    targets = []
    for entry in header["targets"]:
        own = [reason for key, reason in reasons.items() if key.target == entry["id"]]
        targets.append({**entry, "judged_by_owner": judged_again(own.count(""), len(own))})
    cells = []
    for cell in header["planned_cells"]:
        why = notes.get(_key_of(cell))
        words = [cell["reason"], f"{NOT_JUDGED_AGAIN}: {why}" if why else ""]
        cells.append({**cell, "reason": "; ".join(filter(None, words))})
    # A pack corrects no run of the grid that takes it in.
    return {**header, "targets": targets, "planned_cells": cells, "corrects": None}


def _write_header(folder: Path, header: Header) -> None:
    """Write `run.json` with the hashes of the files that are there now."""
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != HEADER_FILE
    }
    complete = {**header, "footer": {**header["footer"], "files": files}}
    (folder / HEADER_FILE).write_text(json.dumps(complete, indent=1) + "\n", encoding="utf-8")
