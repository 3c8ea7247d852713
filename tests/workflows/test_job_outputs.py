"""Outputs and summaries of a step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workflows.github import write_outputs, write_summary


def test_a_value_cannot_set_another_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value with line breaks stays one value, because its delimiter is random."""
    path = tmp_path / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(path))
    write_outputs({"name": "one\nother<<end\nstolen\nend"})
    match = re.fullmatch(r"name<<(end-[0-9a-f]{32})\n(.*)\n\1\n", path.read_text(), re.DOTALL)
    assert match is not None
    assert match[2] == "one\nother<<end\nstolen\nend"


def test_texts_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that an earlier step wrote is kept."""
    path = tmp_path / "summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    write_summary("one")
    write_summary("two\n\n")
    assert path.read_text() == "one\ntwo\n"


def test_outside_a_workflow_they_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step can be run by hand."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_summary("one")
    assert capsys.readouterr().out == "one\n"
