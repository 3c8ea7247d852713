"""What two measurements of a client agree on.

A row, which is what an operation needs of one API, differs if another version is sent, another one is the last that
works, or something else becomes of the operation. Such a row is unclear, and so never a need. Words are not compared:
errors contain times and ports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reference_model.profiles.known_apis import label_of
from reports.client_needs.needs import ApiNeeds, ClientNeeds, Edge, OperationNeeds, Probe, ProbeOutcome


class NotComparable(Exception):
    """Two measurements are not of the same; the message says what the earlier one lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNeeds:
    """What two measurements of a client agree on.

    Attributes:
        needs: what is the same in both; what differs is among the `unclear` of its operation.
        agreeing: the number of rows that are the same.
        differing: the number of rows that differ.
    """

    needs: ClientNeeds
    agreeing: int
    differing: int


def check_comparable(client: str, release: str, operations: Sequence[str], earlier: ClientNeeds | None) -> None:
    """Refuse an earlier measurement that is not of the same client, release and operations.

    Args:
        client: the id of the client.
        release: the id of the release that it is measured with, or `SCRIPTED`.
        operations: the names of the operations that are measured.
        earlier: what was measured of it before; None if nothing was.

    Raises:
        NotComparable: it is not.
    """
    if earlier is None:
        raise NotComparable(f"nothing was measured of {client}")
    if earlier.release != release:
        raise NotComparable(f"{client} was measured with {earlier.release}, not with {release}")
    known = [each.operation for each in earlier.operations]
    if unknown := [each for each in operations if each not in known]:
        raise NotComparable(f"{client} was measured in {', '.join(known)}, but not in {', '.join(unknown)}")


def agreement_of(earlier: ClientNeeds, later: ClientNeeds) -> ComparedNeeds:
    """Return what two measurements of a client agree on: of the operations of the later one.

    Args:
        earlier: the first one, or what two earlier ones agreed on; with the operations of the later one, and more.
        later: the second one.
    """
    before = {each.operation: each for each in earlier.operations}
    merged = [_merged(before[each.operation], each) for each in later.operations]
    needs = replace(
        later,
        operations=tuple(operation for operation, _ in merged),
        measurements=earlier.measurements + later.measurements,
    )
    agreeing = sum(len(operation.apis) for operation, _ in merged)
    return ComparedNeeds(needs=needs, agreeing=agreeing, differing=sum(differing for _, differing in merged))


def _merged(earlier: OperationNeeds, later: OperationNeeds) -> tuple[OperationNeeds, int]:
    """Return what two measurements of an operation agree on, and how many rows differ."""
    if inconclusive := later.inconclusive or earlier.inconclusive:
        return OperationNeeds(operation=later.operation, inconclusive=inconclusive), 0
    first, second = ({api.api_key: api for api in each.apis} for each in (earlier, later))
    rows = [(first.get(key), second.get(key)) for key in sorted(first.keys() | second.keys())]
    same = tuple(new for old, new in rows if old and new and _compared(old) == _compared(new))
    differing = [_difference(old, new) for old, new in rows if new not in same]
    unclear = {each.removed: each for each in (*earlier.unclear, *later.unclear, *differing)}
    merged = replace(later, apis=same, unclear=tuple(unclear[removed] for removed in sorted(unclear)))
    return merged, len(differing)


def _compared(api: ApiNeeds) -> tuple[object, ...]:
    return api.served, api.used, _edge(api.minimum), _edge(api.maximum), api.removed.outcome


def _edge(edge: Edge | None) -> tuple[object, ...] | None:
    return None if edge is None else (edge.version, edge.is_monotone, edge.failure and edge.failure.outcome)


def _difference(earlier: ApiNeeds | None, later: ApiNeeds | None) -> Probe:
    """Return a row that differs, as something of which nothing is concluded."""
    name = label_of(next(each.api_key for each in (earlier, later) if each))
    return Probe(
        removed=f"versions of {name} taken away",
        outcome=ProbeOutcome.UNSTABLE,
        detail=f"measurements differ: {_in_words(earlier)}; {_in_words(later)}",
    )


def _in_words(api: ApiNeeds | None) -> str:
    if api is None:
        return "it neither sends nor needs it"
    sends = f"it sends v{', v'.join(map(str, api.used))}" if api.used else "it never sends it"
    edges = ((api.minimum, "minimum of at most"), (api.maximum, "maximum of at least"))
    limits = [
        f"works with a {words} v{edge.version}{'' if edge.is_monotone else ' (with gaps)'}"
        for edge, words in edges
        if edge is not None
    ]
    return ", ".join([sends, *limits, f"without the API: {api.removed.outcome.value}"])
