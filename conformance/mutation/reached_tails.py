"""Counts which properties send rare request values (tails) in a standard run.

Tails are counted for each dimension in which requests vary.

The drawn and the pinned examples are counted. Examples that a target rejects are counted too, because that depends on
the target.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.mutation.dimensions import values_of
from conformance.mutation.properties import Property, Values, all_properties
from conformance.mutation.tails import DIMENSIONS

SEEDS_OF_TAILS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How a standard run reaches one tail.

    Attributes:
        dimension: what varies.
        tail: the name of the tail.
        pinned: the properties that have it pinned.
        drawn: by property that draws it, with which seeds.
        seeds: how many seeds were tried.
    """

    dimension: str
    tail: str
    pinned: Sequence[str]
    drawn: Mapping[str, frozenset[int]]
    seeds: int

    @property
    def reached_seeds(self) -> int:
        """With how many seeds at least one property draws it."""
        return len(frozenset().union(*self.drawn.values()))

    @property
    def is_certain(self) -> bool:
        """Whether every run reaches it: by a pinned example, or with every seed."""
        return bool(self.pinned) or self.reached_seeds == self.seeds

    def as_json(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {
            "dimension": self.dimension,
            "tail": self.tail,
            "pinned": list(self.pinned),
            "drawn": {name: len(seeds) for name, seeds in self.drawn.items()},
            "seeds": self.seeds,
            "reached_seeds": self.reached_seeds,
        }


def measured_reaches(seeds: Sequence[int]) -> list[Reach]:
    """Draw what a standard run draws, and return how it reaches each tail, in the order of `DIMENSIONS`."""
    pinned: dict[tuple[str, str], list[str]] = defaultdict(list)
    drawn: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for property_ in all_properties().values():
        if property_.is_deep:
            continue
        for tail in _tails_in(property_.pinned):
            pinned[tail].append(property_.name)
        for seed in seeds:
            for tail in _tails_in(_drawn_examples(property_, seed)):
                drawn[tail][property_.name].add(seed)
    return [
        Reach(
            dimension=dimension,
            tail=tail,
            pinned=tuple(pinned[dimension, tail]),
            drawn={name: frozenset(with_) for name, with_ in drawn[dimension, tail].items()},
            seeds=len(seeds),
        )
        for dimension, tails in DIMENSIONS.items()
        for tail in tails
    ]


def _drawn_examples(judged: Property, seed: int) -> list[Values]:
    examples: list[Values] = []
    judged.draw(examples.append, seed=seed, count=judged.max_examples)
    return examples


def _tails_in(examples: Iterable[Values]) -> set[tuple[str, str]]:
    """Return the tails that some examples reach, each with its dimension."""
    return {
        (dimension, tail)
        for example in examples
        for dimension, value in values_of(example)
        for tail, holds in DIMENSIONS[dimension].items()
        if holds(value)
    }
