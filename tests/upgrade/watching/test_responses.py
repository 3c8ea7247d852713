"""Which responses the proxy holds, and which request each answers."""

from __future__ import annotations

import pytest

from tests.upgrade.watching.relay import (
    FETCH,
    METADATA_KEY,
    PRODUCE,
    metadata,
    response,
)
from upgrade.watching.pending_requests import PendingRequests
from upgrade.watching.request_head import RequestHead
from upgrade.watching.responses import MAX_HELD_BYTES, MAX_TABLE_BYTES, HeldResponse, Responses
from wire.api_keys import API_VERSIONS_KEY


def _asked(*heads: tuple[int, int, int]) -> PendingRequests:
    pending = PendingRequests()
    for key, version, number in heads:
        pending.add(RequestHead(key, version, number, b"app", b""))
    return pending


def _responses(*heads: tuple[int, int, int], unread: list[tuple[int, int]] | None = None) -> Responses:
    """Return the responses to requests; of each that is not read the API key and the size are added to a list."""

    def on_unread(head: RequestHead, size: int) -> None:
        assert unread is not None
        unread.append((head.api_key, size))

    return Responses(_asked(*heads), lambda head, start: None, on_unread)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_only_what_names_brokers_is_held(size: int) -> None:
    """A Metadata response comes complete, those before and after it in pieces; a write with acks=0 is left out."""
    before, named, after = (
        response(b"one" * 9, number=1),
        metadata("h", 1, number=3),
        response(b"", number=4),
    )
    responses = _responses((PRODUCE, 7, 1), (PRODUCE, 7, 2), (METADATA_KEY, 1, 3), (PRODUCE, 7, 4))
    stream = before + named + after
    parts = [part for at in range(0, len(stream), size) for part in responses.feed(stream[at : at + size])]
    held = [part for part in parts if isinstance(part, HeldResponse)]
    assert [part.payload for part in held] == [named[4:]]
    assert b"".join(b"" if isinstance(part, HeldResponse) else bytes(part) for part in parts) == before + after
    assert responses.is_between_frames


@pytest.mark.parametrize(("api_key", "most"), [(API_VERSIONS_KEY, MAX_TABLE_BYTES), (METADATA_KEY, MAX_HELD_BYTES)])
def test_a_huge_response_is_passed_unread(api_key: int, most: int) -> None:
    """Tables are kept with the client's requests, and decoding metadata takes seconds for each MiB; what is not read
    is said."""
    unread: list[tuple[int, int]] = []
    responses = _responses((api_key, 0, 1), (api_key, 0, 2), unread=unread)
    (read,) = responses.feed(response(bytes(most - 4), number=1))
    assert isinstance(read, HeldResponse)
    huge = response(bytes(most - 3), number=2)
    parts = [part for part in responses.feed(huge) if not isinstance(part, HeldResponse)]
    assert b"".join(parts) == huge
    assert unread == [(api_key, most + 1)]


def test_an_incomplete_response_is_passed_at_the_end() -> None:
    """What is held when the stream ends is what the client would have got."""
    responses = _responses((METADATA_KEY, 1, 1))
    piece = metadata("h", 1)[:15]
    assert responses.feed(piece) == []
    assert responses.held == piece


def test_a_correlation_id_may_be_used_again() -> None:
    """A write with acks=0 gives way to a later request with its correlation id, until a write is answered."""
    pending = _asked((PRODUCE, 7, 1), (METADATA_KEY, 1, 1), (FETCH, 4, 2))
    found = pending.answer(1)
    assert found is not None
    assert (found.api_key, len(pending), pending.has_held) == (METADATA_KEY, 1, False)
    assert pending.answer(1) is None
    pending = _asked((PRODUCE, 7, 1), (PRODUCE, 7, 2), (METADATA_KEY, 1, 2))
    assert pending.first is None
    assert pending.may_all_stay_unanswered is False
    for key in (PRODUCE, PRODUCE, METADATA_KEY):
        found = pending.answer(1 if len(pending) == 3 else 2)
        assert found is not None
        assert found.api_key == key
    assert pending.writes_are_answered


def test_metadata_is_held_although_a_write_has_its_correlation_id() -> None:
    """A client that always sends the same correlation id gets the addresses of the proxy all the same."""
    responses = _responses((PRODUCE, 7, 0), (METADATA_KEY, 1, 0))
    named = metadata("h", 1, number=0)
    (held,) = responses.feed(named)
    assert isinstance(held, HeldResponse)
    assert held.request.api_key == METADATA_KEY
