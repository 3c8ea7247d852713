"""Tests of the bytes of each kind of scripted response.

Well-formed responses are decoded. Malformed responses are compared with literals.
"""

from __future__ import annotations

import pytest

from reference_model.clients.scripts.answer_bytes import answer_bytes
from reference_model.clients.scripts.script import EMPTY, ITSELF, Answer, Table, healthy_ranges
from wire.api_versions import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from wire.codec import decode
from wire.error_codes import ErrorCode
from wire.frames import encode_frame
from wire.primitives import TaggedField

ONE_ENTRY = Table(base="empty", changed=((3, 0, 9),))
ID = "00000007"


def frame_of(answer: Answer, version: int) -> bytes:
    """Return the frame of an answer to a request with correlation id 7."""
    return answer_bytes(answer, api_version=version, correlation_id=7)


def hex_of(answer: Answer, version: int) -> str:
    """Return the payload of an answer in hexadecimal digits; its size prefix must be right."""
    frame = frame_of(answer, version)
    assert frame == encode_frame(frame[4:])
    return frame[4:].hex()


def body_of(answer: Answer, version: int, *, layout: int | None = None) -> ApiVersionsResponse:
    """Return the decoded body of an answer."""
    frame = frame_of(answer, version)
    return decode(ApiVersionsResponse, frame[8:], version=version if layout is None else layout)


@pytest.mark.parametrize("version", range(6))
def test_healthy_answer_lists_every_healthy_range(version: int) -> None:
    """In each version the entries are those of a healthy broker, in their order."""
    body = body_of(Answer(), version)
    assert body.error_code is ErrorCode.NONE
    listed = tuple((each.api_key, each.min_version, each.max_version) for each in body.api_keys)
    assert listed == healthy_ranges()


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        (0, f"{ID} 0023 00000001 0003 0000 0009"),
        (1, f"{ID} 0023 00000001 0003 0000 0009 00000000"),
        (3, f"{ID} 0023 02 0003 0000 0009 00 00000000 00"),
    ],
)
def test_error_code_and_table_are_written_in_the_layout_of_the_version(version: int, wanted: str) -> None:
    """v1 adds the throttle time, v3 compact arrays and tag sections; the response header is v0 in each."""
    assert hex_of(Answer(error_code=35, table=ONE_ENTRY), version) == wanted.replace(" ", "")


@pytest.mark.parametrize(("layout", "nearest"), [(0, 0), (2, 2), (9, 5), (-3, 0)])
def test_body_can_have_the_layout_of_another_version(layout: int, nearest: int) -> None:
    """A layout that does not exist is replaced by the nearest one."""
    other = Answer(error_code=35, table=ITSELF, layout=layout)
    same = Answer(error_code=35, table=ITSELF)
    assert frame_of(other, 3) == frame_of(same, nearest)


def test_throttle_time_is_written_from_v1_on() -> None:
    """v0 has no place for it."""
    answer = Answer(throttle_time_ms=1234, table=EMPTY)
    assert hex_of(answer, 0) == f"{ID}000000000000"
    assert body_of(answer, 1).throttle_time_ms == 1234


def test_features_and_unknown_tags_are_written_in_flexible_versions() -> None:
    """v4 has them, v2 has not; v3 has no feature with the lowest level 0, because older clients cannot read it."""
    answer = Answer(
        table=EMPTY,
        supported_features=(("kraft.version", 0, 1), ("metadata.version", 1, 21)),
        finalized_features=(("kraft.version", 1, 0),),
        finalized_features_epoch=5,
        unknown_tags=((9, b"x"),),
    )
    body = body_of(answer, 4)
    kraft = SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
    metadata = SupportedFeatureKey(name="metadata.version", min_version=1, max_version=21)
    assert body.supported_features == (kraft, metadata)
    assert body_of(answer, 3).supported_features == (metadata,)
    assert body.finalized_features == (
        FinalizedFeatureKey(name="kraft.version", max_version_level=1, min_version_level=0),
    )
    assert body.finalized_features_epoch == 5
    assert body.unknown_tagged_fields == (TaggedField(9, b"x"),)
    assert frame_of(answer, 2) == frame_of(Answer(table=EMPTY), 2)


@pytest.mark.parametrize(
    ("table", "plain", "compact"),
    [
        (Table(null=True), "ffffffff", "00"),
        (Table(base="empty", claimed_count=-1), "ffffffff", "00"),
        (Table(base="empty", claimed_count=-2), "fffffffe", "ffffffff0f"),
        (Table(base="empty", claimed_count=2**31 - 1), "7fffffff", "8080808008"),
        (Table(base="empty", claimed_count=3), "00000003", "04"),
        (
            Table(base="empty", changed=((3, 0, 9),), claimed_count=0),
            "00000000 0003 0000 0009",
            "01 0003 0000 0009 00",
        ),
    ],
    ids=["null", "minus one", "negative", "huge", "too large", "too small"],
)
def test_table_can_be_null_or_claim_another_count(table: Table, plain: str, compact: str) -> None:
    """The count is written as it is claimed, whether such an array can exist or not."""
    assert hex_of(Answer(table=table), 0) == f"{ID}0000{plain.replace(' ', '')}"
    assert hex_of(Answer(table=table), 3) == f"{ID}0000{compact.replace(' ', '')}0000000000"


def test_entries_keep_their_order_and_their_values() -> None:
    """Duplicate, negative and empty ranges are written as they are."""
    table = Table(base="empty", before=((18, 3, 1), (-1, -5, 0)), after=((18, 0, 3), (18, 0, 3)))
    listed = [(each.api_key, each.min_version) for each in body_of(Answer(table=table), 4).api_keys]
    assert listed == [(18, 3), (-1, -5), (18, 0), (18, 0)]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Answer(body=b"\1\2"), f"00000006 {ID} 0102"),
        (Answer(body=b""), f"00000004 {ID}"),
        (Answer(table=EMPTY, cut_to=3), f"00000007 {ID} 000000"),
        (Answer(table=EMPTY, cut_to=0), f"00000004 {ID}"),
        (Answer(table=EMPTY, trailing=b"\xff"), f"0000000b {ID} 0000 00000000 ff"),
        (Answer(table=EMPTY, cut_to=1, trailing=b"\xff"), f"00000006 {ID} 00 ff"),
        (Answer(table=EMPTY, claimed_size=-1), f"ffffffff {ID} 0000 00000000"),
        (Answer(table=EMPTY, claimed_size=2**31 - 1), f"7fffffff {ID} 0000 00000000"),
        (Answer(table=EMPTY, flexible_header=True), f"0000000b {ID} 00 0000 00000000"),
        (Answer(table=EMPTY, correlation_shift=-8), "0000000a ffffffff 0000 00000000"),
        (Answer(table=EMPTY, correlation_shift=2**31 - 7), "0000000a 80000000 0000 00000000"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_frame_is_as_wrong_as_the_script_says(answer: Answer, wanted: str) -> None:
    """Bodies of bytes, cuts, trailing bytes, sizes, headers and correlation ids are written literally."""
    assert frame_of(answer, 0) == bytes.fromhex(wanted)


@pytest.mark.parametrize(
    ("answer", "version", "wanted"),
    [
        (Answer(table=EMPTY, tag_section=b"\x80\0"), 3, f"{ID} 0000 01 00000000 8000"),
        (Answer(table=EMPTY, tag_section=b"\x80\0"), 2, f"{ID} 0000 00000000 00000000"),
        (Answer(table=Table(base="empty", count_bytes=b"\x80")), 4, f"{ID} 0000 80 00000000 00"),
        (Answer(table=Table(base="empty", count_bytes=b"")), 4, f"{ID} 0000 00000000 00"),
        (Answer(table=Table(base="empty", count_bytes=b"\x80")), 0, f"{ID} 0000 00000000"),
        (Answer(table=Table(base="empty", claimed_count=-2)), 0, f"{ID} 0000 fffffffe"),
        (
            Answer(table=Table(base="empty", claimed_count=-(2**31))),
            3,
            f"{ID} 0000 8180808008 00000000 00",
        ),
    ],
)
def test_odd_parts_are_written_as_they_are(answer: Answer, version: int, wanted: str) -> None:
    """The bytes of tag sections and compact counts are free, and counts may be negative; older versions have
    neither."""
    assert hex_of(answer, version) == wanted.replace(" ", "")


def test_answer_is_repeated() -> None:
    """Each copy is a frame of its own."""
    assert frame_of(Answer(copies=3), 3) == 3 * frame_of(Answer(), 3)


def test_other_bytes_stand_in_place_of_a_frame_or_after_it() -> None:
    """An alert of TLS replaces the frame, or follows it without a change of its size; only the second one gives a
    table."""
    alert = bytes.fromhex("15 03 03 00 02 02 46")
    healthy = answer_bytes(Answer(), api_version=3, correlation_id=7)
    raw, appended = Answer(raw=alert), Answer(appended=alert)
    assert answer_bytes(raw, api_version=3, correlation_id=7) == alert
    assert answer_bytes(appended, api_version=3, correlation_id=7) == healthy + alert
    assert (raw.gives_table, appended.gives_table) == (False, True)
