"""Tests of requests and SASL steps that are wrong on purpose.

Each matches its note, reaches all its kinds, and shrinks well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from strategies.api_versions import build_request
from strategies.broken_requests import (
    MAX_HARMLESS_SIZE,
    flexible_requests_with_old_header,
    frames_with_wrong_size,
    malformed_requests,
    mutated_requests,
    requests_for_unknown_apis,
    requests_with_compact_client_id,
    requests_with_null_name,
    requests_with_tag_overrun,
    truncated_requests,
)
from strategies.broken_sasl_steps import (
    broken_sasl_steps,
    build_authenticate_of_length,
    build_handshake_of_length,
    build_token_of_frame,
)
from tests.strategies.search import find_any, minimal, unmet
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import ApiVersionsRequest
from wire.codec import TAG_SECTION, decode, decode_prefix
from wire.errors import BufferUnderflow, DecodeError, UnexpectedNull
from wire.exchange import Request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, read_size
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, PLAIN_REQUEST_HEADER, request_header_version
from wire.headers import CLIENT_ID_OFFSET, RequestHeader
from wire.primitives import read_compact_nullable_string, read_unsigned_varint
from wire.sasl import BARE_TOKEN


def payload_of(sent: Request) -> bytes:
    """Return the frame without its size prefix."""
    return sent.data[SIZE_BYTES:]


def error_of(sent: Request, *, header_version: int = FLEXIBLE_REQUEST_HEADER) -> DecodeError:
    """Return the error of strict decoding; its field path begins with the part, header or body."""
    payload = payload_of(sent)
    part = "header"
    try:
        _, offset = decode_prefix(RequestHeader, payload, version=header_version)
        part = "body"
        decode(ApiVersionsRequest, payload[offset:], version=sent.api_version)
    except DecodeError as error:
        return error.within(part)
    raise AssertionError("the request decodes")


@given(sent=requests_with_tag_overrun())
def test_overrunning_tags_end_with_the_frame(sent: Request) -> None:
    """Strict decoding runs out of bytes in the tag section that the note names."""
    error = error_of(sent)
    assert isinstance(error, BufferUnderflow)
    part = error.field_path.removesuffix(f".{TAG_SECTION}")
    assert sent.broken == f"the {part}'s tag section reaches beyond the frame"
    assert 3 <= sent.api_version <= 5


def section_of(sent: Request) -> bytes:
    """Return the tag section that a request with a tag overrun ends with."""
    if "header" in sent.broken:
        _, start = decode_prefix(RequestHeader, payload_of(sent), version=PLAIN_REQUEST_HEADER)
    else:
        start = len(payload_of(build_request(version=sent.api_version))) - 1
    return payload_of(sent)[start:]


@given(sent=requests_with_tag_overrun())
def test_overrunning_tags_declare_small_sizes(sent: Request) -> None:
    """A tag's size stays small for any count, because old releases allocate before they check."""
    section = memoryview(section_of(sent))
    count, offset = read_unsigned_varint(section, 0)
    assert 1 <= count < 2**31
    if offset < len(section):
        _, offset = read_unsigned_varint(section, offset)
        size, _ = read_unsigned_varint(section, offset)
        assert size <= MAX_HARMLESS_SIZE + 8


def _in(part: str) -> Callable[[Request], bool]:
    return lambda sent: part in sent.broken


@given(sent=flexible_requests_with_old_header())
def test_old_header_reads_with_v1_alone(sent: Request) -> None:
    """Header and body have the intended values with header v1; with the right header decoding fails."""
    assert error_of(sent)
    payload = payload_of(sent)
    header, offset = decode_prefix(RequestHeader, payload, version=PLAIN_REQUEST_HEADER)
    assert header == sent.header
    assert decode(ApiVersionsRequest, payload[offset:], version=sent.api_version) == sent.body
    assert 3 <= sent.api_version <= 5


@given(sent=requests_with_compact_client_id())
def test_compact_client_id_reads_as_such_alone(sent: Request) -> None:
    """The client id has its intended value only if read as compact; strict decoding fails."""
    assert error_of(sent)
    assert error_of(sent, header_version=PLAIN_REQUEST_HEADER)
    payload = memoryview(payload_of(sent))
    client_id, offset = read_compact_nullable_string(payload, CLIENT_ID_OFFSET)
    assert client_id == sent.header.client_id
    assert payload[offset] == 0
    assert decode(ApiVersionsRequest, payload[offset + 1 :], version=sent.api_version) == sent.body


@given(sent=requests_with_null_name())
def test_null_name_is_the_one_that_the_note_names(sent: Request) -> None:
    """Strict decoding finds null in exactly the field that the note names."""
    error = error_of(sent)
    assert isinstance(error, UnexpectedNull)
    assert sent.broken == f"null {error.field_path.removeprefix('body.')}"


@given(sent=truncated_requests())
def test_truncated_request_is_the_beginning_of_a_whole_one(sent: Request) -> None:
    """The payload is a plain request, cut after as many bytes as the note says."""
    whole = payload_of(build_request(version=sent.api_version))
    payload = payload_of(sent)
    assert sent.broken == f"cut after {len(payload)} of {len(whole)} bytes"
    assert payload == whole[: len(payload)] != whole
    if sent.api_version <= 5:
        version = request_header_version(API_VERSIONS_KEY, sent.api_version)
        assert isinstance(error_of(sent, header_version=version), BufferUnderflow)


@given(sent=requests_for_unknown_apis())
def test_unknown_api_is_the_one_that_the_note_names(sent: Request) -> None:
    """The v1 header decodes, and its API key is the one in the note."""
    header, _ = decode_prefix(RequestHeader, payload_of(sent), version=PLAIN_REQUEST_HEADER)
    assert header == sent.header
    assert sent.broken == f"unknown api key {header.request_api_key}"
    # Kafka's own keys are smaller, and keys of vendors begin at 10000.
    assert header.request_api_key < 0 or 2000 <= header.request_api_key <= 9999


@given(sent=frames_with_wrong_size())
def test_wrong_size_is_the_one_that_the_note_names(sent: Request) -> None:
    """The payload is that of a plain request, and the size is not its length."""
    assert payload_of(sent) == payload_of(build_request(version=0))
    size = int.from_bytes(sent.data[:SIZE_BYTES], signed=True)
    length = len(payload_of(sent))
    assert sent.broken == f"size prefix {size} on {length} bytes"
    assert size < 0 or length < size <= MAX_HARMLESS_SIZE or size > SOCKET_REQUEST_MAX_BYTES


MUTATION = re.compile(r"(\d+) bytes at (\d+) replaced by (nothing|[0-9a-f]+)")


@given(sent=mutated_requests())
def test_mutation_is_the_one_that_the_note_names(sent: Request) -> None:
    """Applying the note to a plain request of the version results in the payload; the API key stays."""
    found = MUTATION.fullmatch(sent.broken)
    assert found is not None
    removed, start = int(found[1]), int(found[2])
    added = b"" if found[3] == "nothing" else bytes.fromhex(found[3])
    plain = payload_of(build_request(version=sent.api_version))
    assert len(plain[start : start + removed]) == removed
    assert payload_of(sent) == plain[:start] + added + plain[start + removed :]
    assert payload_of(sent)[:2] == b"\0\x12"


@pytest.mark.parametrize(
    ("strategy", "condition"),
    [
        pytest.param(truncated_requests(), lambda sent: payload_of(sent) == b"", id="cut-to-nothing"),
        pytest.param(truncated_requests(), lambda sent: len(payload_of(sent)) == 1, id="cut-to-one-byte"),
        pytest.param(truncated_requests(), lambda sent: 2 <= len(payload_of(sent)) < 8, id="cut-before-client-id"),
        pytest.param(
            truncated_requests(),
            lambda sent: len(payload_of(sent)) == len(payload_of(build_request(version=sent.api_version))) - 1,
            id="last-byte-cut",
        ),
        pytest.param(truncated_requests(), lambda sent: sent.api_version == 5, id="cut-v5"),
        pytest.param(truncated_requests(), lambda sent: sent.api_version == 6, id="cut-v6"),
        pytest.param(
            truncated_requests(),
            lambda sent: sent.api_version < 3 and len(payload_of(sent)) > 10,
            id="client-id-cut-in-v0-to-v2",
        ),
        pytest.param(requests_for_unknown_apis(), lambda sent: sent.header.request_api_key < 0, id="negative-key"),
        pytest.param(requests_for_unknown_apis(), lambda sent: sent.header.request_api_key == 9999, id="largest-key"),
        pytest.param(requests_with_null_name(), _in("name"), id="null-name"),
        pytest.param(requests_with_null_name(), _in("client_software_version"), id="null-version"),
        pytest.param(flexible_requests_with_old_header(), lambda sent: sent.header.client_id is None, id="old-header-null-client-id"),
        pytest.param(requests_with_compact_client_id(), lambda sent: len(sent.header.client_id) > 20, id="long-compact-client-id"),
        pytest.param(
            requests_with_compact_client_id(),
            lambda sent: len(sent.header.client_id) >= 127,
            id="compact-client-id-length-in-two-bytes",
        ),
        pytest.param(frames_with_wrong_size(), _in("prefix -1 "), id="size-minus-1"),
        pytest.param(frames_with_wrong_size(), _in("prefix -2147483648 "), id="size-minimum"),
        pytest.param(frames_with_wrong_size(), _in("prefix 104857601 "), id="size-above-the-limit"),
        pytest.param(frames_with_wrong_size(), _in("prefix 2147483647 "), id="size-maximum"),
        pytest.param(frames_with_wrong_size(), _in("prefix 28 on 27"), id="size-one-too-large"),
        pytest.param(frames_with_wrong_size(), _in("prefix 65536 "), id="size-largest-harmless"),
        pytest.param(mutated_requests(), _in("0 bytes at "), id="put-in"),
        pytest.param(mutated_requests(), _in("by nothing"), id="taken-out"),
        pytest.param(mutated_requests(), lambda sent: re.match(r"[1-4] .* by [0-9a-f]", sent.broken), id="replaced"),
        pytest.param(mutated_requests(), _in("bytes at 2 "), id="version-touched"),
        pytest.param(mutated_requests(), lambda sent: sent.api_version == 6, id="version-nobody-serves"),
        *(
            pytest.param(malformed_requests(), _in(part), id=f"malformed-{part.replace(' ', '-')}")
            for part in (
                "cut after",
                "unknown api key",
                "null client",
                "body's tag section",
                "header's tag section",
                "compact client id",
                "header v1",
            )
        ),
    ],
)  # fmt: skip
def test_broken_requests_reach(strategy: Any, condition: Callable[[Request], bool]) -> None:
    """Every kind that a docstring promises is drawn."""
    assert condition(find_any(strategy, condition))


def test_shrinking_keeps_what_matters() -> None:
    """A mutation shrinks to the one byte that it needs, a cut to the first byte too many."""
    negative = minimal(mutated_requests(), lambda sent: payload_of(sent)[2] >= 0x80)
    assert negative.broken == "0 bytes at 2 replaced by 80"
    longest = minimal(truncated_requests(), lambda sent: len(payload_of(sent)) > 30)
    assert longest.broken == "cut after 31 of 53 bytes"
    late = minimal(frames_with_wrong_size(), lambda sent: sent.data[0] == 0)
    assert late.broken == "size prefix 28 on 27 bytes"


@given(step=broken_sasl_steps())
def test_step_is_a_whole_frame_that_says_what_is_wrong(step: Request) -> None:
    """A broken step is a complete frame of one of the two APIs, or a bare token."""
    assert step.broken
    assert step.api_key in (SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY)
    assert read_size(step.data) == len(step.data) - SIZE_BYTES


def test_every_kind_is_drawn() -> None:
    """Null, too long and foreign contents of both steps are drawn."""
    assert not unmet(
        broken_sasl_steps(),
        {
            "null-mechanism": lambda step: step == build_handshake_of_length(1, -1),
            "long-mechanism": lambda step: step.api_key == SASL_HANDSHAKE_KEY and len(step.data) > 500,
            "null-token": lambda step: step == build_authenticate_of_length(0, -1),
            "null-compact-token": lambda step: step == build_authenticate_of_length(2, -1),
            "token-that-is-a-request": lambda step: (
                step.api_version == BARE_TOKEN and step == build_token_of_frame(build_request(version=3))
            ),
            "odd-tags": lambda step: "tags" in step.broken,
        },
    )
