"""The corpus is judged by the reactions that the model allows, and pipelined if possible."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import zip_longest

import pytest

from conformance.corpus.entries import CorpusEntry, load_corpus
from conformance.corpus.replay import BATCH_BYTES, BATCH_FRAMES, NotAllowed, Replay, Stored, batches
from reference_model.broker.rules.reaction import Identity, NotModelled
from reference_model.broker.rules.responses import encode_body, response_for
from reference_model.judging.stored_inputs import StoredInputOracle
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Request


def oracle(release: str = NEWEST_RELEASE) -> StoredInputOracle:
    """Return the model of a release."""
    return StoredInputOracle(profile_of(release), Identity())


def test_model_has_a_word_on_nearly_all_of_the_corpus() -> None:
    """Few stored inputs cannot be replayed."""
    left_out = []
    for entry in load_corpus():
        try:
            oracle().allowed_for(entry.data)
        except NotModelled:
            left_out.append(entry.name)
    assert len(left_out) < len(load_corpus()) / 20


def test_batches_are_bounded() -> None:
    """A write is bounded in frames and bytes, unless it is a single long entry."""
    stored = [Stored(entry=e, allowed=oracle().allowed_for(e.data)) for e in load_corpus()[:100]]
    grouped = list(batches(stored))
    assert [each for batch in grouped for each in batch] == stored
    for batch in grouped:
        assert len(batch) <= BATCH_FRAMES
        assert len(batch) == 1 or sum(len(each.entry.data) for each in batch) <= BATCH_BYTES


V0 = build_request(version=0)
UNFINISHED = V0.data[:-1]
REFUSED = b"\xff\xff\xff\xff"
(SERVED, *_) = oracle().reactions_to(V0)
ANSWER = V0.data[8:12] + encode_body(
    response_for(SERVED, oracle().profile), SERVED.response_version
)


class Wire:
    """Replaces a broker and its connection: returns prepared exchanges, whatever is sent."""

    profile = profile_of(NEWEST_RELEASE)
    identity = Identity()

    def __init__(self, *payloads: bytes, last: Outcome) -> None:
        self._payloads, self._last = payloads, last

    def connect(self) -> AbstractContextManager[Wire]:
        """Connect."""
        return nullcontext(self)

    def exchange(self, request: Request) -> Exchange:
        """Return an answer, and keep or close the connection."""
        kept = self._last is not Outcome.CLOSED
        return Exchange(
            request=request, outcome=Outcome.ANSWER, payload=self._payloads[0], usable=kept
        )

    def converse(self, requests: Sequence[Request]) -> tuple[Exchange, ...]:
        """Return the prepared answers; further requests get the last outcome."""
        answers = zip_longest(requests, self._payloads)
        return tuple(
            Exchange(
                request=request,
                outcome=Outcome.ANSWER if payload else self._last,
                payload=payload,
            )
            for request, payload in answers
        )

    end_stream = converse


@pytest.mark.parametrize(
    "rest", [UNFINISHED, REFUSED, b"\0\0\0\1\0"], ids=["unfinished", "refused", "malformed"]
)
def test_silence_after_the_frames_that_are_answered_is_not_allowed(rest: bytes) -> None:
    """An incomplete frame, a refused size and a malformed frame end the connection."""
    entry = CorpusEntry(name="x", data=V0.data + rest, origin="")
    Replay(Wire(ANSWER, last=Outcome.CLOSED)).check_alone(entry)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed, match="silent"):
        Replay(Wire(ANSWER, last=Outcome.SILENT)).check_alone(entry)  # type: ignore[arg-type]


def test_a_served_request_keeps_the_connection() -> None:
    """The right answer is not enough if the connection closes."""
    entry = CorpusEntry(name="x", data=V0.data, origin="")
    Replay(Wire(ANSWER, last=Outcome.ANSWER)).check_alone(entry)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed, match="the next request was not answered"):
        Replay(Wire(ANSWER, last=Outcome.CLOSED)).check_alone(entry)  # type: ignore[arg-type]
