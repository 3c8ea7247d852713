"""A difference between a target's conversation and the model's is a violation.

The conversation is played to both. A difference of the target's own table is no violation.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.model_agreement import (
    ConversationRunner,
    ends_at_a_read,
    has_refused_size,
    model_of,
)
from conformance.brokers.test_sequences import (
    BAD_NAME,
    UNREADABLE,
    V0,
    V3,
    V99,
    at_once,
    one_by_one,
)
from conformance.mutation.properties import all_properties, holds
from fixtures.client.patience import Patience
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.broker.model.fault_injection import RequestContext, StreamEnd
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.rules.reaction import Listing
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.profile import Profile, traits_of
from strategies.api_versions import build_request
from strategies.conversations import Conversation, Handshake, PlainToken, Reconnect
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from strategies.odd_frames import build_cut_short, build_part, build_with_size
from strategies.other_apis import LIST_GROUPS, METADATA, build_bare_request
from tests.conformance.in_memory_runs import broker_with
from wire.api_keys import METADATA_KEY
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES

SASL = "sasl_plaintext"


def in_memory(listener: str, defect: str = "") -> InMemoryBroker:
    """A listener of the reference broker in memory."""
    tampering = DEFECTS[defect].tampering if defect else None
    return InMemoryBroker(in_memory_target(reference_targets()[0], tampering), listener)


def play(broker: InMemoryBroker, conversation: Conversation) -> None:
    """Play a conversation."""
    with ConversationRunner(broker) as player:
        player.play(conversation)


@pytest.mark.parametrize(
    ("listener", "conversation"),
    [
        pytest.param("plaintext", one_by_one(V0, V99, BAD_NAME, V3), id="stays-open"),
        pytest.param("plaintext", at_once(V0, UNREADABLE, V0), id="closes-in-the-middle"),
        pytest.param("plaintext", at_once(V0, build_with_size(-1)), id="bad-size"),
        pytest.param("plaintext", one_by_one(UNREADABLE, V0), id="nothing-behind-a-close"),
        pytest.param("plaintext", at_once(V0, build_part(V0, 3), ends=True), id="ends-inside"),
        pytest.param("plaintext", (Reconnect(), *one_by_one(V0), Reconnect()), id="reconnects"),
        pytest.param("plaintext", one_by_one(Handshake(), PlainToken(), PlainToken(wrapped=False)), id="sasl"),
        pytest.param(SASL, one_by_one(V0), id="told"),
        pytest.param(SASL, one_by_one(Handshake()), id="wrapped"),
        pytest.param(SASL, one_by_one(Handshake(version=0)), id="bare"),
        pytest.param(SASL, one_by_one(Handshake(), PlainToken(right=False)), id="wrong"),
        pytest.param(SASL, one_by_one(Handshake(), PlainToken(), V0, V0), id="authenticated"),
        pytest.param(SASL, one_by_one(METADATA), id="another-api-before"),
        pytest.param(SASL, one_by_one(Handshake(), LIST_GROUPS), id="another-api-late"),
        pytest.param(SASL, one_by_one(Handshake(), PlainToken(), METADATA, V0, LIST_GROUPS), id="another-api"),
        pytest.param("controller", one_by_one(V0, METADATA), id="another-api-that-is-not-listed"),
        pytest.param("controller", one_by_one(V0, V99), id="controller"),
    ],
)
def test_reference_broker_goes_as_the_model_allows(listener: str, conversation: Conversation) -> None:
    """The reference broker and the model agree on every step, and on the connections left open."""
    play(in_memory(listener), conversation)


@pytest.mark.parametrize(
    ("defect", "listener", "conversation", "seen"),
    [
        pytest.param(
            "versions-are-told-again-before-the-handshake",
            SASL,
            one_by_one(V0, V0),
            "the model allows closed .*; the target answered NONE",
            id="answers-instead-of-closing",
        ),
        pytest.param(
            "any-bare-token-is-taken",
            SASL,
            one_by_one(Handshake(version=0), PlainToken(wrapped=False, right=False)),
            "the model allows closed .*; the target answered with an empty frame",
            id="takes-a-wrong-token",
        ),
        pytest.param(
            "a-refused-name-uses-up-the-one-request",
            SASL,
            one_by_one(BAD_NAME),
            "the model allows NONE .*; the target closed the connection",
            id="seen-by-the-last-word",
        ),
        pytest.param(
            "a-late-request-does-not-cost-the-connection",
            SASL,
            one_by_one(Handshake(), build_request(version=1)),
            "the model expects a closed connection; the target",
            id="open-behind-a-close",
        ),
    ],
)
def test_departure_from_the_model_is_told(defect: str, listener: str, conversation: Conversation, seen: str) -> None:
    """The message contains what the model allows and what was seen."""
    with pytest.raises(AssertionError, match=seen):
        play(in_memory(listener, defect), conversation)


def test_conversation_without_a_word_of_the_model_is_rejected() -> None:
    """A request that is not modelled is no conforming example, although the connection stays open."""
    with assumptions_outside_hypothesis(), pytest.raises(UnsatisfiedAssumption):
        play(in_memory("plaintext"), one_by_one(build_bare_request(METADATA_KEY, 8)))


class OlderBroker(InMemoryBroker):
    """The reference broker, judged as an older release in one respect.

    Attributes:
        trait: the name of the trait.
        release: the release, with ZooKeeper.
    """

    trait: str
    release: str

    @property
    def profile(self) -> Profile:
        """The profile with that trait."""
        older = getattr(traits_of(self.release, quorum="zookeeper"), self.trait)
        profile = super().profile
        traits = dataclasses.replace(profile.traits, **{self.trait: older})
        return dataclasses.replace(profile, traits=traits)


class LossyBroker(OlderBroker):
    """One that may lose answers before an end of stream."""

    trait, release = "early_end_loses_answers", "2.4.1"


class HidingBroker(OlderBroker):
    """One that speaks TLS, and may not see the second of two requests."""

    trait, release = "tls_hides_requests", "0.11.0.3"
    speaks_tls = True


@pytest.mark.parametrize("kind", [InMemoryBroker, LossyBroker])
def test_half_close_that_is_outlived_is_told(kind: type[InMemoryBroker]) -> None:
    """A target that keeps its side open after the end of our stream violates, even if it may lose answers."""

    def act(ending: StreamEnd) -> None:
        ending.keeps_open = True

    target = in_memory_target(reference_targets()[0], Tampering(stage=Stage.END, act=act))
    with pytest.raises(AssertionError, match="keeps the connection open"):
        play(kind(target, "plaintext"), at_once(build_part(V0, 3), ends=True))


def test_lossy_end_allows_all_answers_and_none() -> None:
    """If answers may be lost at the end of stream, receiving all of them is also allowed."""
    broker = LossyBroker(in_memory_target(reference_targets()[0], None), "plaintext")
    play(broker, at_once(V0, ends=True))
    play(broker, at_once(V0, build_with_size(-1)))
    assert len([step for step in broker.journal if step.end_of_stream]) == 1


def test_requests_that_tls_may_hide_are_sent_one_by_one() -> None:
    """Before authentication, a second one in the same write might wait for ever; after it, it is answered."""
    broker = HidingBroker(in_memory_target(reference_targets()[0], None), SASL)
    with assumptions_outside_hypothesis(), pytest.raises(UnsatisfiedAssumption):
        play(broker, at_once(V0, Handshake()))
    play(broker, (*one_by_one(Handshake(), PlainToken()), *at_once(V0, V3)))
    # Each conversation ends with one request more.
    sent = [len(step.exchanges) for step in broker.journal if step.exchanges]
    assert sent == [1, 1, 1, 2, 1]


def test_frame_that_is_never_completed_is_not_said() -> None:
    """A write that ends inside a frame gets no response, and waiting for one would only cost time."""
    broker = in_memory("plaintext")
    cut = build_cut_short(V0, len(V0.data) - SIZE_BYTES, b"\0\0\0\x09abc")
    play(broker, (*one_by_one(V0), *at_once(cut)))
    assert not any(cut.data in step.pieces for step in broker.journal)


def test_refused_size_is_one_that_no_broker_accepts() -> None:
    """A size below zero or above every limit is refused; one that is not complete yet is awaited."""
    assert has_refused_size(b"\xff\xff\xff\xff")
    assert has_refused_size(b"\x7f\0\0\0ab")
    assert not has_refused_size(b"\0\0\0\x09a")
    assert not has_refused_size(b"\xff")


def test_an_end_may_cost_an_answer_after_a_frame_or_a_size_alone() -> None:
    """In the middle of a size or a frame, no release may lose answers."""
    assert ends_at_a_read(V0)
    assert ends_at_a_read(build_part(V0, 4))
    for kept in (3, 5, len(V0.data) - 1):
        assert not ends_at_a_read(build_part(V0, kept))


AGREES = "test_target_does_what_the_model_allows"


def narrower(context: RequestContext) -> None:
    """List Metadata up to v5 only."""
    if context.response is not None and context.reaction.listing is Listing.EVERYTHING:
        keys = tuple(replace(each, max_version=5) if each.api_key == 3 else each for each in context.response.api_keys)
        context.replace_response(api_keys=keys)


def close_on_99(context: RequestContext) -> None:
    """Close the connection on v99."""
    if context.header is not None and context.header.api_version == 99:
        context.replace_reaction(outcome=Outcome.CLOSED)


@pytest.fixture(name="foreign")
def _foreign(monkeypatch: pytest.MonkeyPatch) -> InMemoryBroker:
    """A target of another implementation, with a table of its own and one difference from the model."""
    monkeypatch.setattr(InMemoryBroker, "pin_is_binding", False)
    return broker_with(
        Tampering(stage=Stage.RESPONSE, act=narrower),
        Tampering(stage=Stage.REACTION, act=close_on_99),
        patience=Patience(math.inf),
    )


def test_a_foreign_table_is_no_difference_and_hides_none(foreign: InMemoryBroker) -> None:
    """A response with the target's own table agrees, and what else it does is still compared."""
    assert {each.api_key: each.max_version for each in model_of(foreign).api_keys}[3] == 5
    with assumptions_outside_hypothesis():
        assert holds(all_properties()[AGREES], foreign, {"sent": V3})
        assert not holds(all_properties()[AGREES], foreign, {"sent": V99})


def test_a_release_is_compared_with_its_recorded_table() -> None:
    """Apache Kafka's releases and the reference broker keep their profile, and the message names what differs."""
    broker = broker_with(Tampering(stage=Stage.RESPONSE, act=narrower), patience=Patience(math.inf))
    assert model_of(broker) is broker.profile
    broker.begin_example()
    with assumptions_outside_hypothesis(), pytest.raises(AssertionError) as failed:
        all_properties()[AGREES].body(broker=broker, sent=V3)
    first, *details = str(failed.value).splitlines()
    assert first.endswith("; api_keys differ")
    assert details == ["api_keys: 3: v0 to v5, expected v0 to v13"]
