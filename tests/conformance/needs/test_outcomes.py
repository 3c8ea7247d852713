"""What became of an operation from whose broker's table something was taken away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.operation_results import assert_operates
from conformance.needs.outcomes import outcome_without, usual_of
from fixtures.recording_proxy.recorded_trial import TriedPlay
from fixtures.recording_proxy.written_codecs import written_codecs
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import SeenRequest
from reports.client_needs.needs import ProbeOutcome
from tests.conformance.client_plays import ABORTED, FAILED, WELL
from tests.conformance.needs.written_requests import GZIP, NONE, written_with
from tests.reference_model.clients.recordings import asked, recorded, sent
from wire.api_keys import HEARTBEAT_KEY, PRODUCE_KEY


def ended(*requests: SeenRequest, **result: Any) -> Play:
    """Return a play with these requests and this end."""
    return Play(recording=recorded(*requests), result=replace(WELL, **result))


USUALLY = usual_of(
    [
        ended(asked(3), sent(9), written_with(GZIP), sent(3, api_key=HEARTBEAT_KEY), duration_ms=700),
        ended(asked(3), sent(8), written_with(GZIP), found=("Old",)),
    ]
)


def test_what_is_usual_is_what_every_run_does() -> None:
    assert USUALLY.used == {PRODUCE_KEY: (10,), 3: (8, 9), HEARTBEAT_KEY: (3,)}
    assert USUALLY.always == {3, PRODUCE_KEY}
    assert (USUALLY.codecs, USUALLY.switched_off) == (frozenset({"gzip"}), frozenset({"Old"}))
    assert USUALLY.longest_ms == 700


@pytest.mark.parametrize(
    ("play", "outcome", "detail"),
    [
        (ended(sent(9), written_with(GZIP)), ProbeOutcome.WORKS, ""),
        (
            ended(sent(9), written_with(NONE)),
            ProbeOutcome.GIVES_UP,
            "its records are not compressed with gzip any more",
        ),
        (ended(written_with(GZIP)), ProbeOutcome.GIVES_UP, "it sends no Metadata any more"),
        (
            ended(sent(9), written_with(GZIP), found=("Old", "Sasl", "LZ4")),
            ProbeOutcome.GIVES_UP,
            "it switches off LZ4, Sasl",
        ),
        (Play(recording=recorded(), result=ABORTED), ProbeOutcome.BREAKS, "its process is aborted by SIGABRT"),
        (
            ended(outcome=None, exit_status=None, killed_for="memory"),
            ProbeOutcome.BREAKS,
            "its process uses more memory than it may",
        ),
        (ended(outcome=None, exit_status=None, killed_for="time"), ProbeOutcome.BREAKS, "it hangs"),
        (ended(outcome="error", exit_status=1, detail="no result after 6 s"), ProbeOutcome.BREAKS, "it hangs"),
        (Play(recording=recorded(), result=FAILED), ProbeOutcome.BREAKS, "TimeoutException"),
        (
            ended(outcome="error", exit_status=1, detail="WrongResult: the offset is 7"),
            ProbeOutcome.BREAKS,
            "WrongResult: the offset is 7",
        ),
        (
            ended(outcome="error", exit_status=1, detail="UnsupportedVersionException: JoinGroup"),
            ProbeOutcome.SAYS,
            "UnsupportedVersionException: JoinGroup",
        ),
        # A command that is no driver of the suite prints what it likes.
        (
            ended(outcome=None, exit_status=2, detail="", output="the broker does not support Metadata v9\n"),
            ProbeOutcome.SAYS,
            "the broker does not support Metadata v9",
        ),
        (ended(outcome=None, exit_status=2, detail="", output=""), ProbeOutcome.BREAKS, "it fails without a word"),
        (ended(sent(9), written_with(GZIP), outcome=None, output=""), ProbeOutcome.WORKS, ""),
    ],
)
def test_outcome_says_what_became_of_the_operation(play: Play, outcome: ProbeOutcome, detail: str) -> None:
    assert outcome_without(play, USUALLY, ()) == (outcome, detail)


def test_api_that_was_taken_away_is_not_lost() -> None:
    assert outcome_without(ended(written_with(GZIP)), USUALLY, {3}) == (ProbeOutcome.WORKS, "")


def test_requests_that_were_only_counted_are_not_lost() -> None:
    play = ended(written_with(GZIP))
    play = Play(recording=replace(play.recording, all_requests=500), result=WELL)
    assert outcome_without(play, USUALLY, ()) == (ProbeOutcome.WORKS, "")


def test_request_that_cannot_be_read_has_no_codec() -> None:
    unread = replace(written_with(GZIP), data=written_with(GZIP).data[:-30])
    assert written_codecs(recorded(unread, sent(99, api_key=PRODUCE_KEY))) == frozenset()


def test_operation_about_a_codec_needs_it() -> None:
    """A library that writes the record as it is, without a word, does not do what the application asked for."""

    def tried(codec: int) -> TriedPlay:
        return TriedPlay(recording=recorded(asked(3), written_with(codec)), result=WELL)

    assert_operates(tried(GZIP), "compressed-produce")
    with pytest.raises(AssertionError, match="reports success, but its records are not compressed with gzip"):
        assert_operates(tried(NONE), "compressed-produce")
