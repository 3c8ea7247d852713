"""Messages made from the schemas agree with kio, which shares no code with ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.artefacts.schema_jars import api_catalogue
from tests.described_apis import described_api
from tests.wire.filled_messages import filled_message
from wire.codec import encode
from wire.message_schemas import snake_case

MIN_MESSAGES = 500
"""kio 0.6 and the jars have some 600 requests and responses in common."""


@pytest.mark.parametrize("filled", [False, True], ids=["defaults", "every-field"])
def test_kio_reads_our_bytes_and_writes_them_again(filled: bool) -> None:
    """Of each common message, kio reads our bytes to their end and writes the same bytes again."""
    cases = []
    for api_key in {each.api_key for each in api_catalogue()}:
        for version in api_catalogue().versions_of(api_key):
            api = described_api(api_key, version)
            for half, message in (("request", api.request), ("response", api.response)):
                value = filled_message(message, version) if filled else message()
                data = encode(value, version=version).hex()
                cases.append((snake_case(api.name), version, half, data))
    program = Path(__file__).with_name("kio_schema_child.py")
    done = subprocess.run(
        [sys.executable, str(program)],
        input="\n".join(map(json.dumps, cases)),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = list(map(json.loads, done.stdout.splitlines()))
    known = [(case, answer) for case, answer in zip(cases, answers, strict=True) if answer]
    assert [(case, got) for case, got in known if got != [len(case[-1]) // 2, case[-1]]] == []
    assert len(known) >= MIN_MESSAGES
