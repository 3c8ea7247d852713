"""The symbol and the short word of each verdict: the same in the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Mapping

from reports.records import Verdict

SYMBOLS: Mapping[Verdict, str] = {
    Verdict.CONFORMS: "✓",
    Verdict.INFORMATIONAL: "≈",
    Verdict.VIOLATES: "✕",
    Verdict.KNOWN_VIOLATION: "⚑",
    Verdict.UNEXPECTED_PASS: "!",
    Verdict.NOT_APPLICABLE: "–",
    Verdict.FLAKY: "~",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_RUN: "○",
}
"""Verdict to the one character that stands for it."""

WORDS: Mapping[Verdict, str] = {
    Verdict.CONFORMS: "conforms",
    Verdict.INFORMATIONAL: "informational",
    Verdict.VIOLATES: "violates",
    Verdict.KNOWN_VIOLATION: "known",
    Verdict.UNEXPECTED_PASS: "unexpected pass",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.FLAKY: "flaky",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_RUN: "not run",
}
"""Verdict to its short word."""


def counted(number: int, noun: str) -> str:
    """Say how many of something there are: "1 clause", "1,234 clauses"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
