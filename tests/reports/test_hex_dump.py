"""The annotated hex dump, line by line, of complete, truncated and undecodable frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from reports.run.hex_dump import dump_answer, dump_answer_of, dump_request, layout_of_answer
from strategies.api_versions import build_request
from strategies.minimal_requests import minimal_request
from tests.reports.dumps import LIST_GROUPS, notes_of
from wire.described_messages import SASL_HANDSHAKE
from wire.sasl import handshake_request

WHOLE = bytes.fromhex("0000001a 00000007 0000 00000002 0000 0000 000d 0012 0000 0005 00000000")
HANDSHAKE = handshake_request(version=1, mechanism="PLAIN")
HANDSHAKE_ANSWER = bytes.fromhex("00000011 00000011 0021 00000001 0005 504c41494e")
LAYOUT = SASL_HANDSHAKE.layout(1)


def test_good_answer_is_dumped_field_by_field() -> None:
    """Each field of a valid response has a line with its offset, bytes, path and value."""
    assert dump_answer(WHOLE, api_version=1) == [
        "       0  00 00 00 1a                                      size = 26",
        "       4  00 00 00 07                                      correlation_id = 7",
        "       8  00 00                                            error_code = NONE (0)",
        "      10  00 00 00 02                                      api_keys = 2",
        "      14  00 00                                            api_keys[0].api_key = 0",
        "      16  00 00                                            api_keys[0].min_version = 0",
        "      18  00 0d                                            api_keys[0].max_version = 13",
        "      20  00 12                                            api_keys[1].api_key = 18",
        "      22  00 00                                            api_keys[1].min_version = 0",
        "      24  00 05                                            api_keys[1].max_version = 5",
        "      26  00 00 00 00                                      throttle_time_ms = 0",
    ]


def test_truncated_answer_is_marked_where_it_ends() -> None:
    """The decodable part of a truncated response is annotated; the rest is marked with what is missing."""
    assert dump_answer(b"\0\0\0\x0d" + WHOLE[4:17], api_version=1) == [
        "       0  00 00 00 0d                                      size = 13",
        "       4  00 00 00 07                                      correlation_id = 7",
        "       8  00 00                                            error_code = NONE (0)",
        "      10  00 00 00 02                                      api_keys = 2",
        "      14  00 00                                            api_keys[0].api_key = 0",
        ">     16  00                                               <-- api_keys[0].min_version: "
        "2 bytes expected, 1 left (bytes 16 to 17)",
    ]


def test_undecodable_answer_is_marked_where_it_goes_wrong() -> None:
    """The bytes from the first undecodable field onwards are marked, with the reason and the offsets."""
    assert dump_answer(bytes.fromhex("0000000c 00000007 0000 ffffffff 0000"), api_version=0) == [
        "       0  00 00 00 0c                                      size = 12",
        "       4  00 00 00 07                                      correlation_id = 7",
        "       8  00 00                                            error_code = NONE (0)",
        ">     10  ff ff ff ff 00 00                                <-- api_keys: null is not "
        "allowed here (bytes 10 to 14)",
    ]


def test_surplus_bytes_are_shown() -> None:
    """Bytes after the body of a response are marked as such."""
    surplus = dump_answer(WHOLE + b"\xaa\xbb", api_version=1)
    assert surplus[-1] == (
        "      30  aa bb                                            after the body"
    )


def test_long_fields_take_several_lines() -> None:
    """A field of more than sixteen bytes continues in lines without a note."""
    assert dump_request(build_request(version=0).data) == [
        "       0  00 00 00 1b                                      size = 27",
        "       4  00 12                                            request_api_key = 18",
        "       6  00 00                                            request_api_version = 0",
        "       8  00 00 00 07                                      correlation_id = 7",
        "      12  00 11 6b 61 66 6b 61 2d 63 6f 6e 66 6f 72 6d 61  client_id = 'kafka-conformance'",
        "      28  6e 63 65",
    ]


def test_request_of_another_api_is_dumped_in_its_layout() -> None:
    """The header is followed by the fields of the body; without a layout they are shown as not decoded."""
    assert dump_request(HANDSHAKE.data, HANDSHAKE.layout)[-1] == (
        "      31  00 05 50 4c 41 49 4e                             mechanism = 'PLAIN'"
    )
    assert dump_request(HANDSHAKE.data)[-1] == (
        "      31  00 05 50 4c 41 49 4e                             not decoded"
    )


@pytest.mark.parametrize("version", [-1, 0, 1, 2])
def test_handshake_of_any_version_is_dumped(version: int) -> None:
    """A version that has no layout is dumped in the nearest one."""
    sent = handshake_request(version=version)
    assert "mechanism = 'PLAIN'" in "\n".join(dump_request(sent.data, sent.layout))


def test_answer_of_another_api_is_dumped_in_its_layout() -> None:
    """Fields are shown with their names, and error codes with their names."""
    assert dump_answer_of(HANDSHAKE_ANSWER, LAYOUT) == [
        "       0  00 00 00 11                                      size = 17",
        "       4  00 00 00 11                                      correlation_id = 17",
        "       8  00 21                                            error_code = UNSUPPORTED_SASL_MECHANISM (33)",
        "      10  00 00 00 01                                      mechanisms = 1",
        "      14  00 05 50 4c 41 49 4e                             mechanisms[0] = 'PLAIN'",
    ]


def test_tags_of_header_and_body_are_distinguished() -> None:
    """Both sections have the same name in the schemas, and one can directly follow the other."""
    request = minimal_request(LIST_GROUPS, 3)
    assert notes_of(dump_request(request.data, request.layout))[-2:] == [
        "header.tagged_fields = 0",
        "tagged_fields = 0",
    ]
    cut_off = bytes.fromhex("00000005 00000007 01")
    (*_, in_header) = notes_of(dump_answer_of(cut_off, LIST_GROUPS.layout(3)))
    assert in_header.startswith("<-- header.tagged_fields")


@pytest.mark.parametrize(
    ("whole", "dump"),
    [
        pytest.param(WHOLE, partial(dump_answer, api_version=1), id="answer"),
        pytest.param(HANDSHAKE_ANSWER, partial(dump_answer_of, layout=LAYOUT), id="another-api"),
        pytest.param(build_request(version=3).data, dump_request, id="request"),
    ],
)
def test_every_beginning_is_dumped_whole(whole: bytes, dump: Callable[[bytes], list[str]]) -> None:
    """However early a request or response ends, every byte of it is in the dump, once and in order."""
    for end in range(len(whole)):
        dumped = "".join(line[10:57] for line in dump(whole[:end]))
        assert bytes.fromhex(dumped) == whole[:end], end


@pytest.mark.parametrize(
    ("payload", "api_version", "layout"),
    [
        ("00000007 0000", 3, 3),
        ("00000007 0023", 3, 0),
        ("00000007 0000", 99, 0),
        ("00000007 0000", -1, 0),
        ("", 5, 5),
    ],
)
def test_layout_follows_version_and_error(payload: str, api_version: int, layout: int) -> None:
    """A response is read in the request's version, or in v0 if that version is refused or unknown."""
    assert layout_of_answer(bytes.fromhex(payload), api_version) == layout
