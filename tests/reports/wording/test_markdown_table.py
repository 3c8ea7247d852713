"""Tests of tables in Markdown."""

from __future__ import annotations

from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import markdown_table, table_row


def test_table_has_a_head_and_a_line_for_each_row() -> None:
    assert markdown_table(("clause", "level"), [("A.one", "MUST"), ("A.two", "")]) == [
        "| clause | level |",
        "|---|---|",
        "| A.one | MUST |",
        "| A.two |  |",
    ]


def test_pipe_ends_no_cell() -> None:
    assert table_row(["`a|b`", markdown_text("c|d")]) == r"| `a\|b` | c\|d |"
