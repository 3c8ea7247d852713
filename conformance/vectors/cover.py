"""Chooses vectors by the planted faults that they catch.

Few vectors are enough, and each fault is caught by some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

Item = TypeVar("Item")
MAX_CATCHES = 4
"""So many catches of a fault leave enough choice; looking for more takes time alone."""
MAX_OTHERS = 200
"""How many items about other clauses are tried on a fault that no nearer one catches, the cheapest first."""


def catches_of(
    faults: Mapping[str, Collection[str]],
    items: Mapping[str, Item],
    clauses_of: Callable[[Item], Collection[str]],
    is_caught: Callable[[str, Item], bool],
) -> dict[str, list[str]]:
    """Return, by fault, the items that catch it, at most `MAX_CATCHES`.

    Args:
        faults: the clauses that each fault breaks, by its name.
        items: the items by their keys, the cheapest first.
        clauses_of: returns the clauses that an item is about; those that a fault breaks are tried first.
        is_caught: whether a fault is caught by an item.
    """
    found = {}
    for fault, breaks in faults.items():
        near = [key for key, item in items.items() if set(clauses_of(item)) & set(breaks)]
        others = [key for key in items if key not in set(near)][:MAX_OTHERS]
        found[fault] = _first_catches(fault, near, items, is_caught) or _first_catches(
            fault, others, items, is_caught, most=1
        )
    return found


def _first_catches(
    fault: str,
    keys: Sequence[str],
    items: Mapping[str, Item],
    is_caught: Callable[[str, Item], bool],
    most: int = MAX_CATCHES,
) -> list[str]:
    caught: list[str] = []
    for key in keys:
        if is_caught(fault, items[key]):
            caught.append(key)
            if len(caught) == most:
                break
    return caught


def covering(catches: Mapping[str, Collection[str]], costs: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return a small set of items that together catch every fault that any item catches.

    The item that catches most of what is left is taken first, and the cheapest of several.

    Args:
        catches: the items that catch each fault.
        costs: what each item costs its readers.
    """
    left = {fault: set(keys) for fault, keys in catches.items() if keys}
    chosen: list[str] = []
    while left:
        counts = Counter(key for keys in left.values() for key in keys)
        best = min(counts, key=lambda key: (-counts[key], costs[key], key))
        chosen.append(best)
        left = {fault: keys for fault, keys in left.items() if best not in keys}
    return chosen
