"""Headers of requests and responses have their literal bytes."""

from __future__ import annotations

import pytest

from wire.codec import decode, encode
from wire.headers import (
    RequestHeader,
    ResponseHeader,
    correlation_id_bytes,
    read_correlation_id,
    read_error_code,
    read_request_start,
)
from wire.primitives import TaggedField

HEADER = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=7, client_id="probe")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(0, "0012 0003 00000007", id="v0"),
        pytest.param(1, "0012 0003 00000007 0005 70726f6265", id="v1"),
        pytest.param(2, "0012 0003 00000007 0005 70726f6265 00", id="v2"),
    ],
)
def test_request_header_has_its_literal_bytes(version: int, expected: str) -> None:
    """The client id has a two-byte length, even in a flexible header."""
    assert encode(HEADER, version=version) == bytes.fromhex(expected)


def test_request_header_without_client_id_reads_as_the_default() -> None:
    """Version 0 has no client id; decoding returns Kafka's default, the empty string."""
    assert decode(RequestHeader, bytes.fromhex("0012 0000 00000007"), version=0).client_id == ""


@pytest.mark.parametrize(
    ("client_id", "expected"),
    [pytest.param(None, "ffff", id="null"), pytest.param("", "0000", id="empty")],
)
def test_null_and_empty_client_id_differ(client_id: str | None, expected: str) -> None:
    """A null client id is -1 on the wire, an empty one 0."""
    header = RequestHeader(request_api_key=0, request_api_version=0, correlation_id=0, client_id=client_id)
    encoded = encode(header, version=1)
    assert encoded[8:] == bytes.fromhex(expected)
    assert decode(RequestHeader, encoded, version=1) == header


@pytest.mark.parametrize(
    ("version", "expected"),
    [pytest.param(0, "00000007", id="v0"), pytest.param(1, "00000007 01 02 01 ff", id="v1")],
)
def test_response_header_has_its_literal_bytes(version: int, expected: str) -> None:
    """Only version 1 of the response header has a tag section."""
    header = ResponseHeader(correlation_id=7, unknown_tagged_fields=(TaggedField(2, b"\xff"),))
    assert encode(header, version=version) == bytes.fromhex(expected)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("0012 0003 80000007 0001 61", (18, 3, -(2**31) + 7)),
        ("ffff fffe", (-1, -2, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_start_of_a_request_is_read(payload: str, expected: tuple[int, int, int]) -> None:
    """Key, version and correlation id are signed; absent numbers read as 0."""
    assert read_request_start(bytes.fromhex(payload)) == expected


@pytest.mark.parametrize(
    ("payload", "correlation_id", "error_code"),
    [
        ("00000007 0023 ff", 7, 35),
        ("ffffffff ffff", -1, -1),
        ("00000007 00", 7, None),
        ("000007", None, None),
        ("", None, None),
    ],
)
def test_start_of_a_response_is_read(payload: str, correlation_id: int | None, error_code: int | None) -> None:
    """Correlation id and error code are signed, and None if the response is too short."""
    data = bytes.fromhex(payload)
    assert read_correlation_id(data) == correlation_id
    assert read_error_code(data) == error_code


def test_response_echoes_the_bytes_of_the_correlation_id() -> None:
    """The correlation id of a request is its bytes 4 to 7."""
    assert correlation_id_bytes(bytes.fromhex("0012 0003 00000007 ffff")) == b"\0\0\0\x07"
