"""Tests of the annotated hex dump, line by line.

The frames are complete, truncated or undecodable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest

from reports.run.conversation import ByteRow
from reports.run.frame_rows import answer_rows, answer_rows_of, layout_of_answer, request_rows
from reports.run.hex_dump import conversation_text, row_lines
from reports.run.recorded_conversation import conversation_with_broker
from strategies.api_versions import build_request
from strategies.minimal_requests import minimal_request
from tests.described_apis import described_api
from tests.reports.test_failures import ANSWER, answered, step_of
from wire.api_keys import API_VERSIONS_KEY
from wire.described_messages import SASL_HANDSHAKE
from wire.exchange import Arrival, Exchange, Outcome, Request, Step
from wire.sasl import authenticate_request, handshake_request
from wire.sentinel import sentinel_for

WHOLE = bytes.fromhex("0000001a 00000007 0000 00000002 0000 0000 000d 0012 0000 0005 00000000")
HANDSHAKE = handshake_request(version=1, mechanism="PLAIN")
HANDSHAKE_ANSWER = bytes.fromhex("00000011 00000011 0021 00000001 0005 504c41494e")
LAYOUT = SASL_HANDSHAKE.layout(1)
LIST_GROUPS = described_api(16, 3)


def notes_of(lines: list[str]) -> list[str]:
    """Return the text after offset and bytes; empty for a line that continues the bytes of another."""
    return [line[59:] for line in lines]


def dump_of(request: Request, answer: str, *, stray: bytes = b"") -> list[str]:
    """Return the dump's lines for a request and its response; `answer` is in hexadecimal, without size prefix."""
    exchange = Exchange(request=request, outcome=Outcome.ANSWER, payload=bytes.fromhex(answer), stray=stray)
    return [line for line in conversation_text(conversation_with_broker([step_of(exchange)])).splitlines() if line]


def test_good_answer_is_dumped_field_by_field() -> None:
    """Each field of a valid response has a line with its offset, bytes, path and value."""
    assert row_lines(answer_rows(WHOLE, api_version=1)) == [
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
    assert row_lines(answer_rows(b"\0\0\0\x0d" + WHOLE[4:17], api_version=1)) == [
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
    assert row_lines(answer_rows(bytes.fromhex("0000000c 00000007 0000 ffffffff 0000"), api_version=0)) == [
        "       0  00 00 00 0c                                      size = 12",
        "       4  00 00 00 07                                      correlation_id = 7",
        "       8  00 00                                            error_code = NONE (0)",
        ">     10  ff ff ff ff 00 00                                <-- api_keys: null is not "
        "allowed here (bytes 10 to 14)",
    ]


def test_surplus_bytes_are_shown() -> None:
    """Bytes after the body of a response are marked as such."""
    surplus = row_lines(answer_rows(WHOLE + b"\xaa\xbb", api_version=1))
    assert surplus[-1] == ("      30  aa bb                                            after the body")


def test_long_fields_take_several_lines() -> None:
    """A field of more than sixteen bytes continues in lines without a note."""
    assert row_lines(request_rows(build_request(version=0).data)) == [
        "       0  00 00 00 1b                                      size = 27",
        "       4  00 12                                            request_api_key = 18",
        "       6  00 00                                            request_api_version = 0",
        "       8  00 00 00 07                                      correlation_id = 7",
        "      12  00 11 6b 61 66 6b 61 2d 63 6f 6e 66 6f 72 6d 61  client_id = 'kafka-conformance'",
        "      28  6e 63 65",
    ]


def test_request_of_another_api_is_dumped_in_its_layout() -> None:
    """The header is followed by the fields of the body; without a layout they are shown as not decoded."""
    assert row_lines(request_rows(HANDSHAKE.data, HANDSHAKE.layout))[-1] == (
        "      31  00 05 50 4c 41 49 4e                             mechanism = 'PLAIN'"
    )
    assert row_lines(request_rows(HANDSHAKE.data))[-1] == (
        "      31  00 05 50 4c 41 49 4e                             not decoded"
    )


@pytest.mark.parametrize("version", [-1, 0, 1, 2])
def test_handshake_of_any_version_is_dumped(version: int) -> None:
    """A version that has no layout is dumped in the nearest one."""
    sent = handshake_request(version=version)
    assert "mechanism = 'PLAIN'" in "\n".join(row_lines(request_rows(sent.data, sent.layout)))


def test_answer_of_another_api_is_dumped_in_its_layout() -> None:
    """Fields are shown with their names, and error codes with their names."""
    assert row_lines(answer_rows_of(HANDSHAKE_ANSWER, LAYOUT)) == [
        "       0  00 00 00 11                                      size = 17",
        "       4  00 00 00 11                                      correlation_id = 17",
        "       8  00 21                                            error_code = UNSUPPORTED_SASL_MECHANISM (33)",
        "      10  00 00 00 01                                      mechanisms = 1",
        "      14  00 05 50 4c 41 49 4e                             mechanisms[0] = 'PLAIN'",
    ]


def test_tags_of_header_and_body_are_distinguished() -> None:
    request = minimal_request(LIST_GROUPS, 3)
    assert notes_of(row_lines(request_rows(request.data, request.layout)))[-2:] == [
        "header.tagged_fields = 0",
        "tagged_fields = 0",
    ]
    cut_off = bytes.fromhex("00000005 00000007 01")
    (*_, in_header) = notes_of(row_lines(answer_rows_of(cut_off, LIST_GROUPS.layout(3))))
    assert in_header.startswith("<-- header.tagged_fields")


@pytest.mark.parametrize(
    ("whole", "rows_of"),
    [
        pytest.param(WHOLE, partial(answer_rows, api_version=1), id="answer"),
        pytest.param(HANDSHAKE_ANSWER, partial(answer_rows_of, layout=LAYOUT), id="another-api"),
        pytest.param(build_request(version=3).data, request_rows, id="request"),
    ],
)
def test_every_beginning_is_dumped_whole(whole: bytes, rows_of: Callable[[bytes], Sequence[ByteRow]]) -> None:
    """However early a request or response ends, every byte of it is in the dump, once and in order."""
    for end in range(len(whole)):
        dumped = "".join(line[10:57] for line in row_lines(rows_of(whole[:end])))
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


def test_dump_tells_what_was_done() -> None:
    """The dump names connections, outcomes, pieces, stray bytes, and the result of the sentinel."""
    lost = Exchange(request=build_request(version=0), outcome=Outcome.CLOSED, stray=b"\xde\xad")
    request = lost.request.data
    steps = [
        Step(
            connection=0,
            pieces=(request[:3], request[3:] + sentinel_for(7).data),
            exchanges=(lost,),
            sentinel=True,
        ),
        Step(connection=1, pieces=(request,)),
        Step(connection=1, pause_s=0.31),
        Step(connection=0),
    ]
    lines = [
        line
        for line in conversation_text(conversation_with_broker(steps)).splitlines()
        if line and not line.startswith(" ")
    ]
    assert lines == [
        "connection 0: written in pieces of 3, 50 bytes",
        "connection 0: sent",
        "connection 0: closed",
        "connection 0: stray bytes",
        "connection 0: the next request, which shows whether the connection is alive",
        "connection 1: sent, without waiting for a response",
        "connection 1: nothing sent for 0.31 s",
        "connection 0: closed by us",
    ]
    stray = "       0  de ad                                            belongs to no response\n"
    text = conversation_text(conversation_with_broker(steps))
    assert stray in text
    sentinel = text.partition("the next request, which")[2]
    assert "client_id = 'sentinel'\n  the next request: unanswered\n" in sentinel


def test_dump_tells_that_the_sentinel_was_answered_first() -> None:
    """A response that was overtaken is shown with these words, and so is the sentinel."""
    overtaken = replace(answered(ANSWER), arrival=Arrival.LATE)
    pieces = (overtaken.request.data + sentinel_for(7).data,)
    text = conversation_text(
        conversation_with_broker([Step(connection=0, pieces=pieces, exchanges=(overtaken,), sentinel=True)])
    )
    assert "connection 0: answer, late, after the response to the next request\n" in text
    assert "  the next request: answered first\n" in text


def test_stray_bytes_are_no_part_of_an_answer() -> None:
    """A response that ends too early is not completed with the bytes that came after it."""
    request = minimal_request(LIST_GROUPS, 0)
    lines = dump_of(request, "00000007 000f", stray=bytes.fromhex("00000000"))
    assert lines[-7:] == [
        "connection 0: answer",
        "       0  00 00 00 06                                      size = 6",
        "       4  00 00 00 07                                      correlation_id = 7",
        "       8  00 0f                                            error_code = COORDINATOR_NOT_AVAILABLE (15)",
        ">     10                                                   <-- groups: 4 bytes expected, 0 left (bytes 10 to 10)",
        "connection 0: stray bytes",
        "       0  00 00 00 00                                      belongs to no response",
    ]


def test_fields_of_other_apis_are_named() -> None:
    """Request and response are dumped in the layout that the request names, including the headers' tags."""
    request = minimal_request(LIST_GROUPS, 3)
    lines = dump_of(request, "00000007 00 00000000 000f 01 00")
    assert [note for note in notes_of(lines) if note][4:] == [
        "client_id = 'kafka-conformance'",
        "header.tagged_fields = 0",
        "tagged_fields = 0",
        "size = 13",
        "correlation_id = 7",
        "header.tagged_fields = 0",
        "throttle_time_ms = 0",
        "error_code = COORDINATOR_NOT_AVAILABLE (15)",
        "groups = 0",
        "tagged_fields = 0",
    ]


def test_steps_of_sasl_are_named() -> None:
    """A token has its field in request and response."""
    lines = dump_of(authenticate_request(b"ab"), "00000024 003a 0001 78 00000000")
    named = notes_of(lines)
    assert "auth_bytes = b'ab'" in named
    assert named[-3:] == [
        "error_code = SASL_AUTHENTICATION_FAILED (58)",
        "error_message = 'x'",
        "auth_bytes = b''",
    ]


def test_refusal_of_api_versions_is_read_as_one_wherever_it_was_asked() -> None:
    """UNSUPPORTED_VERSION is read as v0, even if the request was built from a schema."""
    lines = dump_of(
        minimal_request(described_api(API_VERSIONS_KEY, 4), 4),
        "00000007 0023 00000001 0012 0000 0003",
    )
    assert lines[-1].endswith("api_keys[0].max_version = 3")


def test_dump_says_where_the_layout_is_that_of_another_version() -> None:
    """A version without a schema is dumped with the field names of the nearest one, and a line says so."""
    request = minimal_request(LIST_GROUPS, 99, layout=0)
    note = "  request and response are decoded as v0, the nearest known version"
    assert note in dump_of(request, "00000007 0000 00000000")
    known = minimal_request(LIST_GROUPS, 0)
    assert note not in dump_of(known, "00000007 0000 00000000")
