"""Tests of the terminal output: table, failures, reasons of inconclusive cells."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from rich.cells import cell_len

from reference_model.profiles.listeners import USUAL_LISTENERS
from reports.records import Verdict
from reports.repeats import Repeats, ShownBy, Tally
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.run_summary import summary_markdown
from reports.run.terminal_failures import MAX_SHOWN, failure_lines
from reports.run.terminal_lines import MARKUP
from reports.run.verdict_table import MAX_UNSETTLED, verdict_table
from reports.wording.verdict_labels import BROKER_DOUBT
from tests.reports.recorders import (
    CLAUSE,
    SIGNATURE,
    answered_step,
    example_of,
    facts_of,
    key_of,
    recorder_for,
)

OTHER = "KIP-511.names-accepted"
OTHER_SIGNATURE = "fedcba9876543210"


def _table(recorder: RunRecorder, width: int = 80, *, complete: bool = True) -> list[str]:
    """Return the lines after the empty one at the beginning."""
    first, *lines = [line.text for line in verdict_table(recorder, width=width, complete=complete)]
    assert not first
    return lines


def _failures(recorder: RunRecorder, width: int = 80, *, complete: bool = True) -> list[str]:
    return [line.text for line in failure_lines(recorder, width=width, complete=complete)]


def test_what_conforms_or_does_not_apply_is_only_counted(tmp_path: Path) -> None:
    """Unless all is asked for: a clean target takes three lines, one with a finding a row for it."""
    keys = [key_of(), key_of(OTHER), key_of("KIP-35.per-connection")]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    recorder.judged(example_of(Verdict.CONFORMS, keys[0]))
    recorder.judged(example_of(Verdict.CONFORMS, keys[1]))
    recorder.not_applicable(keys[2], "it has none")
    recorder.note_left_out(keys[0], "what is slow")
    assert _table(recorder, complete=False)[:-1] == ["reference", "1 – n/a, 2 ✓ conforms"]
    assert _failures(recorder, complete=False) == [
        "",
        "◐ 1 clause is judged only partly on reference: -v says why",
    ]
    assert _failures(recorder)[-3:] == [
        "",
        "– 1 cell on reference not applicable:",
        "  it has none",
    ]
    assert len(_table(recorder)) == len(keys) + 6
    recorder.judged(example_of(Verdict.VIOLATES, keys[1], message="seen"))
    rows = [line for line in _table(recorder, complete=False) if "MUST  " in line]
    assert rows == ["KIP-511.names-accepted MUST  ✕ violates 1        2"]


def test_one_target_is_shown_with_words(tmp_path: Path) -> None:
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "SHOULD"})
    recorder.judged(example_of(Verdict.CONFORMS))
    recorder.judged(example_of(Verdict.VIOLATES, number=2, message="seen"))
    assert _table(recorder) == [
        "reference",
        "",
        "clause                 level  verdict      examples",
        "KIP-35.keys-unique     MUST   ✕ violates 1        2",
        "KIP-511.names-accepted SHOULD ○ not run           0",
        "",
        "1 ○ not run, 1 ✕ violates",
        "✕ 1 of 1 broker breaks MUST rules: 1 MUST.",
    ]


def test_all_listeners_stay_readable(tmp_path: Path) -> None:
    """Each listener is a symbol below its number, the verdict is that of the worst, and 80 columns suffice."""
    clause = "KIP-482.header-version-from-request-version"
    keys = [CellKey(clause, "apache-kafka-3.9.2-zookeeper", name) for name in USUAL_LISTENERS]
    recorder = recorder_for(tmp_path, {**dict.fromkeys(keys, "SHOULD"), key_of(target=keys[0].target): "MUST"})
    for key in keys[:4]:
        recorder.judged(example_of(Verdict.CONFORMS, key))
    recorder.judged(example_of(Verdict.VIOLATES, keys[2], message="seen"))
    lines = _table(recorder)
    assert lines[:2] == [
        "apache-kafka-3.9.2-zookeeper",
        "1 plaintext 2 sasl_plaintext 3 ssl 4 ssl_client_auth 5 sasl_ssl 6 controller",
    ]
    assert lines[3:6] == [
        "clause                                      level  verdict      123456 examples",
        f"{clause} SHOULD ✕ violates 1 ✓✓✕✓○○        5",
        "KIP-35.keys-unique                          MUST   ○ not run    ○–––––        0",
    ]
    assert max(len(line) for line in lines) <= 80


def test_many_clauses_that_could_not_be_judged_have_no_rows(tmp_path: Path) -> None:
    """As a rule there is one reason, which is among the findings; a violation keeps its row."""
    keys = [key_of(f"KIP-1.clause-{number}") for number in range(MAX_UNSETTLED + 2)]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key in keys[1:]:
        recorder.inconclusive(key, "test_something", "ClientFails: it hangs")
    recorder.judged(example_of(Verdict.VIOLATES, keys[0], message="seen"))
    lines = _table(recorder, complete=False)
    assert [line.split()[0] for line in lines if "MUST  " in line] == ["KIP-1.clause-0"]
    assert "11 ? inconclusive, 1 ✕ violates" in lines


def test_few_targets_stand_side_by_side_where_they_fit(tmp_path: Path) -> None:
    """Two targets get a column of words each in a wide terminal, and a line each in a narrow one."""
    keys = [key_of(target="reference"), key_of(target="other")]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    recorder.judged(example_of(Verdict.CONFORMS, keys[0]))
    assert _table(recorder, 100)[:2] == [
        "clause             level reference  other",
        "KIP-35.keys-unique MUST  ✓ conforms ○ not run",
    ]
    assert _table(recorder, 80)[:2] == [
        "  1 reference                      1 ✓",
        "  2 other                          1 ○",
    ]


def test_many_targets_are_shown_by_symbols_below_numbers(tmp_path: Path) -> None:
    """Many targets have a line each; only clauses that some target does not keep are shown, in several tables."""
    targets = [f"target-{number}" for number in range(1, 13)]
    keys = [key_of(clause, target) for clause in (CLAUSE, OTHER) for target in targets]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key in keys:
        recorder.judged(example_of(Verdict.CONFORMS, key))
    recorder.judged(example_of(Verdict.VIOLATES, key_of(target="target-2"), message="seen"))
    lines = _table(recorder, complete=False)
    assert lines[:2] == [
        "  1 target-1                       2 ✓",
        "  2 target-2                       1 ✕  1 ✓",
    ]
    assert lines[12:] == [
        "",
        "clause             level 1 2 3 4 5 6 7 8 9",
        "KIP-35.keys-unique MUST  ✓ ✕ ✓ ✓ ✓ ✓ ✓ ✓ ✓",
        "",
        "clause             level 10 11 12",
        "KIP-35.keys-unique MUST  ✓  ✓  ✓",
        "",
        "23 ✓ conforms, 1 ✕ violates",
        "✕ 1 of 12 brokers breaks MUST rules: 1 MUST.",
    ]


@pytest.mark.parametrize("width", [40, 80, 100, 140, 400])
def test_forty_targets_lose_no_column(width: int, tmp_path: Path) -> None:
    """However narrow the terminal is, every target's number is above a symbol."""
    targets = [f"target-{number}" for number in range(1, 41)]
    recorder = recorder_for(tmp_path, {key_of(target=target): "MUST" for target in targets})
    lines = _table(recorder, width)
    numbers = [name for line in lines if line.startswith("clause") for name in line.split()[2:]]
    assert numbers == [str(number) for number in range(1, 41)]
    assert sum(line.count("○") for line in lines if line.startswith(CLAUSE)) == 40
    assert max(len(line) for line in lines) <= max(width, 80)


def test_colour_follows_the_verdict(tmp_path: Path) -> None:
    """A row with a finding has the colour of its worst verdict, and so do the sentence and a failure's heading."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "MUST"})
    recorder.judged(example_of(Verdict.CONFORMS, key_of(OTHER)))
    recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
    red = MARKUP[Verdict.VIOLATES]
    lines = [*verdict_table(recorder, width=80), *failure_lines(recorder)]
    coloured = [line.text.split()[0] for line in lines if line.markup == red]
    assert coloured == [CLAUSE, "✕", "✕"]


def test_failure_is_clause_sentence_bytes_and_command(recorder: RunRecorder) -> None:
    """A failure is shown with the clause's sentence, the observation, the bytes and the command to judge it again."""
    recorder.judged(example_of(Verdict.VIOLATES, message="assert [18] == []\nmore"))
    folder = recorder.writer.folder / "failures" / SIGNATURE
    assert _failures(recorder) == [
        "",
        "✕ KIP-35.keys-unique on reference (plaintext): violates",
        "  the clause: No API key stands twice in the table.",
        "  seen: assert [18] == []",
        "  sent 0000001b001200000000000700116b61666b612d636f6e666f726d616e... (31 bytes)",
        "  got  00000006000000070023",
        f"  again: kafka-conformance replay {folder}",
    ]
    assert "  sent 0000001b001200000000000700116b61666b612d636f6e666f726d616e6365" in _failures(recorder, 100)


def test_failure_says_that_the_broker_may_be_at_fault(recorder: RunRecorder) -> None:
    """Next to what was seen; other lines of the message are only in the failure's folder."""
    doubts = f"{BROKER_DOUBT}it lies\n{BROKER_DOUBT}a-1.0 fails alike"
    recorder.judged(example_of(Verdict.VIOLATES, message=f"it hangs\n{doubts}\nthe play"))
    seen, but = [line for line in _failures(recorder, 200) if line.startswith(("  seen", "  but"))]
    assert seen == "  seen: it hangs"
    assert but == f"  but: {doubts.replace(chr(10), '; ')}"


def test_failure_that_only_time_shows_says_so(recorder: RunRecorder) -> None:
    """What bytes show has no such line."""
    example = example_of(Verdict.VIOLATES, message="it hangs")
    assert example.failure is not None
    late = dataclasses.replace(example.failure, evidence=ShownBy.TIME)
    recorder.judged(dataclasses.replace(example, failure=late))
    assert "  shown by: time alone" in _failures(recorder)


def test_listeners_that_fail_alike_are_reported_once(tmp_path: Path) -> None:
    """The same failure on several listeners is one entry that names them."""
    keys = [CellKey(CLAUSE, "reference", name) for name in USUAL_LISTENERS]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key in keys:
        recorder.judged(example_of(Verdict.VIOLATES, key, message="seen"))
    heads = [line for line in _failures(recorder) if line.startswith("✕")]
    assert heads == [f"✕ {CLAUSE} on reference ({', '.join(USUAL_LISTENERS)}): violates"]


def test_note_in_a_violated_cell_is_reported_as_a_note(recorder: RunRecorder) -> None:
    """A note is neither called a violation nor counted as one, whatever else was found in its cell."""
    recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
    recorder.judged(example_of(Verdict.INFORMATIONAL, message="no schema", signature=OTHER_SIGNATURE))
    lines = _failures(recorder)
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads == [
        "✕ KIP-35.keys-unique on reference (plaintext): violates",
        "≈ KIP-35.keys-unique on reference (plaintext): informational",
    ]
    assert "✕ violates 1" in summary_markdown(recorder)


def test_failure_that_never_recurred_is_no_violation(recorder: RunRecorder) -> None:
    """Next to one that recurs, it is named with the reason why it proves nothing."""
    for number, (message, failed) in enumerate((("once", 0), ("always", 3))):
        signature = f"{number:016}"
        recorder.judged(example_of(Verdict.VIOLATES, message=message, signature=signature))
        recorder.repeated(key_of(), signature, Repeats(used=Tally(failed, 3)))
    lines = _failures(recorder)
    assert lines[-3:] == [
        "",
        "? 1 failure on reference that proved nothing:",
        "  KIP-35.keys-unique: once: it recurred in none of 3 repeats",
    ]
    assert [line for line in lines if line.startswith("✕")] == [
        "✕ KIP-35.keys-unique on reference (plaintext): violates"
    ]


def test_a_crash_has_its_own_word(tmp_path: Path) -> None:
    """A failure that ended the target "crashes", in its heading and in the summary, and no other failure does."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "PIN"})
    for key, verdict in ((key_of(), Verdict.VIOLATES), (key_of(OTHER), Verdict.INFORMATIONAL)):
        crash = example_of(
            verdict,
            key,
            message="this request crashes the target: panic",
            kind="TargetEnded",
            signature=OTHER_SIGNATURE,
        )
        recorder.judged(crash)
    recorder.judged(example_of(Verdict.VIOLATES, number=2, message="seen"))
    failing = [line for line in _failures(recorder) if line.startswith(("✕", "≈"))]
    assert failing == [
        "✕ KIP-35.keys-unique on reference (plaintext): crashes",
        "✕ KIP-35.keys-unique on reference (plaintext): violates",
        "≈ KIP-511.names-accepted on reference (plaintext): crashes",
    ]
    cells = [line.split(" | ")[-1] for line in summary_markdown(recorder).splitlines()[-4:-2]]
    assert cells == ["✕ crashes |", "≈ crashes |"]
    rows = [line for line in _table(recorder) if line.startswith("KIP-")]
    assert ["crashes" in row for row in rows] == [True, True]


def test_target_that_violates_everything_is_reported_in_part(tmp_path: Path) -> None:
    """Above a limit, further failures are only counted, and the location of the records is named."""
    keys = [key_of(target=f"target-{number}") for number in range(MAX_SHOWN + 3)]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key in keys:
        recorder.judged(example_of(Verdict.VIOLATES, key, message="seen"))
    lines = _failures(recorder)
    assert sum(line.startswith("  again:") for line in lines) == MAX_SHOWN
    assert lines[-1] == f"✕ 3 more with the verdict 'violates': see {recorder.writer.folder / 'failures'}"


def test_failures_of_a_client_with_one_cause_are_reported_once(tmp_path: Path) -> None:
    keys = [key_of(target="my-client"), key_of(OTHER, target="my-client")]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    recorder.target_started(dataclasses.replace(facts_of("my-client"), release=""))
    for number, key in enumerate([keys[0], keys[0], keys[1]]):
        message = f"the client loops on one connection: {number} requests"
        signature = f"{number:016x}"
        recorder.judged(example_of(Verdict.VIOLATES, key, message=message, role="client", signature=signature))
    lines = _failures(recorder)
    assert sum("violates" in line for line in lines) == 1
    assert any(f"2 further failures like it, of {CLAUSE}, {OTHER}" in line for line in lines)


def test_known_violation_says_why(tmp_path: Path) -> None:
    """A declared violation is shown with the reason of its own declaration, whatever else is declared for the cell."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="one; reason (link)")
    reason = "reason (link)"
    recorder.judged(example_of(Verdict.VIOLATES, message="seen", known_violation=reason))
    lines = _failures(recorder)
    assert lines[1] == "⚑ KIP-35.keys-unique on reference (plaintext): known"
    assert lines[2] == "  known because: reason (link)"


def test_unexpected_pass_is_news(tmp_path: Path) -> None:
    """A declared violation that is gone is shown with the declared reason."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="reason (link)")
    recorder.judged(example_of(Verdict.CONFORMS))
    assert _failures(recorder) == [
        "",
        "! KIP-35.keys-unique on reference: declared as violated, but not violated",
        "  declared because: reason (link)",
    ]


def test_interrupted_run_misses_no_declared_violation(tmp_path: Path) -> None:
    """A declared violation that had not been seen when the run was interrupted is not said to be gone."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"}, known_violation="KAFKA-1")
    recorder.judged(example_of(Verdict.CONFORMS))
    recorder.stop()
    assert recorder.cells[key_of()].verdict is Verdict.NOT_RUN
    assert not any("declared as violated" in line for line in _failures(recorder))


def test_doubt_is_explained_once_for_all_its_cells(tmp_path: Path) -> None:
    """A reason why cells are inconclusive is shown once, with the number of cells that it affects."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(OTHER): "MUST"})
    for key in recorder.cells:
        recorder.inconclusive(key, "test_something", "BrokerGone: it ended")
    assert _failures(recorder) == [
        "",
        "? 2 cells on reference inconclusive:",
        "  BrokerGone: it ended",
        "  clauses: KIP-35.keys-unique, KIP-511.names-accepted",
    ]


def test_stale_expectation_is_named(recorder: RunRecorder) -> None:
    """A declared violation that is out of date is named."""
    recorder.stale_expectations = ["reference declares KIP-0.gone, which is not in the catalogue"]
    assert _failures(recorder) == [
        "",
        "! stale expectation: reference declares KIP-0.gone, which is not in the catalogue",
    ]


def test_hostile_message_is_made_harmless(recorder: RunRecorder) -> None:
    """Control characters and characters that reverse text direction are shown escaped, and have no effect."""
    hostile = "\x1b]0;title\x07\x1b[2J\x00\x9b31m\u202egnp.exe [red]"
    recorder.judged(example_of(Verdict.VIOLATES, message=hostile))
    recorder.inconclusive(key_of(), "test_something", hostile)
    lines = _failures(recorder)
    assert all(line.isprintable() for line in lines)
    shown = r"\x1b]0;title\x07\x1b[2J\x00\x9b31m\u202egnp.exe [red]"
    assert f"  seen: {shown}" in lines
    assert f"  {shown}" in lines


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("message", ["seen", "seen " + "x" * 10_000, "\x1b" * 10_000, "日" * 10_000])
def test_a_failure_takes_twelve_rows_at_most(message: str, width: int, tmp_path: Path) -> None:
    """However long its texts are; of many exchanges the last ones are shown, as far as there is room."""
    keys = [CellKey(CLAUSE, "apache-kafka-3.9.2-zookeeper", name) for name in USUAL_LISTENERS]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key in keys:
        example = example_of(
            Verdict.VIOLATES,
            key,
            message=message,
            statement="The clause says so. " * 12,
            steps=(answered_step(),) * 50,
            repeats=Repeats(used=Tally(1, 1), fresh=Tally(1, 1), loaded=Tally(1, 1)),
        )
        recorder.judged(example)
    lines = [line for line in _failures(recorder, width) if line]
    assert sum(math.ceil(cell_len(line) / width) for line in lines) <= 12
    assert any("see exchange.txt" in line for line in lines)
    assert lines[-1].endswith(f"/failures/{SIGNATURE}")
    (seen,) = (line for line in lines if line.startswith("  seen: "))
    assert seen.endswith("… (complete in failure.json)") == (message != "seen")


def test_as_many_exchanges_are_shown_as_fit(recorder: RunRecorder) -> None:
    """In a wide terminal there is room for the last three."""
    steps = (answered_step(),) * 50
    recorder.judged(example_of(Verdict.VIOLATES, message="seen", steps=steps))
    lines = _failures(recorder, 300)
    assert "  47 exchanges before these: see exchange.txt" in lines
    assert sum(line.startswith("  got ") for line in lines) == 3


def test_long_declaration_and_reasons_are_shortened(tmp_path: Path) -> None:
    """Of a declaration, a doubt and what a cell leaves out, two rows or a few lines are shown."""
    keys = [key_of(f"KIP-1.clause-{number}") for number in range(100)]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"), known_violation="k" * 10_000)
    reason = "k" * 10_000
    recorder.judged(example_of(Verdict.VIOLATES, keys[0], message="seen", known_violation=reason))
    recorder.judged(example_of(Verdict.CONFORMS, keys[1]))
    recorder.note_left_out(keys[2], "v" * 10_000)
    for key in keys[3:]:
        recorder.inconclusive(key, "test_something", "w" * 10_000 + "\nline" * 100)
    blocks = "\n".join(_failures(recorder)).split("\n\n")
    assert len(blocks) == 4
    for block in blocks:
        assert sum(math.ceil(cell_len(line) / 80) for line in block.split("\n") if line) <= 12
    assert blocks[1].endswith("KIP-1.clause-9, KIP-1.clause-10 and 89 more")


def test_what_a_cell_leaves_out_is_reported_by_listener(tmp_path: Path) -> None:
    """A clause that is judged only partly on several listeners is one entry."""
    keys = [CellKey(CLAUSE, "reference", name) for name in ("ssl", "sasl_ssl")]
    recorder = recorder_for(tmp_path, dict.fromkeys(keys, "MUST"))
    for key, reason in zip(keys, ("one", "other"), strict=True):
        recorder.judged(example_of(Verdict.CONFORMS, key))
        recorder.note_left_out(key, reason)
    assert _failures(recorder) == [
        "",
        f"◐ {CLAUSE} on reference (ssl, sasl_ssl) is judged only partly:",
        "  ssl: one",
        "  sasl_ssl: other",
    ]


def test_remarks_about_a_client_stand_in_the_summary(tmp_path: Path) -> None:
    recorder = recorder_for(tmp_path, {key_of(): "MUST"})
    recorder.remarks["mine"] = "it names its software 'a\x1b[1m' to brokers"
    summary = summary_markdown(recorder)
    assert "Note on mine: it names its software" in summary
    assert "\x1b" not in summary


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
    assert first == ("- ? KIP-35.keys-unique, KIP-511.names-accepted on reference: BrokerGone: it \\*ended\\*")
    assert second.startswith("- ? KIP-511.names-accepted on reference: xxx")
    assert len(second) < 600
