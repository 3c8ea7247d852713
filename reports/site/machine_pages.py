"""The pages about machines: groups of equal machines, and each target's machines.

One page has the groups. Each target has a page with its own machines.

A machine is drawn once, as a file, if Graphviz is installed; its table stands on the page in any case. Pictures are
drawn before the pages, which link to those that exist: so `verify` needs no Graphviz.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from reports.grid import addresses
from reports.grid.grid_view import listener_order
from reports.grid.history_tables import HistoryTables
from reports.machines.learned import MAX_JSON, Learned, from_json
from reports.machines.machine import (
    Machine,
    Word,
    as_dot,
    as_svg,
    distinguishing_word,
    in_one_line,
    is_end,
    name_of_state,
    rows_of,
)
from reports.site.rendering import NOT_IN_HTML, Site, copy_static, render_alone
from reports.tables.failure_rows import KeptMachine
from wire.foreign_json import read_foreign_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Targets with equal machines on one listener.

    Attributes:
        members: what was learned of each target, the newest first.
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
                there[index] = replace(group, members=(*group.members, learned))
                break
        else:
            there.append(Group(listener=learned.listener, members=(learned,), machine=learned.machine))
    return groups


def boundaries_of(groups: Sequence[Group]) -> list[Boundary]:
    """Return for each group but the last what distinguishes it from the next one."""
    boundaries = []
    for newer, older in pairwise(groups):
        word = distinguishing_word(newer.machine, older.machine)
        # Groups are made of machines that differ.
        assert word is not None
        boundaries.append(Boundary(word=word, newer=newer.machine.run(word)[-1], older=older.machine.run(word)[-1]))
    return boundaries


Render = Callable[..., None]
"""Writes a page, given its address, its template and the template's variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGroup:
    """A group of targets with equal machines, as the pages show it.

    Attributes:
        number: its number on its listener, from 1 on; the newest group has it.
        picture: the address of the picture, from the site's root; empty if there is none.
        boundary: what distinguishes it from the next older group; None for the oldest one.
    """

    number: int
    group: Group
    picture: str
    boundary: Boundary | None

    @property
    def states(self) -> Sequence[tuple[str, Sequence[tuple[str, int, Sequence[str]]]]]:
        """Each state with its name and its arrows: output, next state, letters."""
        machine = self.group.machine
        return [(name_of_state(machine, state), rows_of(machine, state)) for state in range(len(machine.moves))]

    @property
    def living(self) -> int:
        """How many states there are in which something can still happen."""
        machine = self.group.machine
        return sum(not is_end(machine, state) for state in range(len(machine.moves)))


def draw_machines(history: HistoryTables, out_dir: Path) -> None:
    """Draw the machines that runs have learned, into the folder of a site, if Graphviz is installed."""
    _draw(_read_all(history), out_dir)


def _draw(learned: Iterable[Learned], out_dir: Path) -> None:
    shutil.rmtree(out_dir / addresses.PICTURES, ignore_errors=True)
    machines = [each.machine for each in learned if each.machine is not None]
    for address, machine in {_picture_of(machine): machine for machine in machines}.items():
        drawn = as_svg(machine)
        if drawn is not None:
            path = out_dir / address
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(NOT_IN_HTML.sub("\ufffd", drawn).encode())


def _picture_of(machine: Machine) -> str:
    """Return the address of a machine's picture, which follows from what is drawn."""
    return addresses.machine_picture(hashlib.sha256(as_dot(machine).encode()).hexdigest()[:16])


def write_machines(site: Site) -> None:
    """Write machines.html and machines/<target>.html, if the runs of the grid learned machines."""
    columns = site.folded.columns
    indexes = {column.target: index for index, column in enumerate(columns)}
    learned = [each for each in _read_all(site.history) if each.target in indexes]
    if learned:
        learned.sort(key=lambda each: (indexes[each.target], listener_order(each.listener)))
        write_pages(
            site.render,
            site.out_dir,
            learned,
            names={column.target: column.name for column in columns},
            has_targets=True,
        )


def write_learned(out_dir: Path, learned: Sequence[Learned]) -> None:
    """Write the same pages alone, the newest target first, with the overview as index.html of an existing folder.

    Raises:
        OSError: a file cannot be written.
    """

    def render(address: str, template: str, **context: object) -> None:
        render_alone(out_dir, address, template, **context)

    copy_static(out_dir)
    _draw(learned, out_dir)
    write_pages(render, out_dir, learned, overview=addresses.HOME)


def write_pages(
    render: Render,
    out_dir: Path,
    learned: Sequence[Learned],
    *,
    names: Mapping[str, str] | None = None,
    overview: str = addresses.MACHINES,
    has_targets: bool = False,
) -> None:
    """Write the overview, and a page for each target, the newest first; an id without a name is shown itself."""
    shown = {listener: _shown(out_dir, groups) for listener, groups in groups_of(learned).items()}
    shown_names = {each.target: (names or {}).get(each.target, each.target) for each in learned}
    shared = {"names": shown_names, "overview": overview, "in_one_line": in_one_line}
    render(
        overview,
        "machines",
        listeners=shown,
        unlearned=[each for each in learned if each.machine is None],
        **shared,
    )
    group_of = {
        (member.target, listener): each
        for listener, groups in shown.items()
        for each in groups
        for member in each.group.members
    }
    for target in shown_names:
        own = [each for each in learned if each.target == target]
        render(
            addresses.machine_page(target),
            "machine",
            target=target,
            target_href=addresses.target_page(target) if has_targets else "",
            listeners=[(each, group_of.get((target, each.listener))) for each in own],
            **shared,
        )


def _shown(out_dir: Path, groups: Sequence[Group]) -> list[ShownGroup]:
    boundaries = [*boundaries_of(groups), None]
    return [
        ShownGroup(
            number=number,
            group=group,
            picture=address if (out_dir / address).is_file() else "",
            boundary=boundary,
        )
        for number, (group, boundary) in enumerate(zip(groups, boundaries, strict=True), start=1)
        for address in [_picture_of(group.machine)]
    ]


def _read_all(history: HistoryTables) -> list[Learned]:
    return [each for row in history.machines or () if (each := _read(row)) is not None]


@functools.cache
def _read(row: KeptMachine) -> Learned | None:
    """Read a kept machine, or return None if this suite does not write such a machine.

    Both the picture and the pages need it.
    """
    if len(row.machine) > MAX_JSON:
        return None
    try:
        learned = from_json(read_foreign_json(row.machine))
    except ValueError:
        return None
    is_of_row = (learned.target, learned.listener) == (row.target, row.listener)
    return learned if is_of_row else None
