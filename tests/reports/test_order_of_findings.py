"""The order of what a run found, and what of it is folded."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.records import Verdict
from reports.run.recorder import RunRecorder
from reports.run.terminal_failures import MAX_NOTES, failure_lines
from tests.reports.recorders import example_of, key_of, recorder_for

OTHER_SIGNATURE = "fedcba9876543210"


def lines_of(recorder: RunRecorder, *, complete: bool) -> list[str]:
    """Return the lines about what was found."""
    return [line.text for line in failure_lines(recorder, complete=complete)]


@pytest.mark.parametrize("complete", [False, True])
def test_gravest_failures_come_first(complete: bool, tmp_path: Path) -> None:
    """Violations come first, by level; then inconclusive cells, then differences that are not violations, then what
    was left out."""
    levels = {"pin": "PIN", "should": "SHOULD", "must": "MUST", "doubts": "MUST", "differs": "PIN"}
    recorder = recorder_for(tmp_path, {key_of(target=name): levels[name] for name in levels})
    for name in ("pin", "should", "must"):
        recorder.judged(example_of(Verdict.VIOLATES, key_of(target=name), message="seen"))
    recorder.inconclusive(key_of(target="doubts"), "test_something", "BrokerGone: it ended")
    recorder.judged(example_of(Verdict.INFORMATIONAL, key_of(target="differs"), message="seen"))
    recorder.note_left_out(key_of(target="must"), "what is slow")
    heads = [line for line in lines_of(recorder, complete=complete) if line[:1].strip()]
    assert [head[0] for head in heads] == ["✕", "✕", "✕", "?", "≈", "◐"]
    assert [head.split(" on ")[1].split()[0] for head in heads[:3]] == ["must", "should", "pin"]


def test_notes_are_a_few_lines(tmp_path: Path) -> None:
    """However many there are, nothing is wrong: they are named in a line each up to a limit, and then counted; a
    crash is not folded."""
    keys = [key_of(f"KIP-1.clause-{number}") for number in range(50)]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "PIN"))
    for key in keys:
        recorder.judged(example_of(Verdict.INFORMATIONAL, key, message="differs"))
    folder = recorder.writer.folder / "failures"
    assert lines_of(recorder, complete=False) == [
        "",
        "≈ 50 notes that no source calls wrong (-v shows the bytes):",
        *(f"  {key.clause} on reference: differs" for key in keys[:MAX_NOTES]),
        f"  and {50 - MAX_NOTES} more: see {folder}",
    ]
    crash = example_of(
        Verdict.INFORMATIONAL,
        keys[0],
        message="panic",
        kind="TargetEnded",
        signature=OTHER_SIGNATURE,
    )
    recorder.judged(crash)
    assert lines_of(recorder, complete=False)[1] == ("≈ KIP-1.clause-0 on reference (plaintext): crashes")
