"""How Kafka's parser reads a request: the values that decisions depend on."""

from __future__ import annotations

import pytest

from reference_model.broker.rules.request_parser import (
    ParsedBody,
    ParsedHeader,
    Unreadable,
    gets_no_response,
    parse_body,
    parse_header,
    read_varint_as_int32,
)
from reference_model.profiles.profile import traits_of

TRAITS = traits_of("4.3.1")
V3 = "0012 0003 ffffffff 0001 61"


def header_of(payload: str) -> ParsedHeader:
    """Parse the header of a payload in hexadecimal, as 4.3 does."""
    return parse_header(memoryview(bytes.fromhex(payload)), TRAITS)


def body_of(payload: str) -> ParsedBody:
    """Parse header and body of a payload in hexadecimal, as 4.3 does."""
    data = memoryview(bytes.fromhex(payload))
    return parse_body(data, parse_header(data, TRAITS), TRAITS)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", 0),
        ("7f", 127),
        ("8001", 128),
        ("8000", 0),
        ("ffffffff07", 2**31 - 1),
        ("8080808008", -(2**31)),
        ("ffffffff0f", -1),
        ("ffffffff7f", -1),
        ("8080808010", 0),
        ("8480808070", 4),
    ],
)
def test_varint_is_a_java_int(data: str, value: int) -> None:
    """A varint is a signed 32-bit number; higher bits are dropped, and bytes after it are not read."""
    raw = bytes.fromhex(data)
    assert read_varint_as_int32(memoryview(b"\xff" + raw + b"\xff"), 1) == (value, 1 + len(raw))


@pytest.mark.parametrize("data", ["", "80", "ffffffff", "808080808000", "ffffffffff"])
def test_varint_without_an_end_is_unreadable(data: str) -> None:
    """A varint must end before the data does, and within five bytes."""
    with pytest.raises(Unreadable, match="varint"):
        read_varint_as_int32(memoryview(bytes.fromhex(data)), 0)


@pytest.mark.parametrize(
    ("payload", "client_id", "tag_count", "body_offset"),
    [
        pytest.param(f"{V3} 00 aa", "a", 0, 12, id="no-tags"),
        pytest.param(f"{V3} 02 6400 6501ff aa", "a", 2, 17, id="two-tags"),
        pytest.param(f"{V3} ffffffff0f aa", "a", 0, 16, id="minus-one-tags"),
        pytest.param("0012 0003 ffffffff ffff 00", None, 0, 11, id="null-client-id"),
        pytest.param("0012 0003 ffffffff 8000 00", None, 0, 11, id="negative-client-id"),
        pytest.param("0012 0003 ffffffff 0002 ff61 00", "\ufffda", 0, 13, id="replaced-bytes"),
    ],
)
def test_header_is_read_with_its_tags(payload: str, client_id: str | None, tag_count: int, body_offset: int) -> None:
    """The parsed header has the values in the bytes, the number of tags, and the offset of the body."""
    assert header_of(payload) == ParsedHeader(
        api_key=18,
        api_version=3,
        correlation_id=-1,
        client_id=client_id,
        tag_count=tag_count,
        body_offset=body_offset,
    )


@pytest.mark.parametrize(
    ("payload", "tag_count", "body_offset"),
    [
        pytest.param("0003 0008 00000007 0001 61 00", 0, 11, id="metadata-v8"),
        pytest.param("0003 0009 00000007 0001 61 01 0000", 1, 14, id="metadata-v9"),
        pytest.param("0010 0002 00000007 0001 61 01 0000", 0, 11, id="list-groups-v2"),
        pytest.param("0010 0003 00000007 0001 61 01 0000", 1, 14, id="list-groups-v3"),
        pytest.param("003c 0000 00000007 0001 61 01 0000", 1, 14, id="describe-cluster-v0"),
        pytest.param("0000 000c 00000007 0001 61 01 0000", 0, 11, id="produce-is-not-looked-at"),
    ],
)
def test_other_apis_that_only_read_have_a_flexible_header(payload: str, tag_count: int, body_offset: int) -> None:
    """The tags in the header of an API that only reads are counted; the header of any other is read as v1."""
    header = header_of(payload)
    assert (header.tag_count, header.body_offset) == (tag_count, body_offset)


def test_unreadable_tags_of_another_api_are_refused() -> None:
    """A tag section that cannot be read makes the header unreadable, whatever the API."""
    with pytest.raises(Unreadable):
        header_of("0003 0009 00000007 0001 61 8080808080 00")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(f"{V3} 00 0262 0331ff 00 ffff", ("b", "1\ufffd", None, -1, 18), id="v3"),
        pytest.param(
            "0012 0005 00000007 ffff 00 0262 0231 0378ff 00000009 00",
            ("b", "1", "x\ufffd", 9, 23),
            id="v5",
        ),
        pytest.param(
            "0012 0005 00000007 ffff 00 0262 0231 ffffffff0f ffffffff 01 6401ff",
            ("b", "1", None, -1, 28),
            id="v5-cluster-null-by-minus-1",
        ),
    ],
)
def test_body_is_read_to_its_end(payload: str, expected: tuple[object, ...]) -> None:
    """The parsed body has names and ids, and ends after its tags, whatever follows."""
    body = body_of(payload)
    found = (
        body.client_software_name,
        body.client_software_version,
        body.cluster_id,
        body.node_id,
        body.end,
    )
    assert found == expected


@pytest.mark.parametrize(
    ("payload", "is_silent"),
    [
        pytest.param("0000 0002 00000007 ffff 0000 000003e8 00000000", True, id="v2"),
        pytest.param("0000 0003 00000007 ffff ffff 0000 000003e8 00000000", True, id="v3"),
        pytest.param("0000 000d 00000007 ffff 00 00 0000 000003e8 01 00", True, id="v13"),
        pytest.param("0000 0003 00000007 ffff ffff 0001 000003e8 00000000", False, id="acks-1"),
        pytest.param("0000 0003 00000007 ffff ffff 0000 000003e8 00000001", False, id="a-topic"),
        pytest.param("0001 0002 00000007 ffff 0000 000003e8 00000000", False, id="Fetch"),
    ],
)
def test_produce_with_acks_0_gets_no_response(payload: str, is_silent: bool) -> None:
    """Only a request that writes nothing is sure to leave the connection open."""
    data = memoryview(bytes.fromhex(payload))
    assert gets_no_response(data, parse_header(data, TRAITS)) is is_silent
