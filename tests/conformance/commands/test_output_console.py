"""What a command prints can be searched line by line if it is piped."""

from __future__ import annotations

import pytest

from conformance.commands.output_console import output_console
from reports.document.blocks import TextTable
from reports.document.terminal_form import show


def test_no_line_is_broken_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    names = ", ".join(f"name-{number}" for number in range(300))
    output_console().print(names)
    show(output_console(), TextTable(columns=("id", "names"), rows=(("x", names),)))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [names, "id  names", f"x   {names}"]
