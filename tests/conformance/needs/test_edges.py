"""How far an end of a range of versions can be moved."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from conformance.needs.edges import edge_of
from reports.client_needs.needs import Probe, ProbeOutcome


def found(versions: range, failing: Collection[int], **others: object) -> tuple[int, str | None, bool, list[int]]:
    """Return the edge, what failed beyond it, whether it is monotone, and what was tried."""
    tried: list[int] = []

    def try_(version: int) -> Probe:
        tried.append(version)
        outcome = ProbeOutcome.BREAKS if version in failing else ProbeOutcome.WORKS
        return Probe(removed=f"v{version}", outcome=outcome)

    edge = edge_of(versions, try_, **others)  # type: ignore[arg-type]
    failed = None if edge.failure is None else edge.failure.removed
    return edge.version, failed, edge.is_monotone, tried


def test_range_that_works_to_its_end_has_no_failure() -> None:
    assert found(range(10), ()) == (9, None, True, [1, 9])


def test_next_step_that_fails_is_the_edge() -> None:
    assert found(range(10), range(1, 10)) == (0, "v1", True, [1])


@pytest.mark.parametrize("first", range(2, 12))
def test_edge_in_between_is_found_by_halving(first: int) -> None:
    version, failure, is_monotone, tried = found(range(12), range(first, 12))
    assert (version, failure, is_monotone) == (first - 1, f"v{first}", True)
    assert len(tried) == len(set(tried)) <= 6


def test_maximum_goes_down() -> None:
    assert found(range(9, -1, -1), (0, 1, 2))[:3] == (3, "v2", True)


def test_every_version_is_tried_if_a_later_one_works() -> None:
    version, failure, is_monotone, tried = found(range(6), (1, 2), also=(4,))
    assert (version, failure, is_monotone) == (0, "v1", False)
    assert sorted(tried) == [1, 2, 3, 4, 5]


def test_search_begins_after_what_is_known_to_work() -> None:
    assert found(range(10), range(6, 10), works_at=5) == (5, "v6", True, [6])


def test_range_of_one_version_has_nothing_to_try() -> None:
    assert found(range(3, 4), (3,)) == (3, None, True, [])


def test_known_version_at_the_end_leaves_nothing_to_try() -> None:
    assert found(range(4), (), works_at=3) == (3, None, True, [])
