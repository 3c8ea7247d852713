"""A finding counts as seen only if a script or `replay` shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from workflows.check_findings import (
    Checked,
    FindingOutcome,
    Run,
    check,
    finding_folders,
    run_program,
    summary,
)


def ends_with(*statuses: int) -> tuple[Run, list[Sequence[str]]]:
    """Return what runs programs that end with these statuses, and the list of their commands."""
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        status = statuses[len(commands) - 1]
        return subprocess.CompletedProcess(command, status, stdout="a line\nthe end\n", stderr="")

    return run, commands


def finding(folder: Path, target: str = "reference", *, script: bool = True) -> Path:
    """Write a finding of the reference broker."""
    own = folder / "reference" / "one"
    own.mkdir(parents=True)
    facts: dict[str, object] = {"target": target, "listener": "plaintext"}
    (own / "failure.json").write_text(json.dumps({**facts, "steps": []} if script else facts))
    return own


def test_script_that_shows_the_defect_is_enough(tmp_path: Path) -> None:
    """The broker is started, and the script gets the finding and its address."""
    run, commands = ends_with(1)
    folder = finding(tmp_path)
    checked = check("reference/one", folder, "auto", run)
    assert checked == Checked("reference/one", FindingOutcome.SEEN, "its script")
    assert commands[0][2:4] == [str(tmp_path / "send_again.py"), str(folder)]
    assert commands[0][4].startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(1, FindingOutcome.SEEN), (0, FindingOutcome.NOT_SEEN), (10, FindingOutcome.NOT_TRIED)],
)
def test_replay_decides_what_a_script_cannot_say(status: int, outcome: FindingOutcome, tmp_path: Path) -> None:
    """A finding without a script is replayed as well."""
    run, commands = ends_with(status)
    checked = check("reference/one", finding(tmp_path, script=False), "auto", run)
    assert checked.outcome is outcome
    assert checked.how == ("replay" if outcome is FindingOutcome.SEEN else "the end")
    assert "replay" in commands[0]


def test_unknown_product_is_not_tried(tmp_path: Path) -> None:
    """The list says which product that is."""
    checked = check("reference/one", finding(tmp_path, "no-such-1.0"), "auto", ends_with()[0])
    assert checked.outcome is FindingOutcome.NOT_TRIED
    assert "no-such-1.0" in checked.how


def test_patterns_choose_findings(tmp_path: Path) -> None:
    """Without a pattern all are tried."""
    own = finding(tmp_path)
    assert list(finding_folders(tmp_path, [])) == [("reference/one", own)]
    assert list(finding_folders(tmp_path, ["ref*"])) == [("reference/one", own)]
    assert list(finding_folders(tmp_path, ["other/*"])) == []


@pytest.mark.parametrize(
    ("outcomes", "is_good"),
    [
        ([FindingOutcome.SEEN, FindingOutcome.NOT_TRIED], True),
        ([FindingOutcome.SEEN, FindingOutcome.NOT_SEEN], False),
        ([FindingOutcome.NOT_TRIED], False),
    ],
)
def test_night_is_good_if_every_tried_defect_is_seen(outcomes: list[FindingOutcome], is_good: bool) -> None:
    """If none could be tried, nothing is known."""
    lines, good = summary([Checked("a/b", each, "why") for each in outcomes])
    assert good is is_good
    assert len(lines) == 2 + sum(each is not FindingOutcome.SEEN for each in outcomes)


@pytest.mark.slow
def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    """A script starts a client, which would run for ever."""
    child = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}, sys.argv[1]])"
    with pytest.raises(subprocess.TimeoutExpired):
        run_program([sys.executable, "-c", parent, str(tmp_path / "pid")], limit_s=3)
    with pytest.raises(ProcessLookupError):
        _wait_for_end(int((tmp_path / "pid").read_text()))


def _wait_for_end(process: int) -> None:
    for _ in range(50):
        os.kill(process, 0)
        if Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].startswith("Z"):
            raise ProcessLookupError
        time.sleep(0.1)
