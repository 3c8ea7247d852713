"""kio in its own process, because its native reader may abort: JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class KioProcess:
    """A running program of this folder that uses kio to answer.

    Attributes:
        greeting: its first line, written before any case.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes for its input and its output")
        self._process = process
        self._cases = process.stdin
        self._answers = process.stdout
        self.greeting = self._answer()

    def ask(self, case: object) -> dict[str, Any]:
        """Return the program's answer to a case."""
        self._cases.write(json.dumps(case) + "\n")
        self._cases.flush()
        answer: dict[str, Any] = self._answer()
        return answer

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line:
            raise RuntimeError(f"kio's process ended with status {self._process.wait()}")
        return json.loads(line)


@contextmanager
def kio_process(program: str) -> Iterator[KioProcess]:
    """Run a program of this folder for the duration of the block."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(program))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            yield KioProcess(process)
        finally:
            process.kill()
