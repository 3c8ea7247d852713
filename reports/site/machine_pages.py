"""The pages about machines: one with the targets grouped by equal machines, and one for each target with its machines.

A machine is drawn once, as a file, if Graphviz is installed; its table stands on the page in any case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reference_model.listeners import LISTENERS
from reports.grid import addresses
from reports.grid.history_tables import KeptMachine
from reports.machines.groups import Boundary, Group, boundaries_of, groups_of
from reports.machines.learned import LONGEST_JSON, Learned, from_json
from reports.machines.pictures import as_svg, in_one_line, is_end, name_of_state, rows_of
from reports.site.rendering import NOT_IN_HTML, Site, copy_static, render_alone

Render = Callable[..., None]
"""Writes a page, given its address, its template and the template's variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGroup:
    """A group of targets with equal machines, as the pages show it.

    Attributes:
        number: its number on its listener, from 1 on; the newest group has it.
        group: the group.
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
        return [
            (name_of_state(machine, state), rows_of(machine, state))
            for state in range(len(machine.moves))
        ]

    @property
    def living(self) -> int:
        """How many states there are in which something can still happen."""
        machine = self.group.machine
        return sum(not is_end(machine, state) for state in range(len(machine.moves)))


def write_machines(site: Site) -> None:
    """Write machines.html and machines/<target>.html, if the runs of the grid learned machines."""
    columns = site.folded.columns
    places = {column.target: place for place, column in enumerate(columns)}
    learned = [
        each
        for row in site.history.machines or ()
        if row.target in places and (each := _read(row)) is not None
    ]
    if learned:
        learned.sort(key=lambda each: (places[each.target], _place(each.listener)))
        write_pages(
            site.render,
            site.out_dir,
            learned,
            names={column.target: column.name for column in columns},
            has_targets=True,
        )


def write_learned(out_dir: Path, learned: Sequence[Learned]) -> None:
    """Write the same pages alone, with the overview as index.html.

    Args:
        out_dir: an existing folder.
        learned: what was learned, the newest target first.

    Raises:
        OSError: a file cannot be written.
    """

    def render(address: str, template: str, **context: object) -> None:
        render_alone(out_dir, address, template, **context)

    copy_static(out_dir)
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
    """Write the overview, a page for each target, and the pictures.

    Args:
        render: writes a page.
        out_dir: the site's folder.
        learned: what was learned, the newest target first.
        names: the display names of targets, by id; an id that it lacks is shown itself.
        overview: the address of the overview.
        has_targets: whether each target has another page of its own.
    """
    shown = {
        listener: _shown(out_dir, listener, groups)
        for listener, groups in groups_of(learned).items()
    }
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


def _shown(out_dir: Path, listener: str, groups: Sequence[Group]) -> list[ShownGroup]:
    boundaries = [*boundaries_of(groups), None]
    return [
        ShownGroup(
            number=number,
            group=group,
            picture=_picture(out_dir, group, f"{listener}-{number}"),
            boundary=boundary,
        )
        for number, (group, boundary) in enumerate(zip(groups, boundaries, strict=True), start=1)
    ]


def _picture(out_dir: Path, group: Group, name: str) -> str:
    """Draw the machine of a group; return the address of the file, empty if it cannot be drawn."""
    drawn = as_svg(group.machine)
    if drawn is None:
        return ""
    address = addresses.machine_picture(name)
    path = out_dir / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(NOT_IN_HTML.sub("\ufffd", drawn).encode())
    return address


def _place(listener: str) -> tuple[int, str]:
    """Return what listeners are ordered by: as everywhere, those without a known name last."""
    known = LISTENERS.index(listener) if listener in LISTENERS else len(LISTENERS)
    return known, listener


def _read(row: KeptMachine) -> Learned | None:
    """Read a kept machine; return None if it is not one that this suite writes."""
    if len(row.machine) > LONGEST_JSON:
        return None
    try:
        return from_json(json.loads(row.machine))
    except (ValueError, RecursionError):
        return None
