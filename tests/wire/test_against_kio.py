"""Our bytes and our reading against kio, an independent codec, for valid messages of v0-v4.

kio runs in one child process for the whole module, as its native reader may abort. It refuses unknown tags
(0.6.5), so the messages here have none; the golden bytes have them.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.generated_messages import Layout, messages
from tests.wire.golden_bytes import plain_fields
from wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.headers import RequestHeader, ResponseHeader

NEWEST_VERSION_OF_KIO = 4
LAYOUTS = (
    *(Layout(ApiVersionsRequest, version) for version in range(NEWEST_VERSION_OF_KIO + 1)),
    *(Layout(ApiVersionsResponse, version) for version in range(NEWEST_VERSION_OF_KIO + 1)),
    *(Layout(RequestHeader, version) for version in (1, 2)),
    *(Layout(ResponseHeader, version) for version in (0, 1)),
)


class Kio:
    """The child process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes for its input and its output")
        self._process = process
        self._cases = process.stdin
        self._answers = process.stdout
        self.error_codes: Mapping[str, int] = self._answer()["error_codes"]

    def ask(self, layout: Layout, fields: Mapping[str, Any], encoded: bytes) -> dict[str, Any]:
        """Return what kio reads from the bytes, where it ends, and what it writes for the fields."""
        case = {
            "message": layout.message.__name__,
            "version": layout.version,
            "fields": fields,
            "hex": encoded.hex(),
        }
        self._cases.write(json.dumps(case) + "\n")
        self._cases.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise RuntimeError(f"kio's process ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@pytest.fixture(scope="module")
def kio() -> Iterator[Kio]:
    """Run kio in a process of its own, until the last test of this module."""
    program = Path(__file__).with_name("kio_child.py")
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


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@given(data=st.data())
def test_kio_reads_and_writes_the_same(kio: Kio, layout: Layout, data: st.DataObject) -> None:
    """Kio reads our bytes as our values up to their end, and writes our bytes for our values."""
    message = data.draw(messages(layout, unknown_tags=False))
    if isinstance(message, ApiVersionsResponse):
        code = data.draw(st.sampled_from(sorted(kio.error_codes.values())))
        message = dataclasses.replace(message, error_code=ErrorCode(code))
    encoded = encode(message, version=layout.version)
    fields = plain_fields(message, layout.version)
    answer = kio.ask(layout, fields, encoded)
    assert answer == {"fields": fields, "end": len(encoded), "hex": encoded.hex()}
    written_by_kio = bytes.fromhex(answer["hex"])
    assert decode(layout.message, written_by_kio, version=layout.version) == message


def test_kio_has_the_same_error_codes(kio: Kio) -> None:
    """Each code that kio knows has the same name in our table."""
    assert kio.error_codes.items() <= {each.name: int(each) for each in ErrorCode}.items()
    assert len(kio.error_codes) > 100
