"""Every strategy of requests has safe keys, safe sizes and allowed reactions."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.broker.rules.oracle import reactions
from reference_model.judging.stored_inputs import cut_frames
from reference_model.profiles.profile import FOLDER
from strategies.broken_requests import MAX_HARMLESS_SIZE
from tests.reference_model.broker.release_lines import IDENTITY, LINES, profile_at
from tests.strategies.every_request import (
    BROKEN_IN_SIZE,
    BROKEN_IN_WHOLE_FRAMES,
    EVERY_NAME,
    EVERY_REQUEST,
    OTHER_APIS,
    WELL_FORMED,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.exchange import Outcome, Request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES
from wire.header_versions import request_header_version
from wire.headers import RequestHeader

HIGHEST_KEY_OF_ANYBODY = 1999
"""Vendors' own keys seen so far lie below 1,100; Kafka's highest is 94."""


def payload_of(request: Request) -> bytes:
    """Return the frame without its size prefix."""
    return request.data[SIZE_BYTES:]


def size_of(request: Request) -> int:
    """Return the size that the prefix declares."""
    return int.from_bytes(request.data[:SIZE_BYTES], signed=True)


def test_every_strategy_of_requests_is_looked_at() -> None:
    assert {*EVERY_NAME, *OTHER_APIS} == EVERY_REQUEST.keys()


enough = settings(max_examples=25)
"""Fewer examples, because many strategies share these tests and each has tests of its own."""


@pytest.mark.parametrize("name", EVERY_NAME)
@given(data=st.data())
@enough
def test_request_is_harmless_and_says_what_is_broken(data: st.DataObject, name: str) -> None:
    """No generated request can change a broker, or make it allocate much, and one that is wrong on purpose has a note.

    Its API key is 18, or a key that no API has, or it is never read. Its size prefix is true, negative, above the
    limit, or small.
    """
    sent = data.draw(EVERY_REQUEST[name])
    frames = cut_frames(sent.data)
    for each in (*frames.complete, *filter(None, [frames.rest])):
        payload = payload_of(each)
        if len(payload) >= 2 and 0 <= size_of(each) <= SOCKET_REQUEST_MAX_BYTES:
            api_key = int.from_bytes(payload[:2], signed=True)
            assert api_key == API_VERSIONS_KEY or not 0 <= api_key <= HIGHEST_KEY_OF_ANYBODY
    size = size_of(sent)
    if name not in BROKEN_IN_SIZE:
        assert size == len(payload_of(sent))
    assert size <= MAX_HARMLESS_SIZE or size > SOCKET_REQUEST_MAX_BYTES
    assert sent.broken or name not in {*BROKEN_IN_WHOLE_FRAMES, *BROKEN_IN_SIZE}


def test_no_release_has_a_key_that_nobody_knows() -> None:
    """Every key that a recorded broker advertises lies below the keys that no API has."""
    with (FOLDER / "advertised.csv").open() as lines:
        keys = {int(row["api_key"]) for row in csv.DictReader(lines)}
    assert max(keys) <= HIGHEST_KEY_OF_ANYBODY


@pytest.mark.parametrize("name", WELL_FORMED)
@given(data=st.data())
@enough
def test_well_formed_request_decodes_to_what_is_meant(data: st.DataObject, name: str) -> None:
    """A valid request is not marked as broken, and strict decoding returns its header and body."""
    sent = data.draw(EVERY_REQUEST[name])
    assert sent.broken == ""
    version = request_header_version(API_VERSIONS_KEY, sent.api_version)
    payload = payload_of(sent)
    header, offset = decode_prefix(RequestHeader, payload, version=version)
    layout = min(max(sent.api_version, 0), NEWEST_VERSION)
    body = decode(ApiVersionsRequest, payload[offset:], version=layout)
    assert (header.correlation_id, header.client_id) == (sent.correlation_id, sent.header.client_id)
    if sent.api_version >= FIRST_FLEXIBLE_VERSION:
        assert (header, body) == (sent.header, sent.body)


@pytest.mark.parametrize("name", WELL_FORMED)
@given(data=st.data(), release=st.sampled_from(LINES))
@enough
def test_well_formed_request_is_never_closed_by_the_oracle(data: st.DataObject, name: str, release: str) -> None:
    """The oracle answers a valid request on every release; only 0.11 may stay silent."""
    sent = data.draw(EVERY_REQUEST[name])
    for reaction in reactions(payload_of(sent), profile_at(release), IDENTITY):
        silent = release == "0.11.0.3" and reaction.outcome is Outcome.SILENT
        assert silent or reaction.outcome is Outcome.ANSWER


NEVER_SERVED = sorted(set(BROKEN_IN_WHOLE_FRAMES) - {"mutated_requests"})


@pytest.mark.parametrize("name", NEVER_SERVED)
@given(data=st.data(), release=st.sampled_from(LINES))
@enough
def test_broken_request_is_never_served_by_the_oracle(data: st.DataObject, name: str, release: str) -> None:
    """The oracle never serves a broken request; if its version is supported, it is closed or ignored."""
    sent = data.draw(EVERY_REQUEST[name])
    profile = profile_at(release)
    (reaction,) = reactions(payload_of(sent), profile, IDENTITY)
    other_api = sent.header.request_api_key != API_VERSIONS_KEY
    if other_api or sent.api_version <= profile.traits.api_versions_max:
        short = len(payload_of(sent)) < 2 and profile.traits.short_frame_ignored
        assert reaction.outcome is (Outcome.IGNORED if short else Outcome.CLOSED)
    else:
        assert reaction.outcome is not Outcome.ANSWER or reaction.error_code != 0


@given(sent=EVERY_REQUEST["mutated_requests"], release=st.sampled_from(LINES))
def test_oracle_has_a_word_on_every_mutation(sent: Request, release: str) -> None:
    """A mutated request is still an ApiVersions request, so the oracle always has a reaction."""
    assert reactions(payload_of(sent), profile_at(release), IDENTITY)
