"""A fake `gh` that returns scripted output and records its calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
answers = json.loads((here / "answers.json").read_text())
name = " ".join(sys.argv[1:3])
if name not in answers:
    sys.exit(f"HTTP 403: {{name}} is forbidden")
print(answers[name])
"""


class FakeGh:
    """The fake program, which can be put first on PATH."""

    def __init__(self, folder: Path, answers: Mapping[str, Any]) -> None:
        """Write the program.

        Args:
            folder: its folder, which must be new.
            answers: what to print, by the first two arguments; JSON unless it is a text. Other calls fail.
        """
        folder.mkdir()
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in answers.items()}
        (folder / "answers.json").write_text(json.dumps(texts))
        program = folder / "gh"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
        self.folder = folder

    def put_on_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the program first on PATH."""
        monkeypatch.setenv("PATH", str(self.folder), prepend=":")

    @property
    def calls(self) -> list[list[str]]:
        """Return the arguments of each call."""
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
