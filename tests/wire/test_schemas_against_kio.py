"""Messages made from the schemas against kio, an implementation that shares no code with ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.message_schemas import api_catalogue
from tests.wire.filled_messages import filled_message
from wire.codec import encode

FEWEST_MESSAGES = 500
"""kio 0.6 knows some 600 requests and responses that the jars describe too."""


class Kio:
    """kio in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._cases = process.stdin
        self._answers = process.stdout
        self.messages = [tuple(each) for each in self._answer()]

    def ask(self, path: str, data: bytes) -> dict[str, Any]:
        """Return where the message ends that kio reads, and what it writes for it."""
        self._cases.write(json.dumps([path, data.hex()]) + "\n")
        self._cases.flush()
        answer: dict[str, Any] = self._answer()
        return answer

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line:
            raise RuntimeError(f"kio's process ended with status {self._process.wait()}")
        return json.loads(line)


@pytest.fixture(scope="module")
def kio() -> Iterator[Kio]:
    """Run kio until the last test of this module."""
    program = Path(__file__).with_name("kio_schema_child.py")
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            yield Kio(process)
        finally:
            process.kill()


@pytest.mark.parametrize("filled", [False, True], ids=["defaults", "every-field"])
def test_kio_reads_our_bytes_and_writes_them_again(kio: Kio, filled: bool) -> None:
    """Of each message that both know, kio reads our bytes to their end and writes the same for what it read."""
    compared, different = 0, {}
    for api_key, version, half, path in kio.messages:
        api = api_catalogue().find(api_key, version)
        if api is None:
            continue
        message = getattr(api, half)
        data = encode(filled_message(message, version) if filled else message(), version=version)
        answer = kio.ask(path, data)
        compared += 1
        if answer != {"end": len(data), "hex": data.hex()}:
            different[path] = answer
    assert different == {}
    assert compared >= FEWEST_MESSAGES
