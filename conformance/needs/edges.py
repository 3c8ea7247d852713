"""How far versions can be taken away before an operation is not as before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from reports.client_needs.needs import Edge, Probe


def edge_of(
    versions: Sequence[int], try_: Callable[[int], Probe], *, works_at: int = 0, also: Collection[int] = ()
) -> Edge:
    """Return how far an end of a range can be moved.

    The next step is tried first, and then the last one. Between a version that works and one that fails it is searched
    by halving. If what was tried shows a version that fails before one that works, every version is tried.

    Args:
        versions: where the end can be: first where it is, with which the operation works, and then ever further.
        try_: tries the operation with the end at a version.
        works_at: the index of a version that is known to work.
        also: versions that are tried in any case.
    """
    last = len(versions) - 1
    probes: dict[int, Probe] = {}

    def working() -> int:
        return max([works_at, *(index for index, probe in probes.items() if probe.works)])

    def failing() -> int:
        return min([last + 1, *(index for index, probe in probes.items() if not probe.works)])

    for index in (works_at + 1, *(each for each, version in enumerate(versions) if version in also), last):
        # Nothing lies between a step that fails and the one before.
        if index > works_at and index <= last and index not in probes and (index != last or failing() > last):
            probes[index] = try_(versions[index])
    while failing() - working() > 1:
        index = (working() + failing()) // 2
        probes[index] = try_(versions[index])
    is_monotone = working() < failing()
    if not is_monotone:
        for index in set(range(1, last + 1)) - probes.keys():
            probes[index] = try_(versions[index])
    edge = failing()
    return Edge(version=versions[edge - 1], failure=probes.get(edge), is_monotone=is_monotone)
