"""A broker that answers slowly takes a client's time; what waits by design does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.slow_answers import MAY_WAIT, MOST_MS, SLOW_MS, slow_answers
from reference_model.clients.scripts.recording import Recording, SeenRequest
from tests.reference_model.clients.recordings import opened, recorded, sent
from wire.api_keys import CREATE_TOPICS_KEY, JOIN_GROUP_KEY, METADATA_KEY, PRODUCE_KEY

SLOW = MOST_MS + 1000


def request(api_key: int, at_ms: int, answered_ms: int | None, connection: int = 0) -> SeenRequest:
    """Return a request, and when a real broker answered it; None for never."""
    seen = sent(1, api_key=api_key, at_ms=at_ms, connection=connection)
    return replace(seen, answered_ms=answered_ms)


def recording_of(*took_ms: int) -> Recording:
    """Return a recording of requests that a broker took so long to answer, each on a connection of its own."""
    return recorded(
        *(
            request(CREATE_TOPICS_KEY, 10, 10 + each, connection)
            for connection, each in enumerate(took_ms)
        )
    )


@pytest.mark.parametrize(
    "took_ms",
    [
        pytest.param([SLOW], id="one-answer"),
        pytest.param([400] * 20, id="many-answers"),
    ],
)
def test_slow_broker_is_named(took_ms: list[int]) -> None:
    """The sentence has the time, and the request that took longest."""
    said = slow_answers(recording_of(*took_ms))
    assert said.startswith("the broker was too slow: the client waited ")
    assert said.endswith("for CreateTopics v1")


def test_broker_that_does_not_answer_is_slow() -> None:
    """Up to the end of the connection, or of the play."""
    unanswered = request(METADATA_KEY, 0, None)
    still_open: dict[str, Any] = {"closed_ms": None, "closed_by": ""}
    assert slow_answers(
        recorded(unanswered, connections=[opened(**still_open)], duration_ms=SLOW)
    ).endswith("for Metadata v1")
    assert not slow_answers(recorded(unanswered, connections=[opened(closed_ms=100)]))


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([request(key, 0, SLOW) for key in MAY_WAIT], id="may-wait"),
        pytest.param([request(PRODUCE_KEY, 0, None)], id="without-confirmation"),
        pytest.param(
            [request(METADATA_KEY, at, at + SLOW_MS) for at in range(0, 20_000, SLOW_MS)],
            id="loop-of-fast-answers",
        ),
        pytest.param(
            [request(JOIN_GROUP_KEY, 0, SLOW), request(METADATA_KEY, 1, SLOW + 5)],
            id="behind-one-that-waits",
        ),
    ],
)
def test_broker_is_not_slow(requests: list[SeenRequest]) -> None:
    """What waits by design, what needs no answer, and what comes after them in line says nothing about the broker."""
    assert not slow_answers(recorded(*requests))
