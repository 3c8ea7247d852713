"""Tests of the gate of a read-only run: what it lets through, and what never.

Requests may arrive in any pieces.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.api_keys import API_VERSIONS_KEY, FIND_COORDINATOR_KEY, METADATA_KEY, PRODUCE_KEY
from wire.codec import encode
from wire.described_messages import METADATA
from wire.errors import NotReadOnly
from wire.exchange import encode_request
from wire.headers import RequestHeader
from wire.message_schemas import message_from
from wire.read_only import READ_ONLY, ReadOnlyGate
from wire.sasl import authenticate_request, bare_token, handshake_request

TOPIC = message_from(METADATA.request, {"topics": [{"name": "orders"}]})
"""Names a topic, and leaves its creation to the default, which is true."""


def bare(api_key: int, api_version: int = 0) -> bytes:
    """Return a frame that has a key, a version and a correlation id."""
    payload = b"".join(each.to_bytes(2, signed=True) for each in (api_key, api_version)) + b"\0" * 4
    return len(payload).to_bytes(4) + payload


def metadata(api_version: int, **values: object) -> bytes:
    """Return a request of Metadata."""
    header = RequestHeader(request_api_key=METADATA_KEY, request_api_version=api_version, correlation_id=7)
    body = encode(METADATA.request(**values), version=api_version)
    return encode_request(header, body, layout=METADATA.layout(api_version)).data


@given(cut=st.integers(0, 40), api_key=st.sampled_from(sorted(READ_ONLY.keys() - {METADATA_KEY})))
def test_listed_request_passes_in_any_pieces(cut: int, api_key: int) -> None:
    """A request of each API on the list passes, however it is cut, and so does the next one."""
    gate = ReadOnlyGate()
    data = bare(api_key) + bare(API_VERSIONS_KEY, 99)
    gate.check(data[:cut])
    gate.check(data[cut:])
    gate.check(handshake_request().data)


@given(cut=st.integers(0, 8))
def test_request_off_the_list_is_refused_before_its_body_is_written(cut: int) -> None:
    """The refusal comes with the bytes that tell the API, and every later call raises as well."""
    gate = ReadOnlyGate()
    data = bare(FIND_COORDINATOR_KEY, 4)
    gate.check(data[: min(cut, 7)])
    with pytest.raises(NotReadOnly, match="version 4 of the API with key 10"):
        gate.check(data[min(cut, 7) : 8])
    with pytest.raises(NotReadOnly):
        gate.check(bare(API_VERSIONS_KEY))


def test_what_answers_with_a_secret_is_not_listed() -> None:
    """The response to DescribeDelegationToken has what authenticates as the owner of a token."""
    with pytest.raises(NotReadOnly, match="version 3 of the API with key 41"):
        ReadOnlyGate().check(bare(41, 3))


def test_second_request_of_a_write_is_checked_too() -> None:
    """What follows a listed request does not pass with it."""
    with pytest.raises(NotReadOnly, match="key 0"):
        ReadOnlyGate().check(bare(API_VERSIONS_KEY) + bare(PRODUCE_KEY))


@pytest.mark.parametrize("request_", [authenticate_request(b"\0u\0p"), bare_token(b"\0u\0p")])
def test_token_does_not_pass(request_: object) -> None:
    """Whoever sends credentials answers for them: a token is neither a listed request nor one at all."""
    with pytest.raises(NotReadOnly):
        ReadOnlyGate().check(request_.data)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [-1, 0, 3, 104857601])
def test_frame_that_is_no_request_is_refused(size: int) -> None:
    """A size that no request has is malformed, and so not on the list."""
    with pytest.raises(NotReadOnly, match=f"a frame of {size} bytes"):
        ReadOnlyGate().check(size.to_bytes(4, signed=True) + b"\0\x12\0\0")


@pytest.mark.parametrize("api_version", range(14))
def test_metadata_passes_without_topics(api_version: int) -> None:
    """A request that names no topic creates none, in every version."""
    ReadOnlyGate().check(metadata(api_version, topics=()))


@pytest.mark.parametrize("api_version", [0, 3, 4, 9, 13])
def test_metadata_that_may_create_a_topic_is_refused(api_version: int) -> None:
    """Before v4 every named topic may be created, and from v4 on unless the request says otherwise."""
    with pytest.raises(NotReadOnly, match="may create the topics"):
        ReadOnlyGate().check(metadata(api_version, topics=TOPIC.topics))


def test_metadata_without_creation_may_name_topics() -> None:
    """From v4 on a request can say that no topic is to be created."""
    ReadOnlyGate().check(metadata(4, topics=TOPIC.topics, allow_auto_topic_creation=False))


def test_metadata_that_cannot_be_read_is_refused() -> None:
    """What is not understood is not sent: neither bytes that do not decode nor a version without a layout."""
    with pytest.raises(NotReadOnly, match="cannot be read"):
        ReadOnlyGate().check(bare(METADATA_KEY, 9))
    with pytest.raises(NotReadOnly, match="layout is not known"):
        ReadOnlyGate().check(bare(METADATA_KEY, 99))
