"""The end of a target: the words for it, and the clause that it violates."""

from __future__ import annotations

import pytest

from conformance.assertions.judging import crash_in_words
from conformance.engine.crashes import CRASH_OF_BROKEN, CRASH_OF_WELL_FORMED, clause_of_crash
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Step

ENDED = "broker ended by SIGABRT; last lines of broker.out:"


@pytest.mark.parametrize(
    ("last_words", "why"),
    [
        pytest.param((ENDED, "started", "panic: no memory", "frame 1", "panic: 2"), 2, id="panic"),
        pytest.param((ENDED, "started", "frame 1"), 0, id="no-reason"),
        pytest.param((ENDED,), 0, id="no-output"),
    ],
)
def test_a_crash_is_summed_up_by_the_line_with_its_reason(
    last_words: tuple[str, ...], why: int
) -> None:
    """That is the first line in which the target says why, or the line about how it ended, wherever they stand."""
    text = "\n  ".join(last_words)
    assert crash_in_words(text) == (f"this request crashes the target: {last_words[why]}", text)


def step(broken: str) -> Step:
    """Return the step of one request."""
    request = build_request(version=0, broken=broken)
    exchange = Exchange(request=request, outcome=Outcome.CLOSED)
    return Step(connection=0, pieces=(request.data,), exchanges=(exchange,))


@pytest.mark.parametrize(
    ("steps", "clause"),
    [
        pytest.param([step(""), step("")], CRASH_OF_WELL_FORMED, id="well-formed"),
        pytest.param([step(""), step("odd"), step("")], CRASH_OF_BROKEN, id="one-malformed"),
        pytest.param(
            [step(""), Step(connection=1, pieces=(b"\0",))], CRASH_OF_BROKEN, id="no-frame"
        ),
        pytest.param([step(""), Step(connection=0)], CRASH_OF_WELL_FORMED, id="closed"),
    ],
)
def test_the_clause_of_a_crash_depends_on_what_was_sent(steps: list[Step], clause: str) -> None:
    """One malformed request, or bytes that are no complete frame, make it the one about malformed requests."""
    assert clause_of_crash(steps).id == clause
