"""The brokers that a response names after its records are hidden."""

from __future__ import annotations

import pytest

from tests.upgrade.watching.relay import (
    PRODUCE,
)
from upgrade.watching.hidden_endpoints import UNKNOWN_TAG, EndpointHider, names_endpoints

ENDPOINTS = bytes.fromhex("02 00000007 02 68 00002384 00 00")
"""NodeEndpoints with one broker: node id 7, host "h", port 9092, no rack."""
FETCH_17 = (
    bytes.fromhex("000000000000000000000002")
    + bytes(16)
    + bytes.fromhex("02000000000006000000000000000000000000000000000000000000000000")
    + bytes.fromhex("020000000000000001000000000000000200ffffffff040102030000")
)
"""A Fetch response v17 after its correlation id, up to the tags: one topic, one partition, one aborted transaction,
three bytes of records."""
PRODUCE_10 = (
    bytes.fromhex("00 02 02 74 02 00000000 0006") + bytes(24) + bytes.fromhex("02 00000001 00 00 00 00 00 00000000")
)
"""A Produce response v10 after its correlation id, up to the tags: one topic "t", one partition, one record error."""
CASES = {"fetch": (1, 17, FETCH_17), "produce": (PRODUCE, 10, PRODUCE_10)}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("case", CASES)
def test_brokers_after_the_records_are_hidden(case: str, size: int) -> None:
    """The tag of the brokers gets another number, however the response is cut; every other byte stays."""
    api_key, version, start = CASES[case]
    body = start + b"\x01\x00" + bytes([len(ENDPOINTS)]) + ENDPOINTS
    hider = EndpointHider(api_key, version)
    passed = b"".join(bytes(hider.feed(body[at : at + size])) for at in range(0, len(body), size))
    expected = bytearray(body)
    expected[len(start) + 1] = UNKNOWN_TAG
    assert passed == expected


@pytest.mark.parametrize("case", CASES)
def test_a_response_without_brokers_is_passed_as_it_is(case: str) -> None:
    """Without the tag nothing changes, also not in what follows."""
    api_key, version, start = CASES[case]
    hider = EndpointHider(api_key, version)
    assert hider.feed(start + b"\x00") == start + b"\x00"
    assert hider.feed(b"\x00\x01\x00") == b"\x00\x01\x00"


def test_only_newer_versions_name_brokers() -> None:
    """Produce names brokers since v10, Fetch since v16, and no other API after its records."""
    named = {(key, version) for key in (0, 1, 3) for version in range(30) if names_endpoints(key, version)}
    assert named == {(0, 10), (0, 11), (0, 12), (0, 13), (1, 16), (1, 17), (1, 18)}
