"""What the `run.json` of a pack states, compared with what this suite knows.

The owner of what was judged wrote it. So it names clauses in this suite's words, and targets that are not others of the
registry; and where a verdict rests on more than stored bytes, that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from clauses.catalogue import CatalogueError, Role, catalogue
from clauses.clause_sets import NEXT, ClauseSet, clause_set
from clauses.tiers import Tier
from conformance.engine.planning import declared_violations
from conformance.mutation.properties import all_properties
from conformance.packs.stored_run import Contradicted
from fixtures.errors import UnknownTarget
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.likeness import release_named
from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.listeners import LISTENERS
from reports.run.run_folder import Header
from reports.run.run_writer import clause_facts

NOT_STORED_REPEATS = "what its repeats showed is not stored"
OWN_DECLARATION = "its owner declares the violation"
OWN_WORD = "that it does not apply is its owner's word"


def set_of(header: Header) -> ClauseSet:
    """Return the set of clauses that a run was judged by.

    Raises:
        Contradicted: there is none of this name.
    """
    try:
        return clause_set(header.get("clause_set", NEXT))
    except CatalogueError as error:
        raise Contradicted(str(error)) from error


def check_header(header: Header) -> None:
    """Check that a header names clauses, targets and listeners as this suite does.

    Raises:
        Contradicted: one is unknown, listed twice, or something else here.
    """
    judged_by = set_of(header)
    for name in ("clauses", "targets"):
        id_, count = Counter(entry["id"] for entry in header[name]).most_common(1)[0] if header[name] else ("", 0)
        if count > 1:
            raise Contradicted(f"run.json lists {id_} twice among its {name}")
    for stated in header["clauses"]:
        try:
            own = clause_facts(judged_by.as_asked(catalogue()[stated["id"]]), role=Role.BROKER.value)
        except CatalogueError as error:
            raise Contradicted(f"run.json lists the clause {stated['id']}, which this suite does not have") from error
        for key, value in own.items():
            if stated[key] != value:
                raise Contradicted(f"run.json gives {stated['id']} another {key} than this suite")
    for cell in header["planned_cells"]:
        if cell["listener"] not in LISTENERS:
            raise Contradicted(f"no listener is named {cell['listener']!r:.40}; there are {', '.join(LISTENERS)}")
    if header.get("whole") is not False:
        _check_that_it_is_whole(header)


def _check_that_it_is_whole(header: Header) -> None:
    """Check that a run that left nothing out has a cell of each clause that a property of its tier judges.

    Raises:
        Contradicted: one is missing.
    """
    planned = {(cell["clause"], cell["target"], cell["listener"]) for cell in header["planned_cells"]}
    is_deep = header["tier"].startswith(Tier.DEEP)
    for target, listener in dict.fromkeys((target, listener) for _, target, listener in planned):
        for each in all_properties().values():
            is_asked = listener in (each.listeners or LISTENERS) and (is_deep or not each.is_deep)
            missing = (
                {clause for clause in each.clauses if (clause, target, listener) not in planned} if is_asked else ()
            )
            if missing:
                raise Contradicted(
                    f"run.json says that everything was judged, but {min(missing)} on {target}, {listener} is missing"
                )


def targets_of(header: Header) -> Mapping[str, Target]:
    """Return the targets of a run by id: those of the registry, and others as far as the run describes them.

    Raises:
        Contradicted: one has the id of another one of the registry, or is like no release.
    """
    registry = {target.id: target for target in (*load_targets(), *reference_targets())}
    return {entry["id"]: _target(entry, registry.get(entry["id"]), header) for entry in header["targets"]}


def _target(entry: Mapping[str, Any], known: Target | None, header: Header) -> Target:
    stated = entry["implementation"], entry["release"]
    if known is not None:
        if stated != (known.implementation, known.release):
            own = f"{known.implementation} {known.release}"
            raise Contradicted(f"{entry['id']} is {own} in this suite, and {' '.join(stated)} in run.json")
        return known
    listeners = dict.fromkeys(cell["listener"] for cell in header["planned_cells"] if cell["target"] == entry["id"])
    try:
        like = release_named(entry["like"]) if entry.get("like") else None
    except UnknownTarget as error:
        raise Contradicted(f"{entry['id']} is like {entry['like']!r:.40}, which is no release of this suite") from error
    return Target(
        id=entry["id"],
        implementation=stated[0],
        release=stated[1],
        quorum=None,
        listeners=tuple(listeners),
        like=like,
    )


def why_no_verdict(cell: Mapping[str, Any], target: Target, judged_by: ClauseSet) -> str:
    """Return what else than stored bytes decides the verdict of a planned cell; empty if nothing does."""
    if not cell["applicable"]:
        return OWN_WORD
    if cell.get("flaky") is not None or cell.get("unproven"):
        return NOT_STORED_REPEATS
    declared = declared_violations(target, cell["clause"], cell["listener"], judged_by)
    return OWN_DECLARATION if cell["known_violation"] not in ("", declared) else ""
