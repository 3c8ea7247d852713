"""Groups targets by equal machines, and says what distinguishes the groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reports.machines.learned import Learned
from reports.machines.machine import Machine, Word, distinguishing_word


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Targets with equal machines on one listener.

    Attributes:
        listener: the listener's name.
        members: what was learned of each target, the newest first.
        machine: their machine.
    """

    listener: str
    members: Sequence[Learned]
    machine: Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """What distinguishes a group from the next older one on the same listener.

    Attributes:
        word: the shortest word to which they respond differently.
        newer: the last output of the newer group.
        older: that of the older one.
    """

    word: Word
    newer: str
    older: str


def groups_of(results: Sequence[Learned]) -> dict[str, list[Group]]:
    """Return the groups of each listener, those with the newest members first.

    Args:
        results: what was learned, the newest target first; what has no machine is left out.
    """
    groups: dict[str, list[Group]] = {}
    for learned in results:
        if learned.machine is None:
            continue
        there = groups.setdefault(learned.listener, [])
        for index, group in enumerate(there):
            if distinguishing_word(group.machine, learned.machine) is None:
                there[index] = Group(
                    listener=group.listener,
                    members=(*group.members, learned),
                    machine=group.machine,
                )
                break
        else:
            there.append(
                Group(listener=learned.listener, members=(learned,), machine=learned.machine)
            )
    return groups


def boundaries_of(groups: Sequence[Group]) -> list[Boundary]:
    """Return for each group but the last what distinguishes it from the next one."""
    found = []
    for newer, older in pairwise(groups):
        word = distinguishing_word(newer.machine, older.machine)
        # Groups are made of machines that differ.
        assert word is not None
        found.append(
            Boundary(
                word=word, newer=newer.machine.run(word)[-1], older=older.machine.run(word)[-1]
            )
        )
    return found
