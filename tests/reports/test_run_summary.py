"""The summary of a run in Markdown, as jobs show it."""

from __future__ import annotations

from pathlib import Path

from reports.records import Verdict
from reports.run.run_summary import summary_markdown
from tests.reports.recorders import example_of, key_of, recorder_for

OTHER = "KIP-511.names-accepted"


def test_summary_is_a_markdown_table(tmp_path: Path) -> None:
    """The summary has a column per target and a row per clause."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(target="other"): "MUST"})
    recorder.judged(example_of(Verdict.CONFORMS))
    assert summary_markdown(recorder) == (
        f"# Run {recorder.writer.run_id}\n\n"
        "| clause | level | reference | other |\n"
        "|---|---|---|---|\n"
        "| KIP-35.keys-unique | MUST | ✓ conforms | ○ not run |\n\n"
        f"Load of the machine: {recorder.writer.load_words}.\n"
    )


def test_summary_says_why_cells_are_inconclusive(tmp_path: Path) -> None:
    """Each reason stands once below the table, with its clauses; a violated cell shows its failures instead."""
    keys = [key_of(), key_of(OTHER), key_of("KIP-35.ranges-ordered")]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key in keys:
        recorder.inconclusive(key, "test_something", "BrokerGone: it *ended*")
    recorder.judged(example_of(Verdict.VIOLATES, keys[2], message="seen"))
    recorder.inconclusive(keys[1], "test_other", "x" * 10_000)
    _, _, below = summary_markdown(recorder).partition("✕ violates 1 |\n")
    first, second, *_ = below.strip().splitlines()
    assert first == (
        "- ? KIP-35.keys-unique, KIP-511.names-accepted on reference: BrokerGone: it \\*ended\\*"
    )
    assert second.startswith("- ? KIP-511.names-accepted on reference: xxx")
    assert len(second) < 600
