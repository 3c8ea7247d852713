"""Tests that clients may break off, not read, pause, or open many connections.

None of that may disturb other clients.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

V0 = build_request(version=0)
MAX_EXAMPLES_FEW = 2
"""Examples of a property that opens dozens of connections, or sends hundreds of requests."""
MAX_EXAMPLES_AT_ONCE = 20
MAX_UNREAD_REQUESTS = 2000
MAX_PAUSES_MS = 600
"""The sum of the pauses of one example."""
BYSTANDER_REQUESTS = 100
"""About as many requests of a slow reader are answered meanwhile: a broker serves connections in turn."""
FAR_BYSTANDER_REQUESTS = 10
"""The same for a far target, which serves many requests of the slow reader in each round trip."""
MAX_CROWD = 30
FAR_CROWD = 5
"""The same for a far target: each connection costs a round trip."""
TLS_CROWD = 3
"""The same with a TLS handshake for each: these cost the broker some milliseconds."""


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.malformed-hurts-nobody")
@settings(max_examples=20)
@given(
    versions=st.lists(st.integers(0, 6), max_size=3),
    part=st.none() | partial_frames(),
    resets=st.booleans(),
    times=st.just(1),
)
@example(versions=[], part=build_part(V0, 9), resets=True, times=1)
@example(versions=[0, 3], part=None, resets=True, times=1)
@example(versions=[3, 99, 0], part=None, resets=False, times=1)
@example(versions=[], part=build_part(V0, 9), resets=True, times=MAX_CROWD)
def test_client_that_breaks_off_hurts_nobody(
    broker: Broker, versions: list[int], part: Request | None, resets: bool, times: int
) -> None:
    """A client that resets or closes its connection disturbs no other, however often.

    It does so inside a frame, or without reading.
    """
    if broker.patience.round_trip_s:
        times = min(times, FAR_CROWD)
    with undisturbed(broker, "a connection that breaks off"):
        for _ in range(min(times, TLS_CROWD) if broker.speaks_tls else times):
            # Each closes before the next one is opened, and before the others are looked at.
            with broker.connect() as offender:
                for version in versions:
                    offender.send(build_request(version=version))
                if part is not None:
                    offender.send(part)
                if resets:
                    offender.reset_on_close()


@pytest.mark.malformed
@pytest.mark.listeners(*HALF_CLOSING_LISTENERS)
@pytest.mark.clause("PROTOCOL.malformed-hurts-nobody")
@settings(max_examples=MAX_EXAMPLES_FEW)
@given(version=st.integers(0, 3))
@example(version=3)
def test_client_that_does_not_read_hurts_nobody(broker: Broker, version: int) -> None:
    """While a client sends hundreds of requests and reads no response, others are served."""
    sent = requests_that_fill_buffers(broker, min(version, broker.max_version))
    cause = "a connection that does not read"
    with (
        ExitStack() as opened,
        undisturbed(broker, cause, requests=bystander_requests(broker)),
    ):
        opened.enter_context(broker.connect()).begin(sent)


@pytest.mark.malformed
@pytest.mark.listeners(*HALF_CLOSING_LISTENERS)
@pytest.mark.clause("PROTOCOL.answers-in-order")
@settings(max_examples=MAX_EXAMPLES_FEW)
@given(version=st.integers(0, 3))
@example(version=3)
def test_client_that_reads_late_gets_every_answer(broker: Broker, version: int) -> None:
    """A client that reads only after hundreds of requests gets all responses in order."""
    sent = requests_that_fill_buffers(broker, min(version, broker.max_version))
    with broker.connect() as slow:
        finish = slow.begin(sent)
        # Meanwhile the responses fill the buffers; whether others are served then is judged by another property.
        with suppress(HarnessError):
            broker.converse_in_turn([V0] * bystander_requests(broker))
        exchanges = finish()
    answered = sum(exchange.outcome is Outcome.ANSWER for exchange in exchanges)
    assert_own_ids(exchanges)
    for exchange in exchanges:
        assert_answered(exchange, f"{answered} of {len(sent)} requests are answered")


def bystander_requests(broker: Broker) -> int:
    """Return how many requests another client sends one by one while a slow reader's are answered."""
    return FAR_BYSTANDER_REQUESTS if broker.patience.round_trip_s else BYSTANDER_REQUESTS


def requests_that_fill_buffers(broker: Broker, version: int) -> list[Request]:
    """Return so many requests that their responses do not fit between the target and a client that does not read."""
    (exchange,) = broker.converse([build_request(version=version)])
    one = max(len(exchange.payload or b""), 1)
    count = min(broker.buffered_bytes // one + 1, MAX_UNREAD_REQUESTS)
    return [build_request(version=version, correlation_id=index) for index in range(count)]


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.malformed-hurts-nobody")
@settings(max_examples=MAX_EXAMPLES_FEW)
@given(
    unused=st.integers(0, MAX_CROWD),
    unfinished=st.integers(0, MAX_CROWD),
    served=st.integers(0, MAX_CROWD),
    kept=st.integers(1, len(V0.data) - 1),
)
@example(unused=1, unfinished=0, served=0, kept=9)
@example(unused=0, unfinished=1, served=0, kept=2)
@example(unused=0, unfinished=1, served=0, kept=SIZE_BYTES + 1)
@example(unused=MAX_CROWD, unfinished=10, served=0, kept=9)
@example(unused=0, unfinished=0, served=20, kept=9)
def test_many_connections_hurt_nobody(broker: Broker, unused: int, unfinished: int, served: int, kept: int) -> None:
    """Many open connections disturb no other connection, and silent ones are served later.

    There are one or dozens of connections. They are silent, inside a frame, or have the same client id.

    A target may close what is beyond a limit of its own, like `max.connections.per.ip`.
    """
    if broker.speaks_tls:
        unfinished, served = min(unfinished, TLS_CROWD), min(served, TLS_CROWD)
    others = unused + unfinished + served
    is_gone = False
    with ExitStack() as crowd:

        def is_limit() -> bool:
            nonlocal is_gone
            is_gone = True
            crowd.close()
            return limits_connections(broker, others + 2)

        cause = "dozens of connections" if others > MIN_AT_ONCE else "a connection"
        with undisturbed(broker, cause, is_limit=is_limit):
            # Over TLS these are half open: they begin no handshake.
            silent = [crowd.enter_context(broker.connect(authenticate=False, plain=True)) for _ in range(unused)]
            for sent, count in ((build_part(V0, kept), unfinished), (V0, served)):
                for _ in range(count):
                    crowd.enter_context(broker.connect(authenticate=False)).send(sent)
        if silent and not is_gone and not broker.speaks_tls:
            (late,) = silent[0].converse([build_request(version=broker.readable_version)])
            is_refused = late.outcome is Outcome.CLOSED and is_limit()
            assert late.outcome is Outcome.ANSWER or is_refused, (
                "a connection that was silent from its beginning is not served"
            )


@pytest.mark.clause("KIP-35.per-connection")
@settings(max_examples=MAX_EXAMPLES_AT_ONCE)
@given(
    versions=st.lists(st.integers(0, NEWEST_VERSION), min_size=2, max_size=3),
    # A frame that breaks off inside its size prefix is judged by a separate clause.
    kept=st.integers(SIZE_BYTES, len(V0.data) - 1),
)
@example(versions=[0, 3], kept=9)
@example(versions=[3, 0, NEWEST_VERSION], kept=20)
def test_connections_that_negotiate_at_once_are_served_alike(broker: Broker, versions: list[int], kept: int) -> None:
    """Connections that ask at the same time, in different versions and with equal ids, get what each gets alone.

    The first of them is inside its frame while the others are served.
    """
    sent = [build_request(version=min(version, broker.max_version)) for version in versions]
    assume_served(broker, *sent)
    alone = [stable_part_of_response(broker.exchange(each)) for each in sent]
    own, *others = sent
    with ExitStack() as opened:
        first = opened.enter_context(broker.connect(authenticate=False))
        first.send(build_part(own, kept))
        finish = [opened.enter_context(broker.connect(authenticate=False)).begin([each]) for each in others]
        answers = [each()[0] for each in reversed(finish)][::-1]
        (late,) = first.converse([Request(data=own.data[kept:], header=own.header, body=own.body)])
    if any(each.payload is None for each in answers) and is_stopped_by_part(broker, own, kept):
        raise JudgedElsewhere(f"{STOPPED_BY_PART} (judged by {MALFORMED_HURTS_NOBODY})")
    for exchange, expected in zip((late, *answers), alone, strict=True):
        assert stable_part_of_response(exchange) == expected, "the response is not the one without other connections"


def stable_part_of_response(exchange: Exchange) -> StablePart:
    """Return the stable part of a response in the layout of its request.

    Raises:
        MalformedAnswer: there is none, or it does not decode.
    """
    return stable_part(decode_answer(exchange, api_version=exchange.request.api_version))


@pytest.mark.listeners("plaintext")
@pytest.mark.clause("PROTOCOL.split-independent")
@settings(max_examples=1)
@given(
    version=st.integers(0, 3),
    pauses_ms=st.lists(st.integers(1, 500), min_size=1, max_size=8).filter(lambda drawn: sum(drawn) <= MAX_PAUSES_MS),
)
@example(version=0, pauses_ms=[310])
@example(version=3, pauses_ms=[40] * 8)
def test_pauses_inside_a_request_do_not_matter(broker: Broker, version: int, pauses_ms: list[int]) -> None:
    """A request that comes in pieces with pauses of up to 500 ms is answered; all listeners are tried at once."""
    assert_pauses_do_not_matter(broker, version, [pause_ms / 1000 for pause_ms in pauses_ms])


@pytest.mark.listeners("plaintext")
@pytest.mark.clause("PROTOCOL.idle-connection-kept")
@settings(max_examples=1)
@given(version=st.integers(0, 3), idle_ms=st.just(3000))
@example(version=0, idle_ms=50)
def test_idle_connection_is_kept(broker: Broker, version: int, idle_ms: int) -> None:
    """A connection that was idle for three seconds is served, on all listeners at once.

    It was idle between requests or inside one.
    """
    assert_pauses_do_not_matter(broker, version, [idle_ms / 1000], with_unused=True)
