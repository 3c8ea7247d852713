"""Messages made from the schemas compared with kio, which shares no code with ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.artefacts.message_schemas import api_catalogue
from tests.wire.filled_messages import filled_message
from tests.wire.kio_process import KioProcess, kio_process
from wire.codec import encode

FEWEST_MESSAGES = 500
"""kio 0.6 and the jars have some 600 requests and responses in common."""


@pytest.fixture(scope="module")
def kio() -> Iterator[KioProcess]:
    """Run kio until the last test of this module."""
    with kio_process("kio_schema_child.py") as process:
        yield process


@pytest.mark.parametrize("filled", [False, True], ids=["defaults", "every-field"])
def test_kio_reads_our_bytes_and_writes_them_again(kio: KioProcess, filled: bool) -> None:
    """Of each common message, kio reads our bytes to their end and writes the same bytes again."""
    compared, different = 0, {}
    for api_key, version, half, path in kio.greeting:
        api = api_catalogue().find(api_key, version)
        if api is None:
            continue
        message = getattr(api, half)
        data = encode(filled_message(message, version) if filled else message(), version=version)
        answer = kio.ask([path, data.hex()])
        compared += 1
        if answer != {"end": len(data), "hex": data.hex()}:
            different[path] = answer
    assert different == {}
    assert compared >= FEWEST_MESSAGES
