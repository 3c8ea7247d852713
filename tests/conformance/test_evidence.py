"""A client's failure is shown by bytes or by time.

A busy machine can cause only a failure shown by time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from conformance.assertions.client_moves import (
    assert_allowed,
    assert_bounded,
    assert_closes_after,
    assert_ends_by_itself,
    assert_newest_metadata,
    assert_reports_error,
    assert_works,
)
from conformance.assertions.client_success import (
    assert_keeps_working,
    assert_pauses,
    assert_recovers,
    assert_success_is_earned,
    assert_uses_later_connections,
    assert_works_or_says_why,
)
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.evidence import evidence_of, kind_of
from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.limits import MAX_IN_WINDOW, MAX_WITHOUT_PAUSE
from reference_model.clients.scripts.script import EMPTY, Answer, Script, one_node
from reports.repeats import ShownBy
from strategies.api_versions import build_request
from tests.conformance.client_plays import (
    ABORTED,
    FAILED,
    HEALTHY,
    STOPPED,
    WELL,
    FakeClient,
    asks,
    entry,
    worked,
)
from tests.reference_model.clients.recordings import asked, listing, opened, sent
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome

BYTES, TIME = ShownBy.BYTES, ShownBy.TIME
HUNG = replace(STOPPED, killed_for="time")
NO_METADATA = worked(asked(4))
UNKNOWN_WORDS = replace(FAILED, detail="NoBrokersAvailable")
REFUSES = replace(FAILED, detail="UnsupportedVersionException: the broker is too old")
GIVEN_UP = replace(FAILED, detail="Error: the driver gave up: no result in 8408 ms")
SAYS_NOTHING = replace(FAILED, outcome=None, detail="")
COMMAND = FakeClient(client=entry(can_ask_again=False))
ENDS = partial(assert_ends_by_itself, FakeClient())
MANY = [asked(3, at_ms=n) for n in range(30)]
ON_ONE_CONNECTION = worked(*MANY, connections=(opened(api_versions_requests=30),))
ON_MANY = worked(*(asked(3, at_ms=n, connection=n) for n in range(MAX_IN_WINDOW + 1)))
AT_ONCE = worked(
    connections=[opened(n, at_ms=2 * n, closed_ms=2 * n + 1, closed_by="broker") for n in range(MAX_WITHOUT_PAUSE + 2)]
)
LEFT_OPEN = worked(
    asked(4, Answer(error_code=42, table=EMPTY)),
    connections=(opened(closed_ms=None, closed_by=""),),
    duration_ms=5000,
)
SAID_IN_VAIN = Play(
    recording=replace(HEALTHY.recording, cut_short="the client got enough responses"),
    result=replace(WELL, asks=asks(True, False)),
)
HEALS = worked(asked(4), script=Script(heals_after_ms=10))


def ended(result: Any) -> Play:
    """Return a healthy play with another end."""
    return Play(recording=HEALTHY.recording, result=result)


@pytest.mark.parametrize(
    ("fails", "expected"),
    [
        (partial(assert_works, ended(FAILED)), TIME),
        (partial(assert_works, ended(HUNG)), TIME),
        (partial(assert_works_or_says_why, FakeClient(), ended(HUNG)), TIME),
        (partial(assert_works_or_says_why, FakeClient(), ended(FAILED)), TIME),
        (partial(assert_works_or_says_why, FakeClient(), ended(UNKNOWN_WORDS)), TIME),
        (partial(assert_works_or_says_why, FakeClient(), ended(REFUSES)), BYTES),
        (partial(assert_works_or_says_why, FakeClient(), ended(GIVEN_UP)), TIME),
        (partial(assert_works_or_says_why, COMMAND, ended(SAYS_NOTHING)), TIME),
        (partial(assert_reports_error, ended(WELL)), BYTES),
        (partial(assert_reports_error, ended(HUNG)), TIME),
        (partial(ENDS, ended(ABORTED)), BYTES),
        (partial(ENDS, ended(replace(STOPPED, killed_for="memory"))), BYTES),
        (partial(ENDS, ended(HUNG)), TIME),
        (partial(assert_bounded, ON_ONE_CONNECTION), BYTES),
        (partial(assert_bounded, ON_MANY), TIME),
        (partial(assert_pauses, AT_ONCE), TIME),
        (partial(assert_closes_after, LEFT_OPEN, ErrorCode.INVALID_REQUEST), TIME),
        (partial(assert_newest_metadata, NO_METADATA, 12, "as usual"), TIME),
        (partial(assert_newest_metadata, HEALTHY, 11, "as usual"), BYTES),
        (partial(assert_newest_metadata, HEALTHY, None, "as usual"), BYTES),
        (partial(assert_keeps_working, NO_METADATA), TIME),
        (partial(assert_keeps_working, SAID_IN_VAIN), TIME),
        (partial(assert_uses_later_connections, HEALTHY), TIME),
        (partial(assert_recovers, HEALS), TIME),
        (partial(assert_success_is_earned, FakeClient(), NO_METADATA), BYTES),
        (
            partial(
                assert_allowed,
                worked(asked(3, listing((3, 0, 1))), sent(12)),
                "KIP-35.client-uses-overlap",
            ),
            BYTES,
        ),
    ],
)
def test_failure_is_shown_by_bytes_or_by_time(fails: Callable[[], None], expected: ShownBy) -> None:
    """What was seen stays as it is; what was not seen may come later. The class in the signature is the same."""
    with pytest.raises(AssertionError) as caught:
        fails()
    assert evidence_of(caught.value) is expected
    assert kind_of(caught.value) in ("AssertionError", "ClientAborted")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(table=EMPTY), "the client neither works nor fails in its time"),
        (Answer(), "the client fails with a broker that lists all that it needs: no result in its time"),
    ],
)
def test_driver_that_gives_up_is_not_quoted_as_the_library(answer: Answer, words: str) -> None:
    """How long it waited differs from play to play."""
    play = Play(recording=replace(HEALTHY.recording, script=one_node(answer)), result=GIVEN_UP)
    with pytest.raises(AssertionError) as caught:
        assert_works_or_says_why(FakeClient(), play)
    assert str(caught.value).partition("\n")[0] == words


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [(Outcome.SILENT, TIME), (Outcome.CLOSED, BYTES), (Outcome.ANSWER, BYTES)],
)
def test_silence_of_a_broker_is_time(outcome: Outcome, expected: ShownBy) -> None:
    """A closed connection or a wrong response is none."""
    exchange = Exchange(request=build_request(version=0), outcome=outcome)
    assert evidence_of(MalformedAnswer(exchange, "it is wrong")) is expected
