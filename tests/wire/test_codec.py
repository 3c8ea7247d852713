"""Tests of the codec: decoder contract, round trips, traces and `raw`.

The decoder contract is checked for every message and version.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.decoder_contract import AROUND, attempt, contract_breaches
from tests.wire.generated_messages import LAYOUTS, MessageLayout, messages
from wire.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import TAG_SECTION, Span, decode, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError, EncodeError, TrailingBytes
from wire.fields import FieldType
from wire.primitives import TaggedField, write_raw_tagged_fields

FEW = settings(max_examples=25)
"""The layouts share one codec, so that each rule still sees 500 messages."""
EACH_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
FLEXIBLE_LAYOUTS = [layout for layout in LAYOUTS if layout.version in layout.message.FLEXIBLE]


def _encoded(layout: MessageLayout, data: st.DataObject) -> tuple[Any, bytes]:
    message = data.draw(messages(layout))
    return message, encode(message, version=layout.version)


@EACH_LAYOUT
@FEW
@given(data=st.data())
def test_message_keeps_the_decoder_contract(layout: MessageLayout, data: st.DataObject) -> None:
    """Every message decodes to itself, and no part of its bytes decodes to a message."""
    message, encoded = _encoded(layout, data)
    assert contract_breaches(layout.read, encoded, message) == []


@EACH_LAYOUT
@FEW
@given(data=st.data(), behind=st.binary(min_size=1, max_size=3))
def test_bytes_after_a_message_are_refused(layout: MessageLayout, data: st.DataObject, behind: bytes) -> None:
    """Decoding exactly one message accepts its bytes and blames any that follow."""
    message, encoded = _encoded(layout, data)
    assert decode(layout.message, encoded, version=layout.version) == message
    with pytest.raises(TrailingBytes) as caught:
        decode(layout.message, encoded + behind, version=layout.version)
    assert (caught.value.start, caught.value.end) == (len(encoded), len(encoded + behind))
    assert caught.value.field_path == ""


def _damaged(encoded: bytes, data: st.DataObject) -> bytes:
    start = data.draw(st.integers(0, len(encoded)))
    end = data.draw(st.integers(start, min(start + 3, len(encoded))))
    inside = data.draw(st.binary(max_size=3) | st.sampled_from([AROUND, b"\xff" * 4]))
    return encoded[:start] + inside + encoded[end:]


def _sorted_tags(message: Any) -> Any:
    """Return the message with its unknown tags ascending, as they are written."""
    values = {}
    for each in message.FIELDS:
        value = getattr(message, each.name)
        if each.type is FieldType.ARRAY and value is not None:
            value = tuple(_sorted_tags(element) for element in value)
        values[each.name] = value
    tags = tuple(sorted(message.unknown_tagged_fields))
    return dataclasses.replace(message, **values, unknown_tagged_fields=tags)


@EACH_LAYOUT
@FEW
@given(data=st.data())
def test_damaged_message_is_refused_inside_its_bytes_or_understood(layout: MessageLayout, data: st.DataObject) -> None:
    """Damaged bytes raise an error that blames some of them, or decode to a message that can be encoded."""
    damaged = _damaged(_encoded(layout, data)[1], data)
    outcome = attempt(layout.read, damaged)
    if isinstance(outcome, DecodeError):
        assert 0 <= outcome.start <= outcome.end <= len(damaged)
        assert outcome.field_path
    else:
        message, end = outcome
        assert 0 <= end <= len(damaged)
        again = encode(message, version=layout.version)
        assert decode(layout.message, again, version=layout.version) == _sorted_tags(message)


def _value_at(message: Any, path: str) -> Any:
    """Return the value at a span's path in the decoded message."""
    for step in re.findall(r"[a-z0-9_]+|\[\d+\]", path):
        message = message[int(step[1:-1])] if step[0] == "[" else getattr(message, step)
    return message


def _span_differences(message: Any, spans: list[Span]) -> list[str]:
    """Return the spans whose value differs from the message's value at their path."""
    differences = []
    for span in spans:
        owner, _, name = span.field_path.rpartition(".")
        path = span.field_path
        if name == TAG_SECTION:
            expected: Any = len(_value_at(message, owner).tag_order)
        elif name.startswith(TAG_SECTION):
            expected = _value_at(message, path.replace(TAG_SECTION, "tag_order"))
        else:
            expected = _value_at(message, path)
            if isinstance(expected, TaggedField):
                expected = expected.data
            elif isinstance(expected, tuple):
                expected = len(expected)
        if span.value != expected:
            differences.append(f"{span}: {expected!r}")
    return differences


@EACH_LAYOUT
@FEW
@given(data=st.data())
def test_trace_covers_every_byte_once(layout: MessageLayout, data: st.DataObject) -> None:
    """The spans of a trace cover the bytes from first to last without a gap, and name each value."""
    message, encoded = _encoded(layout, data)
    spans: list[Span] = []
    decoded = decode(layout.message, encoded, version=layout.version, trace=spans)
    assert decoded == message
    bounds = [0, *(span.end for span in spans)]
    assert [span.start for span in spans] == bounds[:-1]
    assert bounds[-1] == len(encoded)
    assert len({span.field_path for span in spans}) == len(spans)
    assert _span_differences(decoded, spans) == []


def test_trace_has_its_literal_spans() -> None:
    """The trace of one response is the list written out here."""
    encoded = bytes.fromhex("0023 02 0012 0000 0005 00 00000001 02 01 08 0000000000000009 8001 02 abcd")
    spans: list[Span] = []
    decode(ApiVersionsResponse, encoded, version=3, trace=spans)
    assert spans == [
        Span("error_code", 0, 2, ErrorCode.UNSUPPORTED_VERSION),
        Span("api_keys", 2, 3, 1),
        Span("api_keys[0].api_key", 3, 5, 18),
        Span("api_keys[0].min_version", 5, 7, 0),
        Span("api_keys[0].max_version", 7, 9, 5),
        Span("api_keys[0].tagged_fields", 9, 10, 0),
        Span("throttle_time_ms", 10, 14, 1),
        Span("tagged_fields", 14, 15, 2),
        Span("tagged_fields[0]", 15, 17, 1),
        Span("finalized_features_epoch", 17, 25, 9),
        Span("tagged_fields[1]", 25, 28, 128),
        Span("unknown_tagged_fields[0]", 28, 30, b"\xab\xcd"),
    ]


def test_trace_of_wrong_bytes_ends_before_them() -> None:
    """The trace has everything that was read before an error."""
    spans: list[Span] = []
    with pytest.raises(DecodeError):
        decode(ApiVersionsResponse, bytes.fromhex("0000 00000001 0012 00"), version=0, trace=spans)
    assert [(span.field_path, span.end) for span in spans] == [
        ("error_code", 2),
        ("api_keys", 6),
        ("api_keys[0].api_key", 8),
    ]


@pytest.mark.parametrize("layout", FLEXIBLE_LAYOUTS, ids=str)
@FEW
@given(data=st.data())
def test_tags_are_understood_in_any_order(layout: MessageLayout, data: st.DataObject) -> None:
    """Tags in any order decode to the same fields, and `tag_order` keeps the order."""
    message, encoded = _encoded(layout, data)
    spans: list[Span] = []
    decode(layout.message, encoded, version=layout.version, trace=spans)
    section = next(span for span in spans if span.field_path == TAG_SECTION)
    headers = [span for span in spans if re.fullmatch(r"tagged_fields\[\d+\]", span.field_path)]
    bounds = [*(span.start for span in headers), len(encoded)]
    fields = [
        TaggedField(header.value, encoded[header.end : end]) for header, end in zip(headers, bounds[1:], strict=True)
    ]
    shuffled = tuple(data.draw(st.permutations(fields)))
    moved = encoded[: section.start] + write_raw_tagged_fields(shuffled)
    decoded = decode(layout.message, moved, version=layout.version)
    assert decoded.tag_order == tuple(each.tag for each in shuffled)
    assert decoded.unknown_tagged_fields == tuple(each for each in shuffled if each in message.unknown_tagged_fields)
    assert encode(decoded, version=layout.version) == encoded


def test_unknown_tags_are_kept_and_written_back_ascending() -> None:
    """Unknown tags of a message and of its elements are kept, with their bytes."""
    encoded = bytes.fromhex("0000 02 0012 0000 0005 02 09 01 aa 03 00 00000000 02 30 02 0001 05 00")
    decoded = decode(ApiVersionsResponse, encoded, version=4)
    assert decoded.unknown_tagged_fields == (TaggedField(48, b"\0\1"), TaggedField(5, b""))
    assert decoded.tag_order == (48, 5)
    assert decoded.api_keys[0].unknown_tagged_fields == (
        TaggedField(9, b"\xaa"),
        TaggedField(3, b""),
    )
    assert decoded.api_keys[0].tag_order == (9, 3)
    assert encode(decoded, version=4) == bytes.fromhex(
        "0000 02 0012 0000 0005 02 03 00 09 01 aa 00000000 02 05 00 30 02 0001"
    )


def test_default_that_stands_in_a_tag_is_read_and_not_written() -> None:
    """A tagged field that carries its default is read but not written; `tag_order` shows it was there."""
    encoded = bytes.fromhex("0000 01 00000000 01 03 01 00")
    decoded = decode(ApiVersionsResponse, encoded, version=3)
    assert decoded == ApiVersionsResponse(error_code=ErrorCode.NONE)
    assert decoded.tag_order == (3,)
    assert encode(decoded, version=3) == bytes.fromhex("0000 01 00000000 00")


def test_fields_that_a_version_lacks_are_left_out() -> None:
    """A message with more fields than the version has is written without the others."""
    request = ApiVersionsRequest(
        client_software_name="a",
        client_software_version="b",
        cluster_id="c",
        node_id=1,
        unknown_tagged_fields=(TaggedField(9, b""),),
    )
    assert encode(request, version=2) == b""
    assert encode(request, version=4) == bytes.fromhex("0261 0262 01 09 00")


FULL = ApiVersionsResponse(
    error_code=ErrorCode.NONE,
    api_keys=(ApiVersion(api_key=18, min_version=0, max_version=5),),
    finalized_features_epoch=1,
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({}, "0000 02 0012 0000 0005 00 00000000 01 01 08 0000000000000001", id="none"),
        pytest.param({"error_code": b"\xee"}, "ee 02 0012 0000 0005 00 00000000 01 01 08 0000000000000001", id="number"),
        pytest.param({"api_keys": b"", "throttle_time_ms": b"\x01\x02"}, "0000 0102 01 01 08 0000000000000001", id="two-fields"),
        pytest.param({TAG_SECTION: b"\x07"}, "0000 02 0012 0000 0005 00 00000000 07", id="tag-section"),
        pytest.param({TAG_SECTION: b""}, "0000 02 0012 0000 0005 00 00000000", id="no-tag-section"),
        pytest.param({"finalized_features_epoch": b"\xff"}, "0000 02 0012 0000 0005 00 00000000 01 01 01 ff", id="tagged-field"),
        pytest.param(
            {"zk_migration_ready": b""},
            "0000 02 0012 0000 0005 00 00000000 02 01 08 0000000000000001 03 00",
            id="tagged-field-with-default",
        ),
    ],
)  # fmt: skip
def test_raw_replaces_the_bytes_of_a_field(raw: dict[str, bytes], expected: str) -> None:
    """Raw bytes replace a field's bytes, and the caller's mapping is not changed."""
    given_raw = dict(raw)
    assert encode(FULL, version=3, raw=raw) == bytes.fromhex(expected)
    assert raw == given_raw


@EACH_LAYOUT
@FEW
@given(data=st.data(), junk=st.binary(max_size=4))
def test_raw_replaces_exactly_one_untagged_field(layout: MessageLayout, data: st.DataObject, junk: bytes) -> None:
    """Raw bytes of a field change no byte before or after it."""
    message, encoded = _encoded(layout, data)
    names = [each.name for each in layout.message.FIELDS if layout.version in each.versions and each.tag is None]
    spans: list[Span] = []
    decode(layout.message, encoded, version=layout.version, trace=spans)
    for name in names:
        own = [span for span in spans if re.match(rf"{name}\b", span.field_path)]
        replaced = encode(message, version=layout.version, raw={name: junk})
        assert replaced == encoded[: own[0].start] + junk + encoded[own[-1].end :]


@pytest.mark.parametrize(
    ("version", "raw"),
    [
        pytest.param(0, {"throttle_time_ms": b""}, id="field-of-a-later-version"),
        pytest.param(2, {TAG_SECTION: b""}, id="tag-section-before-the-flexible-versions"),
        pytest.param(2, {"zk_migration_ready": b""}, id="tagged-field-of-a-later-version"),
        pytest.param(3, {"no_such_field": b""}, id="unknown-field"),
        pytest.param(3, {TAG_SECTION: b"", "zk_migration_ready": b""}, id="tagged-field-twice"),
    ],
)
def test_raw_without_a_place_is_refused(version: int, raw: dict[str, bytes]) -> None:
    """Raw bytes for a field that the version lacks raise an error that names the field."""
    with pytest.raises(EncodeError, match=sorted(raw)[-1]):
        encode(FULL, version=version, raw=raw)


def test_order_of_tags_is_in_no_repr() -> None:
    """The repr of a drawn message is what a failure shows and stores."""
    for layout in FLEXIBLE_LAYOUTS:
        shown = {each.name: each.repr for each in dataclasses.fields(layout.message)}
        assert shown == {name: name != "tag_order" for name in shown}
