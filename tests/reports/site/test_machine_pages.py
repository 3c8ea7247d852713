"""Tests of the pages about machines: groups of targets and a page for each.

If no run recorded a machine, there is no page.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import html5lib
import pytest

from reports.grid import addresses
from reports.machines.learned import Learned, MachineDifference, as_json
from reports.machines.machine import Machine, MachineMove, minimal
from tests.reports.roll_up_tables import RUN_ID
from tests.reports.site.parsed_pages import parse, text_of
from tests.reports.site.sites import HOSTILE, MIDDLE, NEW, OLD, write_small_site

LETTERS = ("v0", "v3")
CLOSING = MachineDifference(word=("v3",), seen=("closed",), expected=("NONE v3 full",))


def _machine(*, serves_v3: bool) -> Machine:
    v3 = MachineMove("NONE v3 full", 0) if serves_v3 else MachineMove("closed", 1)
    end = dict.fromkeys(LETTERS, MachineMove("closed", 1))
    return minimal(LETTERS, [{"v0": MachineMove("NONE v0 full", 0), "v3": v3}, end])


def _row(target: str, machine: Machine | None, difference: MachineDifference | None = None) -> dict[str, str]:
    learned = Learned(
        target=target,
        listener="plaintext",
        letters=LETTERS,
        machine=machine,
        difference=difference,
        extra_states=0,
        queries=29,
        steps=49,
        stopped="" if machine else HOSTILE,
    )
    text = json.dumps(as_json(learned, {}))
    return {"run_id": RUN_ID, "target": target, "listener": "plaintext", "machine": text}


@pytest.fixture(scope="module")
def machines_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the machines of three releases, one that was not learned, and a file that is none."""
    folder = tmp_path_factory.mktemp("machines")
    dot = folder / "bin" / "dot"
    dot.parent.mkdir()
    dot.write_text("#!/bin/sh\necho '<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>'\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{dot.parent}:/bin:/usr/bin")
        return write_small_site(
            folder / "site",
            machines=[
                _row(NEW, _machine(serves_v3=True)),
                _row(MIDDLE, _machine(serves_v3=True)),
                _row(OLD, _machine(serves_v3=False), CLOSING),
                _row(HOSTILE, None, CLOSING),
                {**_row("other-1.0", None), "machine": "[" * 100_000},
                {**_row("unknown", None), "target": NEW},
            ],
        )


def test_equal_machines_stand_together(machines_site: Path) -> None:
    """The newest group comes first, with the word that distinguishes it from the next older one."""
    text = text_of(parse(machines_site / addresses.MACHINES))
    assert (
        "1 1 Apache Kafka 4.4.0, Apache Kafka 3.9.2 v3 NONE v3 full closed "
        "2 1 Apache Kafka 2.8.2 unlike its model – – –"
    ) in text
    assert f"{HOSTILE}, plaintext: {HOSTILE}; unlike its model: v3: closed" in text


def test_a_target_has_its_machine(machines_site: Path) -> None:
    page = machines_site / addresses.machine_page(OLD)
    text = text_of(parse(page))
    assert "The shortest sequence that shows it: v3. Seen: closed. Expected: NONE v3 full." in text
    assert "29 connections with words of 2 letters exclude every other machine with up to 2 states" in text
    assert "0: a new connection NONE v0 full stays v0 closed 1 v3 1: v3 the end of the connection" in text
    picture = re.search(r'<img src="\.\./(machine-pictures/[0-9a-f]{16}\.svg)"', page.read_text())
    assert picture is not None
    assert (machines_site / picture[1]).exists()


def test_the_pages_are_valid_and_linked(machines_site: Path) -> None:
    for page in machines_site.glob("machine*/*.html"):
        html5lib.HTMLParser(strict=True).parse(page.read_text())
    for name in ("brokers.html", "upgrade.html", addresses.SEARCH):
        assert addresses.MACHINES in (machines_site / name).read_text()
    for target in (NEW, HOSTILE):
        text = (machines_site / addresses.target_page(target)).read_text()
        assert addresses.machine_page(target) in text
    assert not (machines_site / addresses.machine_page("other-1.0")).exists()


def test_without_machines_there_is_no_page(small_site: Path) -> None:
    assert not (small_site / addresses.MACHINES).exists()
    for name in ("brokers.html", "upgrade.html"):
        assert addresses.MACHINES not in (small_site / name).read_text()
