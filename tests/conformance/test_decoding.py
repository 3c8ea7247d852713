"""From a target's bytes to what a property asserts on, against literals."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.assertions.decoding import (
    answer_after_flexible_header,
    bytes_after_body,
    decode_answer,
    error_code_of,
    payload_of,
)
from conformance.assertions.errors import MalformedAnswer
from strategies.api_versions import build_request
from tests.conformance.exchanges import V0_EMPTY, exchange_of
from wire.error_codes import ErrorCode
from wire.errors import DecodeError, NegativeLength
from wire.exchange import Exchange, Outcome

V3_EMPTY = "00000007 0000 01 00000000 00"
V3_EMPTY_WITH_HEADER_TAGS = "00000007 00 0000 01 00000000 00"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"outcome": Outcome.CLOSED}, "closed the connection instead", id="closed"),
        pytest.param({"outcome": Outcome.IGNORED}, "ignored the request instead", id="ignored"),
        pytest.param({"outcome": Outcome.SILENT}, "fell silent instead of answering$", id="silent"),
        pytest.param(
            {"outcome": Outcome.CLOSED, "stray": bytes(47) + b"\x01\x02"},
            f"instead of answering after {'00' * 47}01$",
            id="stray-bytes-are-cut-after-48",
        ),
        pytest.param(
            {"outcome": Outcome.SILENT, "stray": bytes.fromhex("0000001b") + bytes(26)},
            "^the response's frame: its size is 27, 26 bytes came, and then the target fell silent$",
            id="part-of-a-frame",
        ),
        pytest.param(
            {
                "outcome": Outcome.CLOSED,
                "framing_error": NegativeLength("negative", start=0, end=4, field_path="size"),
            },
            "^the response's frame: ",
            id="no-frame",
        ),
    ],
)
def test_missing_answer_is_the_targets_fault(given: dict[str, Any], message: str) -> None:
    """The violation says what the target did instead."""
    with pytest.raises(MalformedAnswer, match=message):
        payload_of(exchange_of(**given))


def test_answer_counts_although_the_stream_breaks_after_it() -> None:
    """A framing error after a complete frame does not take the frame away."""
    error = NegativeLength("negative", start=0, end=4, field_path="size")
    assert payload_of(exchange_of(payload=V0_EMPTY, framing_error=error)) == bytes.fromhex(V0_EMPTY)


def test_surplus_bytes_are_refused_only_on_demand() -> None:
    """Bytes after the body decode unless the exact body is asked for; `bytes_after_body` returns them."""
    exchange = exchange_of(payload=f"{V0_EMPTY} abcd")
    assert decode_answer(exchange, api_version=0).api_keys == ()
    assert bytes_after_body(exchange, api_version=0) == b"\xab\xcd"
    with pytest.raises(MalformedAnswer, match="not decodable as ApiVersions v0"):
        decode_answer(exchange, api_version=0, exactly=True)


def test_refusal_in_v0_is_named() -> None:
    refusal = exchange_of(payload="00000007 0023 00000000")
    with pytest.raises(MalformedAnswer, match=r"a refusal \(UNSUPPORTED_VERSION\) in the layout of v0, and not"):
        decode_answer(refusal, api_version=5)
    with pytest.raises(MalformedAnswer) as other:
        decode_answer(exchange_of(payload=V0_EMPTY), api_version=5)
    assert "a refusal" not in str(other.value)


@pytest.mark.parametrize(("size", "kept"), [(4095, True), (4096, True), (4097, False)])
def test_only_small_answers_are_kept(size: int, kept: bool) -> None:
    """The same small body is decoded once; large ones would fill the memory."""
    body = bytes.fromhex("0000 00000000").ljust(size, b"\0")
    first, second = (exchange_of(payload=f"00000007 {body.hex()}") for _ in range(2))
    same = decode_answer(first, api_version=0) is decode_answer(second, api_version=0)
    assert same is kept


def test_offsets_of_a_fault_count_from_the_payload() -> None:
    """The four bytes of the header are part of them."""
    with pytest.raises(MalformedAnswer) as failed:
        decode_answer(exchange_of(payload="00000007 0000 00000001"), api_version=0)
    error = failed.value.__cause__
    assert isinstance(error, DecodeError)
    assert (error.start, error.end) == (10, 10)


@pytest.mark.parametrize("payload", ["", "00", "000000"])
def test_half_a_correlation_id_is_malformed(payload: str) -> None:
    """An answer that ends inside its header does not decode."""
    with pytest.raises(MalformedAnswer):
        decode_answer(exchange_of(payload=payload), api_version=0)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(V3_EMPTY_WITH_HEADER_TAGS, True, id="with-tags"),
        pytest.param(V3_EMPTY, False, id="without-tags"),
        pytest.param("00000007 ff", False, id="neither"),
    ],
)
def test_flexible_header_is_seen(payload: str, expected: bool) -> None:
    """A header is flexible if the body decodes after a tag section and not without one."""
    found = answer_after_flexible_header(exchange_of(payload=payload), api_version=3)
    assert (found is not None) is expected


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param("00000007 0023", ErrorCode.UNSUPPORTED_VERSION, id="code-alone"),
        pytest.param("00000007 0023 ff", ErrorCode.UNSUPPORTED_VERSION, id="more-after-it"),
        pytest.param("00000007 ffff", ErrorCode.UNKNOWN_SERVER_ERROR, id="negative"),
    ],
)
def test_error_code_stands_after_the_correlation_id(payload: str, expected: ErrorCode) -> None:
    """Whatever follows, the error code is the first int16 of the body."""
    assert error_code_of(exchange_of(payload=payload)) is expected


@pytest.mark.parametrize("payload", ["00000007", "00000007 00"])
def test_answer_without_an_error_code_is_too_short(payload: str) -> None:
    """Six bytes are needed."""
    with pytest.raises(MalformedAnswer, match=r"too short: .*no error code"):
        error_code_of(exchange_of(payload=payload))


@pytest.mark.parametrize("version", [3, 99])
@pytest.mark.parametrize("body", ["002a 01 00000000 00", "0023 00000001 0012 0000 0004"], ids=["in-v3", "in-v0"])
def test_error_code_after_a_tag_section_is_not_read_as_none(version: int, body: str) -> None:
    """The two bytes in its place are zero, but they are not the error code NONE."""
    payload = bytes.fromhex(f"00000007 00 {body}")
    sent = build_request(version=version)
    exchange = Exchange(request=sent, outcome=Outcome.ANSWER, payload=payload)
    if version == 99 and body.startswith("002a"):
        # No version's layout is known for this one.
        assert error_code_of(exchange) is ErrorCode.NONE
        return
    with pytest.raises(MalformedAnswer, match="stands after a tag section"):
        error_code_of(exchange)
