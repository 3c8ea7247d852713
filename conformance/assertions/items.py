"""The items of a list that a property checks one by one.

Each item is one version of one API. This module says how to check and name items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

from conformance.assertions.errors import Unjudged
from fixtures.under_test.broker import Broker
from wire.exchange import Exchange

_RANGE = r"v-?\d+(?:-v-?\d+)?"
_NAMED = re.compile(rf"((?:key )?\w+) ({_RANGE}(?:, {_RANGE})*)")


class Item(NamedTuple):
    """One version of one API, to be requested by a sweep.

    Attributes:
        name: the API's name.
        api_key: its key.
        api_version: the requested version.
    """

    name: str
    api_key: int
    api_version: int


class Problem(AssertionError):
    """What is wrong with one item.

    Attributes:
        what: the problem, in words that are equal for every item that fails in the same way.
        details: further details of this item; may be empty.
    """

    def __init__(self, what: str, details: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.details = details


class Refusal(Problem):
    """A refusal that may end: the item is requested again after all others."""


class CrashingItem(Problem):
    """An item that ends the target."""


Check = Callable[[Broker, Item], Exchange]
"""Requests one item and returns the exchange. Raises `Problem` if something is wrong, `Unjudged` if that is only a
note, and `UnsatisfiedAssumption` if the clause is not about the item."""


def check_item(broker: Broker, item: Item, check: Check) -> None:
    """Check one item again, alone.

    Raises:
        AssertionError: the item fails.
    """
    try:
        with suppress(Unjudged):
            check(broker, item)
    except Problem as problem:
        raise AssertionError(message_of([item], problem)) from problem


def message_of(items: Sequence[Item], problem: Problem) -> str:
    """Name the items that fail alike, and what is wrong with them."""
    first_line = f"{names_of(items)}: {problem.what}"
    return f"{first_line}\n{problem.details}" if problem.details else first_line


def names_of(items: Iterable[Item]) -> str:
    """Return items by API, each with its versions as ranges: "Produce v0-v2, Envelope v0"."""
    return ", ".join(
        f"{name} {ranges([item.api_version for item in same])}"
        for name, same in groupby(items, key=lambda item: item.name)
    )


def named_in(text: str) -> set[tuple[str, int]]:
    """Return what a text of `names_of` names, each as an API's name and a version."""
    return {
        (name, api_version)
        for name, listed in _NAMED.findall(text)
        for first, last in re.findall(r"v(-?\d+)(?:-v(-?\d+))?", listed)
        for api_version in range(int(first), int(last or first) + 1)
    }


def ranges(versions: Sequence[int]) -> str:
    """Return ascending versions as ranges: "v0-v2, v5"."""
    return ", ".join(f"v{run[0]}" if len(run) == 1 else f"v{run[0]}-v{run[-1]}" for run in consecutive_runs(versions))


def consecutive_runs(numbers: Iterable[int]) -> list[list[int]]:
    """Split ascending numbers into runs that have no gap: 0, 1, 2, 5 into [0, 1, 2] and [5]."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
