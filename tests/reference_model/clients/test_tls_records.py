"""Bytes that are no TLS record are found, however the bytes arrive.

They may begin anywhere in the stream.
"""

from __future__ import annotations

import pytest

from reference_model.clients.scripts.tls_records import TlsRecords

HELLO = bytes.fromhex("16 0301 0004 01000000")
"""A record that is as long as it says."""
REQUEST = bytes.fromhex("0000000a 0012 0000 00000007 ffff")
"""ApiVersions v0."""
OTHER_VERSION = bytes.fromhex("16 5454 0004 01000000")
"""The type of a record, and no version of TLS."""


@pytest.mark.parametrize(
    ("data", "unencrypted"),
    [
        pytest.param(HELLO, b"", id="record"),
        pytest.param(HELLO[:3], b"", id="part-of-a-header"),
        pytest.param(HELLO + bytes.fromhex("17 0303 0000"), b"", id="empty-record"),
        pytest.param(REQUEST, REQUEST, id="request"),
        pytest.param(HELLO + REQUEST, REQUEST, id="request-during-the-handshake"),
        pytest.param(OTHER_VERSION, OTHER_VERSION, id="no-version-of-tls"),
    ],
)
def test_bytes_that_are_no_record_are_found(data: bytes, unencrypted: bytes) -> None:
    """Everything from the first byte on that begins no record is returned."""
    assert TlsRecords().unencrypted(data) == unencrypted


@pytest.mark.parametrize(("data", "first"), [(HELLO * 2, b""), (HELLO + REQUEST, b"\0")])
def test_bytes_may_come_one_by_one(data: bytes, first: bytes) -> None:
    """Nothing is found too early, and a request at its first byte."""
    records = TlsRecords()
    found = [records.unencrypted(data[at : at + 1]) for at in range(len(data))]
    assert next(filter(None, found), b"") == first


def test_header_in_two_pieces_may_turn_out_to_be_none() -> None:
    """The bytes that were taken before are returned as well."""
    records = TlsRecords()
    assert records.unencrypted(OTHER_VERSION[:1]) == b""
    assert records.unencrypted(OTHER_VERSION[1:]) == OTHER_VERSION
