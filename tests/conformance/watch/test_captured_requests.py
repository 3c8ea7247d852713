"""Bytes of a capture are a request, a response or TLS, or none of them: case by case."""

from __future__ import annotations

import struct

import pytest

from conformance.watch.captured_requests import (
    CapturedRequest,
    begins_with_request,
    is_tls,
    read_request,
    read_table,
    response_at,
)
from tests.conformance.watch.captured_traffic import TABLE, asking, request
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import RequestHeader


def payload(key: int, version: int, client_id: bytes = b"\0\4shop", *, rest: bytes = b"") -> bytes:
    """Return a request without its size, with these bytes as length and text of the client id."""
    return struct.pack(">hhi", key, version, 7) + client_id + rest


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(payload(3, 1), (3, 1, 7, "shop"), id="usual"),
        pytest.param(payload(3, 1, b"\xff\xff"), (3, 1, 7, None), id="null-client-id"),
        pytest.param(payload(3, 1, b"\0\0"), (3, 1, 7, None), id="empty-client-id"),
        pytest.param(payload(7, 0, b""), (7, 0, 7, None), id="no-client-id-in-that-version"),
        pytest.param(payload(7, 1, b""), None, id="no-client-id"),
        pytest.param(payload(-1, 1), None, id="negative-key"),
        pytest.param(payload(3, -1), None, id="negative-version"),
        pytest.param(payload(3, 1, b"\xff\xfe"), None, id="negative-length"),
        pytest.param(payload(3, 1, b"\0\5shop"), None, id="client-id-cut"),
        pytest.param(payload(3, 1, b"\0\1\xff"), None, id="client-id-no-text"),
        pytest.param(payload(3, 1)[:7], None, id="too-short"),
    ],
)
def test_the_fields_of_a_header_decide(
    data: bytes, expected: tuple[int, int, int, str | None] | None
) -> None:
    """Each field is one that a client could have sent, or the bytes are no request."""
    found = read_request(data, strictly=False)
    assert found == (None if expected is None else CapturedRequest(*expected))


@pytest.mark.parametrize(
    ("key", "version", "is_request"),
    [(0, 18, True), (0, 19, False), (4, 20, True), (4, 26, False), (999, 0, False)],
)
def test_apis_and_versions_are_ones_that_kafka_has_or_will_have_soon(
    key: int, version: int, is_request: bool
) -> None:
    """Where bytes may be anything, an unknown API, or a version that is far too new, makes them no request."""
    data = payload(key, version)
    assert (read_request(data, strictly=True) is not None) is is_request
    assert read_request(data, strictly=False) is not None


@pytest.mark.parametrize("version", [3, 5, 9])
def test_the_software_is_read_in_newer_versions_too(version: int) -> None:
    """The fields that name the software stay where they are."""
    header = RequestHeader(
        request_api_key=18, request_api_version=version, correlation_id=7, client_id="shop"
    )
    body = ApiVersionsRequest(client_software_name="my-app", client_software_version="1.2.3")
    body_version = min(version, NEWEST_VERSION)
    found = read_request(
        encode(header, version=2) + encode(body, version=body_version), strictly=False
    )
    assert found is not None
    assert found.software == ("my-app", "1.2.3")


def test_a_body_that_cannot_be_read_names_no_software() -> None:
    """The request counts all the same."""
    found = read_request(payload(18, 3, rest=b"\0\x7f"), strictly=False)
    assert found == CapturedRequest(18, 3, 7, "shop")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(request(3, 1, 1), True, id="usual"),
        pytest.param(request(3, 1, 1)[:11], False, id="header-cut"),
        pytest.param(request(3, 1, 1, "a\nb"), False, id="unprintable-client-id"),
        pytest.param(struct.pack(">i", 7) + payload(3, 1), False, id="size-too-small"),
        pytest.param(struct.pack(">i", 2**30) + payload(3, 1), False, id="size-too-large"),
        pytest.param(struct.pack(">i", 10) + payload(3, 1), False, id="client-id-over-the-end"),
    ],
)
def test_a_segment_begins_with_a_request_or_not(data: bytes, expected: bool) -> None:
    """After a hole, reading goes on only at what can be nothing else."""
    assert begins_with_request(data) is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (encode_frame(struct.pack(">i", 7)), 7),
        (struct.pack(">ii", 3, 7), None),
        (struct.pack(">ii", 2**30 + 1, 7), None),
        (struct.pack(">ii", 2**30, -7), -7),
        (struct.pack(">ii", 100, 7)[:7], None),
    ],
)
def test_a_segment_begins_with_a_response_or_not(data: bytes, expected: int | None) -> None:
    """A response has a size and a correlation id."""
    assert response_at(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x16\3\1\2", True),
        (b"\x17\3\3\0", True),
        (b"\x16\2\1\2", False),
        (b"\x13\3\1\2", False),
        (b"\x18\3\1", False),
        (b"\x16\3\5", False),
        (b"\x16\3", False),
    ],
)
def test_tls_is_recognized(data: bytes, expected: bool) -> None:
    """A record of TLS has its type and version in the first three bytes."""
    assert is_tls(data) is expected


def test_a_table_is_read_in_the_version_of_its_answer() -> None:
    """A broker that does not know the version answers in v0; what does not end with the response is no table."""
    whole = asking(1)[1][SIZE_BYTES:]
    assert read_table(whole, 3) == TABLE
    assert read_table(whole + b"\0", 3) == {}
    refused = struct.pack(">ihihhh", 1, 35, 1, 18, 0, 3)
    assert read_table(refused, 4) == {18: (0, 3)}
    assert read_table(refused, 99) == {18: (0, 3)}
    assert read_table(b"\0", 0) == {}
