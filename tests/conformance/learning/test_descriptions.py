"""Machines are shown as text, DOT, Mermaid and JSON.

The command `learn` shows them too. Equal machines are grouped.
"""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import html5lib
import pytest
from click.testing import CliRunner, Result

from conformance.commands import learn as learn_command
from conformance.commands.learn import learn
from conformance.learning.learner import learn_listener
from fixtures.client.traffic import TRAFFIC
from fixtures.errors import HarnessError
from reference_model.faults.broker import DEFECTS
from reports.machines.learned import Learned, as_json, from_json, moves_as_json
from reports.machines.machine import (
    Machine,
    MachineMove,
    as_dot,
    as_mermaid,
    as_svg,
    as_table,
    minimal,
)
from reports.site.machine_pages import boundaries_of, groups_of
from tests.conformance.learning.subjects_in_memory import few_letters, listening, model_machine

LETTERS = ('a "quoted" letter', "b", "c", "d", "e", "f", "g", "h")


def _machine() -> Machine:
    served = {letter: MachineMove("served", 0) for letter in LETTERS[1:]}
    moves = [
        {LETTERS[0]: MachineMove("served; closed", 1), **served},
        dict.fromkeys(LETTERS, MachineMove("closed", 1)),
    ]
    return minimal(LETTERS, moves)


def test_a_table_has_every_state_and_letter() -> None:
    """The text of a machine names each state by its shortest word, and each letter with its output."""
    assert list(as_table(_machine())) == [
        "state 0: after a new connection",
        '  served; closed, to state 1: a "quoted" letter',
        "  served, stays: b, c, d, e, f, g, h",
        'state 1: after a "quoted" letter (the end)',
    ]


def test_a_picture_has_every_state_and_arrow() -> None:
    """DOT escapes quotes and names the first letters of an arrow."""
    lines = as_dot(_machine(), 'of "x"').splitlines()
    assert '  label="of \\"x\\"";' in lines
    assert '  s1 [label="1: the end", peripheries=2];' in lines
    assert '  s0 -> s1 [label="a \\"quoted\\" letter\\l    served; closed\\l"];' in lines
    assert '  s0 -> s0 [label="b, c, d and 4 more\\l    served\\l"];' in lines


def test_a_diagram_of_mermaid_has_no_marks_of_its_syntax_in_labels() -> None:
    """Mermaid gets no quotes in names, and no colons or semicolons in labels."""
    lines = as_mermaid(_machine()).splitlines()
    assert "  state \"1: a 'quoted' letter\" as s1" in lines
    assert '  s0 --> s1: a "quoted" letter / served, closed' in lines


def test_json_has_the_machine_and_can_be_read_back() -> None:
    """JSON has every state and the letters' frames; what is read back is what was learned."""
    subject = listening(tampering=DEFECTS["a-connection-stays-refused"].tampering)
    learned = learn_listener(subject, model_machine(), extra_states=0)
    written = json.loads(json.dumps(as_json(learned, subject.sent())))
    assert learned.machine is not None
    assert not written["equals_model"]
    assert written["states"] == moves_as_json(learned.machine)
    assert written["letters"]["negative size"] == ["ffffffff"]
    assert from_json(written) == learned


def _written() -> dict[str, Any]:
    subject = listening()
    return as_json(learn_listener(subject, model_machine(), extra_states=0), subject.sent())


@pytest.mark.parametrize(
    "changes",
    [
        {"letters": {}},
        {"letters": [str(number) for number in range(300)]},
        {"states": [{"moves": {}}]},
        {"states": []},
        {"states": 7},
        {"difference": {"word": [], "seen": [], "expected": []}},
        {"difference": {}},
        {"target": "x" * 1000},
        {"target": "\ud800"},
        {"queries": -1},
        {"unstable": [{"word": ["v0"], "seen": {"closed": "often"}}]},
        {"left_out": None},
    ],
)
def test_what_is_no_machine_is_refused(changes: dict[str, object]) -> None:
    """A file of a stranger is a machine within the limits, or an error."""
    with pytest.raises(ValueError, match=r"."):
        from_json({**_written(), **changes})


def test_a_machine_leads_to_no_state_that_it_does_not_have() -> None:
    """A move to a state beyond the last one is refused."""
    written = _written()
    written["states"][0]["moves"]["v0"]["after"] = 2
    with pytest.raises(ValueError, match="from 0 to 1: 2"):
        from_json(written)


def _learn(*arguments: str) -> Result:
    return CliRunner().invoke(learn, [*arguments, "--listener", "plaintext"])


def test_the_command_is_paced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target is learned at the pace that is given, or that suits its place."""
    paces: list[int] = []
    monkeypatch.setattr(TRAFFIC, "limit", paces.append)
    monkeypatch.setattr(learn_command, "LaunchedTarget", Mock(side_effect=HarnessError("not started here")))
    CliRunner().invoke(learn, ["reference"])
    CliRunner().invoke(learn, ["reference", "--connections-per-second", "7"])
    assert paces == [0, 7]


@pytest.mark.slow
def test_the_command_learns_the_reference_broker(tmp_path: Path) -> None:
    """The command says that the reference broker is like its model, and what distinguishes a defect from it."""
    result = _learn("reference", "reference+a-connection-stays-refused", "--out", str(tmp_path))
    assert result.exit_code == 1
    healthy, defect, *words = result.output.splitlines()
    assert healthy.startswith("reference plaintext: 2 states, like the model; 29 letters, 589 connections")
    assert defect.startswith("reference+a-connection-stays-refused plaintext: 3 states, unlike the model")
    assert words[0] == "  newest+1 | v0: UNSUPPORTED_VERSION v0 full, and the model has NONE v0 full"
    assert words[1] == "reference and reference+a-connection-stays-refused on plaintext:"
    assert words[2] == "  newest+1, then v0: NONE v0 full, and UNSUPPORTED_VERSION v0 full"
    folder = tmp_path / "reference-plaintext"
    assert sorted(each.name for each in folder.iterdir()) == [
        "machine.dot",
        "machine.json",
        "machine.mmd",
    ]
    found = json.loads((folder / "machine.json").read_text())
    assert any(each["word"] == ["v0"] and each["received"] for each in found["exchanges"])
    page = (tmp_path / "index.html").read_text()
    html5lib.HTMLParser(strict=True).parse(page)
    assert "<b>newest+1, then v0</b>" in page
    assert (tmp_path / "machines" / "reference.html").exists()


def test_the_command_refuses_what_it_cannot_learn() -> None:
    """An unknown target and an address that is none end with a usage error."""
    assert _learn("no-such-target").exit_code == 4
    assert _learn("x:y").exit_code == 2


FEW = ("v0", "v3", "newest+1", "negative size")


def _learned(target: str, defect: str = "") -> Learned:
    tampering = DEFECTS[defect].tampering if defect else None
    subject = few_letters(listening(tampering=tampering), FEW)
    return replace(learn_listener(subject, model_machine().restricted_to(FEW), extra_states=1), target=target)


@pytest.fixture(scope="module")
def results() -> list[Learned]:
    """What was learned of four targets, the newest first; one could not be learned."""
    odd = _learned("third", "a-connection-stays-refused")
    lost = replace(odd, target="lost", machine=None, stopped="the target has more than 40 states")
    return [lost, odd, _learned("second"), _learned("first")]


def test_equal_machines_are_one_group(results: list[Learned]) -> None:
    """The newest group comes first, and the shortest word distinguishes it from the older one."""
    groups = groups_of(results)["plaintext"]
    assert [[each.target for each in group.members] for group in groups] == [
        ["third"],
        ["second", "first"],
    ]
    (boundary,) = boundaries_of(groups)
    assert boundary.word == ("newest+1", "v0")
    assert (boundary.newer, boundary.older) == ("UNSUPPORTED_VERSION v0 full", "NONE v0 full")


def test_graphviz_draws_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `dot` writes is the picture; if it fails, writes something else or is not there, there is none."""
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\necho '<?xml?><svg id=\"drawn\"></svg>'\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert as_svg(model_machine()) == '<?xml?><svg id="drawn"></svg>\n'
    for script in ("exit 1", "echo nothing"):
        dot.write_text(f"#!/bin/sh\n{script}\n")
        assert as_svg(model_machine()) is None
    monkeypatch.setenv("PATH", "")
    assert as_svg(model_machine()) is None
