"""Tests of refused frame sizes and of streams that end early.

Streams end after complete frames or inside a frame.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

MAX_REQUESTS_IN_A_RACE = 2
"""The limit if responses may be lost: more requests often get neither a response nor a close, which costs the
silence bound each time.
"""
MAX_REQUESTS_BEFORE_A_HANG = 1
"""The limit if the connection may hang: two requests hung 39 of 40 times on 0.11.0.3, one request never did."""
MAX_SENT_BYTES = 1 << 20
"""The most that is sent of one frame: a release without its own limit before authentication accepts 100 MB each
time."""
V0 = build_request(version=0)
FLEXIBLE = build_request(version=3, correlation_id=9)
FLEXIBLE_BYTES = len(FLEXIBLE.data) - SIZE_BYTES
MAX_EXAMPLES_SLOW = 10
"""Number of examples for properties whose examples may each cost a large frame or a pause."""


def assert_closed_without_a_byte(exchange: Exchange) -> None:
    """Fail unless an exchange ended with a close and no bytes before it."""
    assert exchange.outcome is Outcome.CLOSED, summary_of(exchange)
    assert exchange.stray == b"", "the target sent bytes before it closed the connection"


def largest_frame(broker: Broker) -> int:
    """Return the largest frame that new connections of the listener accept."""
    traits = broker.profile.traits
    return traits.sasl_frame_bytes_max if broker.asks_for_authentication else SOCKET_REQUEST_MAX_BYTES


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.negative-size-refused")
@given(broken=frames_with_negative_size())
@example(broken=build_with_size(-1))
@example(broken=build_with_size(-(2**31)))
def test_negative_size_closes_the_connection(broker: Broker, broken: Request) -> None:
    """A broker closes on a negative size, and answers nothing that follows it."""
    assert_closed_without_a_byte(broker.exchange(broken))


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.oversize-refused")
@given(surplus=surpluses())
@example(surplus=1)
@example(surplus=2**31 - 1)
def test_too_large_size_closes_the_connection(broker: Broker, surplus: int) -> None:
    """A broker closes on a size above its limit without waiting for the payload."""
    size = min(largest_frame(broker) + surplus, INT32_MAX)
    assert_closed_without_a_byte(broker.exchange(build_with_size(size)))


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.oversize-refused")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(broken=first_bytes_of_other_protocols())
@example(broken=build_first_bytes("HTTP"))
@example(broken=build_first_bytes("the PROXY protocol, v1", following=True))
@example(broken=build_first_bytes("the PROXY protocol, v2", following=True))
@example(broken=build_first_bytes("TLS"))
def test_other_protocol_is_closed(broker: Broker, broken: Request) -> None:
    """A broker closes on the first bytes of another protocol, which read as a size above every limit."""
    assert_closed_without_a_byte(broker.exchange(broken))


@pytest.mark.malformed
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("PROTOCOL.oversize-refused")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(missing=st.integers(0, 3))
@example(missing=0)
def test_frame_within_the_limit_is_taken_before_authentication(broker: Broker, missing: int) -> None:
    """Before authentication, a frame as large as the limit is still read, and its request is answered."""
    size = min(largest_frame(broker), MAX_SENT_BYTES) - missing
    exchange = broker.exchange(build_whole_frame_of(size))
    assert_error(exchange, ErrorCode.NONE)


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.size-prefix-decides")
@given(sent=frames_with_small_size())
@example(sent=build_cut_short(V0, CLIENT_ID_LENGTH_END + 2, FLEXIBLE.data))
@example(sent=build_cut_short(FLEXIBLE, FLEXIBLE_BYTES - 8, V0.data + V0.data))
@example(sent=build_with_frame_inside(V0))
def test_request_ends_where_its_size_says(broker: Broker, sent: Request) -> None:
    """What follows a request that its size prefix cuts short does not change what becomes of that request."""
    cut, *others = as_read([sent])
    assume(len(cut.data) - SIZE_BYTES >= SKIPPED_FRAME_BYTES and not is_unfinished(others[-1]))
    # A refused size may cost the response before it; of other implementations this is not known.
    may_lose_answers = broker.profile.traits.early_end_loses_answers or not broker.pin_is_binding
    assume(not (may_lose_answers and has_refused_size(others[0].data)))
    (alone,) = broker.converse([cut])
    if alone.outcome is Outcome.SILENT:
        waits = broker.exchange(cut).outcome is not Outcome.IGNORED
        assert not waits, "the target waits for bytes that the size prefix does not count"
        return
    followed, *_ = broker.converse([cut, *others])
    assert fate_of(followed) == fate_of(alone), (
        f"with bytes after it, {fate_of(followed)}; without them, {fate_of(alone)}"
    )


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.short-frame-refused")
@given(broken=short_frames())
@example(broken=build_short_frame(0, 0))
@example(broken=build_short_frame(0, 1))
@example(broken=build_short_frame(3, 7))
@example(broken=build_short_frame(0, 8))
def test_frame_too_short_for_a_header_is_refused(broker: Broker, broken: Request) -> None:
    """A broker closes on a frame that ends before its header does, or skips the frame if its release does."""
    skips = broker.profile.traits.short_frame_ignored and not broker.asks_for_authentication
    exchange = broker.exchange(broken)
    if skips and len(broken.data) - SIZE_BYTES < SKIPPED_FRAME_BYTES:
        assert exchange.outcome is Outcome.IGNORED, summary_of(exchange)
    else:
        assert_closed_without_a_byte(exchange)


@pytest.mark.malformed
@pytest.mark.listeners(*HALF_CLOSING_LISTENERS)
@pytest.mark.clause("PROTOCOL.half-close-answers-complete")
@given(versions=st.lists(st.integers(0, 9), min_size=1, max_size=6))
@example(versions=[0])
@example(versions=[0, 99, 3])
def test_whole_frames_are_answered_behind_the_end_of_stream(broker: Broker, versions: list[int]) -> None:
    """All requests before the end of our stream are answered, unless responses may be lost, and the target closes."""
    traits = broker.profile.traits
    all_answered = not traits.early_end_loses_answers
    most = len(versions) if all_answered else MAX_REQUESTS_IN_A_RACE
    most = MAX_REQUESTS_BEFORE_A_HANG if traits.early_end_may_hang else most
    sent = [build_request(version=version, correlation_id=index) for index, version in enumerate(versions[:most])]
    with broker.connect() as connection:
        exchanges = connection.end_stream(sent)
    answered = [each for each in exchanges if each.outcome is Outcome.ANSWER]
    if all_answered:
        for exchange in exchanges:
            assert_answered(exchange, f"{len(answered)} of {len(sent)} requests were answered")
    assert_own_ids(answered)
    if not has_ended(exchanges):
        raise MalformedAnswer(exchanges[-1], "the connection stays open")


@pytest.mark.malformed
@pytest.mark.listeners(*HALF_CLOSING_LISTENERS)
@pytest.mark.clause("PROTOCOL.partial-frame-waits")
@given(part=partial_frames())
@example(part=build_part(build_request(version=0), 1))
@example(part=build_part(build_request(version=3), 20))
def test_end_of_stream_inside_a_frame_closes(broker: Broker, part: Request) -> None:
    """A stream that ends inside a frame gets no bytes and is closed."""
    with broker.connect(authenticate=False) as connection:
        (exchange,) = connection.end_stream([part])
    assert_closed_without_a_byte(exchange)


@pytest.mark.clause("PROTOCOL.partial-frame-waits")
@given(kept=st.integers(1, len(V0.data) - 1))
@example(kept=3)
@example(kept=9)
def test_rest_of_a_frame_is_awaited(broker: Broker, kept: int) -> None:
    """A broker waits for the rest of a frame and answers when it has arrived, while other connections are served."""
    with broker.connect(authenticate=False) as connection:
        connection.send(build_part(V0, kept))
        # A complete exchange on another connection: during that time nothing may happen on this one.
        other = broker.exchange(V0)
        if other.payload is None and is_stopped_by_part(broker, V0, kept):
            raise JudgedElsewhere(f"{STOPPED_BY_PART} (judged by {MALFORMED_HURTS_NOBODY})")
        assert_answered(other, f"on another connection {what_it_did(other)}")
        assert connection.early_bytes() == b"", "the target sent bytes before the frame was complete"
        rest = Request(data=V0.data[kept:], header=V0.header)
        (exchange,) = connection.converse([rest])
    assert_error(exchange, ErrorCode.NONE)
    decode_answer(exchange, api_version=0)
