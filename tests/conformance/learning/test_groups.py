"""Targets with equal machines are one group, which Graphviz draws if it is there."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.learning.results import learn_listener
from reference_model.faults.broker import DEFECTS
from reports.machines.learned import Learned
from reports.machines.pictures import as_svg
from reports.site.machine_pages import boundaries_of, groups_of
from tests.conformance.learning.subjects_in_memory import few_letters, listening, model_machine

FEW = ("v0", "v3", "newest+1", "negative size")


def _learned(target: str, defect: str = "") -> Learned:
    tampering = DEFECTS[defect].tampering if defect else None
    subject = few_letters(listening(tampering=tampering), FEW)
    return replace(
        learn_listener(subject, model_machine().restricted_to(FEW), extra_states=1), target=target
    )


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
