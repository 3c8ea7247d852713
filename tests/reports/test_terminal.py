"""What the terminal shows: the table, the failures, the doubts."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.records import Verdict
from reports.terminal import failure_lines, printable, summary_markdown, verdict_table
from tests.reports.recorders import CLAUSE, example_of, key_of, recorder_for

OTHER = "KIP-511.names-accepted"


def test_few_targets_are_shown_with_words(tmp_path: Path) -> None:
    """One target's verdicts have symbol, word and count, and the examples are counted."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "SHOULD"})
    recorder.judged(example_of(Verdict.CONFORMS))
    recorder.judged(example_of(Verdict.VIOLATES, number=2, message="seen"))
    assert list(verdict_table(recorder, width=80)) == [
        "clause                  level   reference     examples",
        "KIP-35.keys-unique      MUST    ✕ violates 1         2",
        "KIP-511.names-accepted  SHOULD  ○ not run            0",
        "",
        "1 ✕ violates, 1 ○ not run",
    ]


def test_many_targets_are_shown_by_symbols_below_numbers(tmp_path: Path) -> None:
    """Many targets have a number each, in as many tables as the width asks for, and no column is lost."""
    targets = [f"target-{number}" for number in range(1, 13)]
    recorder = recorder_for(tmp_path, {key_of(target=target): "MUST" for target in targets})
    for target in targets:
        recorder.judged(example_of(Verdict.CONFORMS, key_of(target=target)))
    recorder.judged(example_of(Verdict.VIOLATES, key_of(target="target-2"), message="seen"))
    lines = list(verdict_table(recorder, width=80))
    assert lines == [
        "clause              level  1  2    3  4  5  6  7  8  9",
        "KIP-35.keys-unique  MUST   ✓  ✕ 1  ✓  ✓  ✓  ✓  ✓  ✓  ✓",
        "",
        "clause              level  10  11  12",
        "KIP-35.keys-unique  MUST   ✓   ✓   ✓",
        "",
        *(f"{number:3} target-{number}" for number in range(1, 13)),
        "",
        "11 ✓ conforms, 1 ✕ violates",
    ]


@pytest.mark.parametrize("width", [80, 100, 140, 400])
def test_forty_targets_lose_no_column(width: int, tmp_path: Path) -> None:
    """However narrow the terminal, every target's number stands above a symbol."""
    targets = [f"target-{number}" for number in range(1, 41)]
    recorder = recorder_for(tmp_path, {key_of(target=target): "MUST" for target in targets})
    lines = list(verdict_table(recorder, width=width))
    numbers = [name for line in lines if line.startswith("clause") for name in line.split()[2:]]
    assert numbers == [str(number) for number in range(1, 41)]
    assert sum(line.count("○") for line in lines if line.startswith(CLAUSE)) == 40
    assert max(len(line) for line in lines) <= max(width, 100)


def test_failure_is_clause_sentence_bytes_and_script(tmp_path: Path) -> None:
    """A failure is shown with the clause's sentence, what was seen, the bytes and the way to show it again."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"})
    recorder.judged(example_of(Verdict.VIOLATES, message="assert [18] == []\nmore"))
    script = recorder.writer.folder / "failures" / "0123456789abcdef" / "reproducer.py"
    assert list(failure_lines(recorder)) == [
        "",
        "✕ KIP-35.keys-unique on reference (plaintext): violates",
        "  the clause: No API key stands twice in the table.",
        "  seen: assert [18] == []",
        "  sent 0000001b001200000000000700116b61666b612d636f6e666f726d616e6365",
        "  got  00000006000000070023",
        f"  again: python {script} HOST:PORT",
    ]


def test_known_violation_says_why(tmp_path: Path) -> None:
    """A declared violation is shown with the registry's reason."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="reason (link)")
    recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
    lines = list(failure_lines(recorder))
    assert lines[1] == "⚑ KIP-35.keys-unique on reference (plaintext): known"
    assert lines[2] == "  known because: reason (link)"


def test_unexpected_pass_is_news(tmp_path: Path) -> None:
    """A declared violation that is gone is shown with the declared reason."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="reason (link)")
    recorder.judged(example_of(Verdict.CONFORMS))
    assert list(failure_lines(recorder)) == [
        "",
        "! KIP-35.keys-unique on reference: declared as violated, but it holds",
        "  declared because: reason (link)",
    ]


def test_doubt_is_explained_once_for_all_its_cells(tmp_path: Path) -> None:
    """A reason why cells are inconclusive stands once, with how many cells it affects."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "MUST"})
    for key in recorder.cells:
        recorder.inconclusive(key, "test_something", "BrokerGone: it ended")
    assert list(failure_lines(recorder)) == [
        "",
        "? 2 cells on reference are inconclusive:",
        "  BrokerGone: it ended",
    ]


def test_stale_expectation_is_named(tmp_path: Path) -> None:
    """A declared violation that is out of date is named."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"})
    recorder.stale_expectations = ["reference declares KIP-0.gone, which no catalogue has"]
    assert list(failure_lines(recorder)) == [
        "",
        "! stale expectation: reference declares KIP-0.gone, which no catalogue has",
    ]


def test_hostile_message_is_made_harmless(tmp_path: Path) -> None:
    """Control characters of a message, and what turns text around, are shown and do not act."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"})
    hostile = "\x1b]0;title\x07\x1b[2J\x00\x9b31m\u202egnp.exe [red]"
    recorder.judged(example_of(Verdict.VIOLATES, message=hostile))
    recorder.inconclusive(key_of(), "test_something", hostile)
    lines = list(failure_lines(recorder))
    assert all(line.isprintable() for line in lines)
    shown = r"\x1b]0;title\x07\x1b[2J\x00\x9b31m\u202egnp.exe [red]"
    assert f"  seen: {shown}" in lines
    assert f"  {shown}" in lines


def test_printable_text_is_left_alone() -> None:
    """Letters of any script and line ends stay as they are."""
    assert printable("é ✕ Ω\n  日本") == "é ✕ Ω\n  日本"


def test_summary_is_a_markdown_table(tmp_path: Path) -> None:
    """The summary has a column per target and a row per clause."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(target="other"): "MUST"})
    recorder.judged(example_of(Verdict.CONFORMS))
    assert summary_markdown(recorder) == (
        f"# Run {recorder.writer.run_id}\n\n"
        "| clause | level | reference | other |\n"
        "|---|---|---|---|\n"
        "| KIP-35.keys-unique | MUST | ✓ conforms | ○ not run |\n"
    )
