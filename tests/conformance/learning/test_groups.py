"""Targets with equal machines are one group, and the page shows each group and what distinguishes it from the next."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import html5lib
import pytest

from conformance.learning.groups import boundaries_of, groups_of, machines_page, picture_of
from conformance.learning.results import Learned, learn_listener
from reference_model.defects import DEFECTS
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
    """What was learned of four targets, the oldest first; one could not be learned."""
    odd = _learned("third", "a-connection-stays-refused")
    lost = replace(odd, target="lost", machine=None, stopped="the target has more than 40 states")
    return [_learned("first"), _learned("second"), odd, lost]


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


def test_the_page_is_valid_and_has_every_group(
    results: list[Learned], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a layout program the page has tables; it is valid HTML, and names what was not learned."""
    monkeypatch.setenv("PATH", "")
    page = machines_page(results)
    html5lib.HTMLParser(strict=True).parse(page)
    assert "<b>newest+1, then v0</b>" in page
    assert '<li id="first-plaintext">first: like its model;' in page
    assert "<li>lost, plaintext: the target has more than 40 states;" in page
    assert "<svg" not in page


def test_graphviz_draws_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `dot` writes stands on the page without the lines before the element; if it fails, there is no picture."""
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\necho '<?xml?><svg id=\"drawn\"></svg>'\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert picture_of(model_machine(), "x") == '<svg id="drawn"></svg>\n'
    dot.write_text("#!/bin/sh\nexit 1\n")
    assert picture_of(model_machine(), "x") is None
