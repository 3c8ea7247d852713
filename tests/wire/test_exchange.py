"""Requests as bytes, correct and wrong on purpose, and what an exchange holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty

from tests.wire.generated_messages import TEXT
from tests.wire.golden_bytes import load_vectors
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import TAG_SECTION, decode_prefix
from wire.errors import EncodeError
from wire.exchange import Arrival, Exchange, Outcome, Request, Step, encode_request
from wire.frames import FrameReader
from wire.header_versions import Layout, request_header_version
from wire.headers import RequestHeader
from wire.sentinel import SENTINEL_CORRELATION_ID, sentinel_for

BODY = ApiVersionsRequest(client_software_name="a", client_software_version="1")


def _header(api_version: int, api_key: int = 18) -> RequestHeader:
    return RequestHeader(
        request_api_key=api_key,
        request_api_version=api_version,
        correlation_id=7,
        client_id="probe",
    )


_V3_HEADER = "0012 0003 00000007 0005 70726f6265 00"


@pytest.mark.parametrize(
    "vector",
    load_vectors("kafka-clients-4.4.0.json")["request_payloads"],
    ids=lambda vector: vector["id"],
)
def test_request_is_that_of_the_clients_library(vector: dict[str, Any]) -> None:
    """A well-formed request has the bytes and the header version of Kafka's own client."""
    sent = encode_request(_header(vector["api_version"]), BODY)
    payload = bytes.fromhex(vector["hex"])
    assert sent.data == len(payload).to_bytes(4) + payload
    assert request_header_version(18, vector["api_version"]) == vector["header_version"]
    assert (sent.api_version, sent.correlation_id) == (vector["api_version"], 7)
    assert (sent.body, sent.broken) == (BODY, "")


@pytest.mark.parametrize(
    ("api_version", "wrong", "expected"),
    [
        pytest.param(3, {"size": 3}, f"00000003 {_V3_HEADER} 0261 0231 00", id="size"),
        pytest.param(3, {"size": -1}, f"ffffffff {_V3_HEADER} 0261 0231 00", id="negative-size"),
        pytest.param(3, {"trailing": b"\xee"}, f"00000016 {_V3_HEADER} 0261 0231 00 ee", id="trailing"),
        pytest.param(3, {"header_version": 1}, "00000014 0012 0003 00000007 0005 70726f6265 0261 0231 00", id="header-version"),
        pytest.param(0, {"header_version": 2}, "00000010 0012 0000 00000007 0005 70726f6265 00", id="flexible-header-for-v0"),
        pytest.param(3, {"raw_header": {"client_id": b"\xff\xfe"}}, "00000010 0012 0003 00000007 fffe 00 0261 0231 00", id="raw-header"),
        pytest.param(3, {"raw_body": {"client_software_name": b"\x00", TAG_SECTION: b""}}, f"00000013 {_V3_HEADER} 00 0231", id="raw-body"),
        pytest.param(
            6,
            {},
            "0000001a 0012 0006 00000007 0005 70726f6265 00 0261 0231 00 ffffffff 00",
            id="unknown-version-in-the-newest-layout",
        ),
        pytest.param(-1, {}, "0000000f 0012 ffff 00000007 0005 70726f6265", id="negative-version-in-the-first"),
    ],
)  # fmt: skip
def test_wrong_request_has_its_literal_bytes(api_version: int, wrong: dict[str, Any], expected: str) -> None:
    """What is wrong on purpose is in the bytes; the intended header and body stay available."""
    sent = encode_request(_header(api_version), BODY, broken="said so", **wrong)
    assert sent.data == bytes.fromhex(expected)
    assert (sent.header, sent.body, sent.broken) == (_header(api_version), BODY, "said so")


def test_body_of_bytes_is_written_as_it_is() -> None:
    """Bytes replace a body, which then is None; this works for any API."""
    sent = encode_request(_header(9, api_key=3), b"\xca\xfe", header_version=1)
    assert sent.data == bytes.fromhex("00000011 0003 0009 00000007 0005 70726f6265 cafe")
    assert sent.body is None


def test_header_version_of_another_api_has_to_be_given_once() -> None:
    """The header version for another API is required, and must have a single source."""
    layout = Layout(request=ApiVersionsRequest, response=ApiVersionsRequest, version=0)
    with pytest.raises(ValueError, match="give one of them"):
        encode_request(_header(9, api_key=3), b"", header_version=1, layout=layout)
    with pytest.raises(ValueError, match="api key 3"):
        encode_request(_header(9, api_key=3), b"")


@pytest.mark.parametrize(("api_version", "body"), [(0, BODY), (3, b"")], ids=["v0", "bytes"])
def test_raw_for_a_field_that_is_not_there_is_refused(api_version: int, body: Any) -> None:
    with pytest.raises(EncodeError):
        encode_request(_header(api_version), body, raw_body={"client_software_name": b""})


@given(api_version=st.integers(-(2**15), 2**15 - 1), name=TEXT, trailing=st.binary(max_size=3))
def test_request_reads_back_as_meant(api_version: int, name: str, trailing: bytes) -> None:
    """A request's frame holds its header, body and trailing bytes, in every version."""
    body = ApiVersionsRequest(client_software_name=name)
    sent = encode_request(_header(api_version), body, trailing=trailing)
    reader = FrameReader()
    reader.receive_data(sent.data)
    payload = reader.next_payload()
    assert payload is not None
    assert reader.unread == b""
    header, end = decode_prefix(RequestHeader, payload, version=request_header_version(18, api_version))
    assert header == sent.header
    layout = min(max(api_version, 0), 5)
    decoded, end = decode_prefix(ApiVersionsRequest, payload, version=layout, offset=end)
    assert decoded == (body if layout >= 3 else ApiVersionsRequest())
    assert payload[end:] == trailing


@pytest.mark.parametrize(
    ("correlation_id", "own"),
    [(7, "05e471e1"), (0, "05e471e1"), (SENTINEL_CORRELATION_ID, "05e471e2")],
)
def test_sentinel_is_a_v0_request_with_another_correlation_id(correlation_id: int, own: str) -> None:
    sentinel = sentinel_for(correlation_id)
    assert sentinel.data == bytes.fromhex(f"00000012 0012 0000 {own} 0008 73656e74696e656c")


def test_sentinel_before_authentication_is_a_handshake() -> None:
    """A second ApiVersions request would close such a connection, so the sentinel is SaslHandshake v0."""
    sentinel = sentinel_for(7, before_authentication=True)
    assert (sentinel.api_key, sentinel.api_version) == (17, 0)
    assert sentinel.correlation_id == SENTINEL_CORRELATION_ID


@pytest.mark.parametrize(
    ("payload", "stray", "received"),
    [
        pytest.param(None, b"", "", id="nothing"),
        pytest.param(b"\x01\x02", b"", "00000002 0102", id="answer"),
        pytest.param(b"", b"\x09", "00000000 09", id="empty-answer-and-stray"),
        pytest.param(None, b"\x00\x00", "0000", id="stray"),
    ],
)
def test_received_is_everything_that_came(payload: bytes | None, stray: bytes, received: str) -> None:
    """`received` returns all bytes of an exchange, as they came."""
    request = Request(data=b"", header=_header(0))
    exchange = Exchange(request=request, outcome=Outcome.CLOSED, payload=payload, stray=stray)
    assert exchange.received == bytes.fromhex(received)


def test_step_has_received_its_responses_and_what_followed() -> None:
    """The bytes of a step are its responses, the frames after them, and the rest that forms no frame."""
    request = Request(data=b"", header=_header(0))
    answered = Exchange(request=request, outcome=Outcome.ANSWER, payload=b"\x01")
    closed = Exchange(request=request, outcome=Outcome.CLOSED)
    step = Step(connection=0, exchanges=(answered, closed), following=(b"\x02",), unread=b"\x03")
    assert step.received == bytes.fromhex("00000001 01 00000001 02 03")
    assert not step.closes


@pytest.mark.parametrize("arrival", list(Arrival))
def test_step_keeps_the_order_of_a_response_and_the_sentinels(arrival: Arrival) -> None:
    """The sentinel's response comes first if it overtook the other one; what came after both stays last."""
    request = sentinel_for(7)
    exchange = Exchange(request=request, outcome=Outcome.ANSWER, payload=b"\1", arrival=arrival)
    step = Step(connection=0, exchanges=(exchange,), sentinel=True, following=(b"\2", b"\3"))
    order = "02 01 03" if arrival.sentinel_came_first else "01 02 03"
    assert step.received == b"".join(bytes.fromhex("00000001") + bytes([each]) for each in bytes.fromhex(order))


@pytest.mark.parametrize(
    ("step", "closes"),
    [
        pytest.param(Step(connection=0), True, id="nothing-else"),
        pytest.param(Step(connection=0, pieces=(b"a",)), False, id="writes"),
        pytest.param(Step(connection=0, end_of_stream=True), False, id="ends-the-stream"),
        pytest.param(Step(connection=0, pause_s=0.5), False, id="pauses"),
    ],
)
def test_step_that_does_nothing_else_closes(step: Step, closes: bool) -> None:
    """A step without writes, responses, pause and end of stream closes the connection."""
    assert step.closes is closes


@pytest.mark.parametrize(
    ("api_key", "api_version", "broken", "kind"),
    [
        pytest.param(18, 0, "", "v0", id="oldest"),
        pytest.param(18, NEWEST_VERSION, "", f"v{NEWEST_VERSION}", id="newest"),
        pytest.param(18, NEWEST_VERSION + 1, "", "unknown", id="newer"),
        pytest.param(18, -1, "", "unknown", id="negative"),
        pytest.param(18, 3, "the size", "v3-broken", id="broken"),
        pytest.param(3, 0, "", "other", id="Metadata"),
    ],
)
def test_kind_of_a_request_is_one_of_few(api_key: int, api_version: int, broken: str, kind: str) -> None:
    """`kind` names known versions of ApiVersions, and marks bytes that are wrong on purpose."""
    header = _header(api_version, api_key)
    assert encode_request(header, b"", header_version=1, broken=broken).kind == kind


def test_request_is_printed_by_its_values() -> None:
    """Hypothesis prints a request as its repr, without the field tables of its classes."""
    sent = encode_request(_header(3), BODY)
    assert pretty(sent) == repr(sent)
    assert "FIELDS" not in pretty(sent)


def test_outcome_is_printed_as_its_word() -> None:
    """The repr of an outcome, as failures print it, is the word that records use."""
    assert [repr(outcome) for outcome in Outcome] == ["answer", "closed", "ignored", "silent"]
