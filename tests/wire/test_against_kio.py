"""Our codec compared with kio, an independent one, for valid messages of v0-v4.

kio refuses unknown tags (0.6.5), so these messages have none. The golden bytes have some.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.generated_messages import Layout, messages
from tests.wire.golden_bytes import plain_fields
from tests.wire.kio_process import KioProcess, kio_process
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


@pytest.fixture(scope="module")
def kio() -> Iterator[KioProcess]:
    """Run kio until the last test of this module."""
    with kio_process("kio_child.py") as process:
        yield process


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@given(data=st.data())
def test_kio_reads_and_writes_the_same(
    kio: KioProcess, layout: Layout, data: st.DataObject
) -> None:
    """Kio decodes our bytes to the same values and end, and encodes our values to the same bytes."""
    message = data.draw(messages(layout, unknown_tags=False))
    if isinstance(message, ApiVersionsResponse):
        code = data.draw(st.sampled_from(sorted(kio.greeting["error_codes"].values())))
        message = dataclasses.replace(message, error_code=ErrorCode(code))
    encoded = encode(message, version=layout.version)
    fields = plain_fields(message, layout.version)
    case = {"message": layout.message.__name__, "version": layout.version, "fields": fields}
    answer = kio.ask(case | {"hex": encoded.hex()})
    assert answer == {"fields": fields, "end": len(encoded), "hex": encoded.hex()}
    written_by_kio = bytes.fromhex(answer["hex"])
    assert decode(layout.message, written_by_kio, version=layout.version) == message


def test_kio_has_the_same_error_codes(kio: KioProcess) -> None:
    """Each code that kio knows has the same name in our table."""
    theirs = kio.greeting["error_codes"]
    assert theirs.items() <= {each.name: int(each) for each in ErrorCode}.items()
    assert len(theirs) > 100
