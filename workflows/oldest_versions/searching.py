"""Searches for the oldest version that works, and tries what a version does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from clauses.operations import OPERATIONS
from conformance.needs.benches import Bench
from conformance.needs.outcomes import has_worked, software_in
from fixtures.recording_proxy.written_codecs import written_codecs
from fixtures.scripted_broker.playing import Play
from workflows.oldest_versions.results import TRIED, Oldest, Tried

MAX_TRIED = 8
TIME_S = 20.0
RUNS = 2
"""How often an operation is tried that fails."""
MAX_SAID = 160
DRIVER = "driver"
"""Stands for an operation: the driver has none with this version."""
_PLACE = re.compile(r" \(/[^)]*\)")
_MISFIT = re.compile(
    r"\b(NoSuchMethod|NoClassDefFound|NoSuchField|IncompatibleClassChange|Attribute|Import|ModuleNotFound|Type)Error\b"
    r"|ClassNotFoundException"
)
"""What Java, Python and JavaScript say if a library does not have what the driver uses."""


def oldest_of(library: str, release: str, versions: Sequence[str], try_: Callable[[str], Tried]) -> Oldest:
    """Search for the oldest version that works.

    Args:
        library: the library.
        release: the id of the release.
        versions: those of the registry, oldest first; at least one.
        try_: tries a version.
    """
    tried: dict[int, Tried] = {}
    works, fails = len(versions), -1
    unclear = ""
    for index in _next_indexes(len(versions), tried):
        tried[index] = try_(versions[index])
        if tried[index].unclear:
            unclear = f"{versions[index]}: {tried[index].unclear}"
            break
        works = min([works, *(at for at, each in tried.items() if each.works)])
        fails = max((at for at, each in tried.items() if not each.works and at < works), default=-1)
    return Oldest(
        library=library,
        release=release,
        published=len(versions),
        works=tried.get(works),
        fails=tried.get(fails),
        untried=max(works - fails - 1, 0) if works in tried else 0,
        tried=tuple(versions[index] for index in sorted(tried)),
        unclear=unclear,
    )


def _next_indexes(count: int, tried: Mapping[int, Tried]) -> Iterator[int]:
    """Yield what to try next: the newest, the oldest, and then halves of what is between."""
    yield count - 1
    if not tried[count - 1].works or count == 1:
        return
    yield 0
    while len(tried) < MAX_TRIED:
        works = min(at for at, each in tried.items() if each.works)
        fails = max((at for at, each in tried.items() if not each.works), default=works)
        if works - fails < 2:
            return
        yield (works + fails) // 2


def tried_on(bench: Bench, version: str) -> Tried:
    """Try those of `TRIED` that a version has with a release.

    Raises:
        HarnessError: it could not be tried.
    """
    tried = tuple(each for each in TRIED if each in bench.operations)
    if not tried:
        # What was not tried does not work.
        return Tried(
            version=version, failures={DRIVER: "it has none of these operations"}, operations=(), is_driven=False
        )
    failures: dict[str, str] = {}
    unclear: list[str] = []
    switched_off: set[str] = set()
    software = ""
    is_driven = True
    for operation in tried:
        problems: list[str] = []
        for _ in range(RUNS):
            play = bench.play(operation, (), TIME_S)
            software = software or software_in(play)[1]
            switched_off |= set(play.result.found)
            problem = _problem(play, operation)
            is_driven = is_driven and _is_driven(play, problem)
            if not problem:
                break
            problems.append(problem)
        if len(problems) == RUNS:
            failures[operation] = problems[0]
        elif problems:
            unclear.append(f"{operation} works in 1 of {len(problems) + 1} runs; otherwise: {problems[0]}")
    return Tried(
        version=version,
        software=software,
        failures=failures,
        switched_off=tuple(sorted(switched_off)),
        is_driven=is_driven,
        operations=tried,
        unclear="" if failures else "; ".join(unclear),
    )


def _is_driven(play: Play, problem: str) -> bool:
    """Return whether the driver came far enough to connect, or reported something but that it does not fit."""
    result = play.result
    if _MISFIT.search(problem):
        return False
    return bool(play.recording.requests) or result.has_reported or result.has_hung or result.signal is not None


def _problem(play: Play, operation: str) -> str:
    """Return how an operation failed, in the words of the client; empty if it works."""
    if not has_worked(play):
        result = play.result
        lines = (result.detail or result.output).strip().splitlines()
        # Python adds where a module is on this machine.
        words = _PLACE.sub("", lines[-1] if lines else result.summary)
        return "it hangs" if result.has_hung else words[:MAX_SAID]
    codec = OPERATIONS[operation].codec
    return (
        f"its records are not compressed with {codec}" if codec and codec not in written_codecs(play.recording) else ""
    )
