"""Groups targets by equal machines, and draws the page of all groups."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from conformance.learning.descriptions import (
    as_dot,
    in_one_line,
    is_end,
    name_of_state,
    rows_of,
)
from conformance.learning.letters import Word
from conformance.learning.machine import Machine, distinguishing_word
from conformance.learning.results import Learned

TEMPLATES = Path(__file__).with_name("templates")
LAYOUT_LIMIT_S = 20.0
"""How long Graphviz may take for one picture."""


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
        results: what was learned, the oldest target first; what has no machine is left out.
    """
    groups: dict[str, list[Group]] = {}
    for learned in reversed(results):
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


def machines_page(results: Sequence[Learned]) -> str:
    """Return the page that shows every group with its machine, and what distinguishes the groups."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    listeners = [
        {"name": listener, "groups": _described(groups)}
        for listener, groups in groups_of(results).items()
    ]
    template = environment.get_template("machines.html.j2")
    return template.render(listeners=listeners, unlearned=[e for e in results if not e.machine])


def _described(groups: Sequence[Group]) -> list[Mapping[str, Any]]:
    boundaries = [*boundaries_of(groups), None]
    return [
        {
            "number": number,
            "members": group.members,
            "states": [
                {
                    "number": state,
                    "name": name_of_state(group.machine, state),
                    "is_end": is_end(group.machine, state),
                    "rows": rows_of(group.machine, state),
                }
                for state in range(len(group.machine.moves))
            ],
            "picture": picture_of(group.machine, f"{group.listener}, machine {number}"),
            "boundary": boundary,
            "word": None if boundary is None else in_one_line(boundary.word),
        }
        for number, (group, boundary) in enumerate(zip(groups, boundaries, strict=True), start=1)
    ]


def picture_of(machine: Machine, title: str) -> Markup | None:
    """Return a machine as SVG, drawn by Graphviz; None if it is not installed or draws nothing."""
    dot = shutil.which("dot")
    if dot is None:
        return None
    try:
        drawn = subprocess.run(
            (dot, "-Tsvg"),
            input=as_dot(machine, title),
            capture_output=True,
            text=True,
            timeout=LAYOUT_LIMIT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    # What comes before the element itself belongs to a file, not to a page.
    start = drawn.find("<svg")
    return Markup(drawn[start:]) if start >= 0 else None
