"""Tests of request sequences on several connections against the model.

The sequences run before and after authentication, and each step is checked.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given

from conformance.brokers.vocabulary import *

V0, V3, V99 = (build_request(version=version) for version in (0, 3, 99))
BAD_NAME = build_request(version=3, software=Software("a_b", "1"))
UNREADABLE = build_request(version=3, body=b"", broken="no body")
SECOND = build_request(version=3, correlation_id=8)
FRAME_AFTER_V0 = build_cut_short(V0, len(V0.data) - SIZE_BYTES, SECOND.data)
REFUSED_SIZE_AFTER_V0 = build_cut_short(V0, len(V0.data) - SIZE_BYTES, b"\xff\0\0\0")
FRAME_INSIDE = build_with_frame_inside(V0)
NULL_MECHANISM = build_handshake_of_length(1, -1)
LONG_MECHANISM = build_handshake_of_length(0, 6)
NULL_TOKEN = build_authenticate_of_length(0, -1)
NULL_COMPACT_TOKEN = build_authenticate_of_length(2, -1)
ODD_TAGS = write_raw_tagged_fields((TaggedField(9, b"ab"), TaggedField(2000, b"")))
UNKNOWN_CLUSTER = build_request(version=5, cluster_id="nobody", node_id=7)


def one_by_one(*messages: Message, connection: int = 0) -> Conversation:
    """Return a conversation that sends messages on one connection, each after the response to the previous one."""
    return tuple(Say(connection=connection, messages=(message,)) for message in messages)


def at_once(*messages: Message, ends: bool = False) -> Conversation:
    """Return a conversation that sends messages in one write."""
    return (Say(messages=messages, ends=ends),)


@pytest.mark.malformed
@pytest.mark.clause("MODEL.sequence-agrees")
@given(conversation=conversations())
# Before authentication: one success, after any number of refusals.
@example(conversation=one_by_one(V0, V0))
@example(conversation=one_by_one(V99, V99, BAD_NAME, V3, V99))
@example(conversation=one_by_one(UNKNOWN_CLUSTER, Handshake(version=0), PlainToken(wrapped=False), UNKNOWN_CLUSTER))
@example(conversation=at_once(V0, Handshake(version=1), PlainToken(), V3))
@example(conversation=one_by_one(METADATA))
@example(conversation=one_by_one(V0, LIST_GROUPS))
# After SaslHandshake v0 and v1.
@example(conversation=one_by_one(Handshake(version=0), METADATA))
@example(conversation=one_by_one(Handshake(version=0), LIST_GROUPS))
@example(conversation=one_by_one(Handshake(version=1), METADATA))
@example(conversation=one_by_one(Handshake(version=1), LIST_GROUPS))
@example(conversation=at_once(Handshake(version=1), METADATA, PlainToken()))
@example(conversation=one_by_one(Handshake(version=0), V0))
@example(conversation=one_by_one(Handshake(version=0), PlainToken(wrapped=False, right=False)))
@example(conversation=one_by_one(Handshake(version=1), V0))
@example(conversation=one_by_one(Handshake(version=1), V3))
@example(conversation=one_by_one(Handshake(version=1), BAD_NAME))
@example(conversation=one_by_one(Handshake(version=1), V99))
@example(conversation=one_by_one(Handshake(version=1), UNREADABLE))
@example(conversation=one_by_one(Handshake(version=1), PlainToken(right=False)))
@example(conversation=one_by_one(Handshake(mechanism="plain"), V0))
@example(conversation=one_by_one(Handshake(version=2)))
@example(conversation=one_by_one(Handshake(version=1), Handshake(version=1)))
@example(conversation=one_by_one(Handshake(version=1), Handshake(version=0, mechanism="plain")))
# What brokers do not list, but can read.
@example(conversation=one_by_one(Handshake(version=1), VOTE))
@example(conversation=one_by_one(Handshake(version=1), ENVELOPE))
@example(conversation=one_by_one(Handshake(version=1), BROKER_HEARTBEAT))
# After authentication, and again.
@example(conversation=one_by_one(Handshake(version=1), PlainToken(), V0, V3, V0, V99, BAD_NAME))
@example(conversation=one_by_one(Handshake(), PlainToken(), Handshake(), PlainToken(), Handshake(), V0))
@example(conversation=one_by_one(Handshake(), PlainToken(), PlainToken()))
@example(conversation=one_by_one(Handshake(), PlainToken(), METADATA, V0, LIST_GROUPS, V3))
@example(conversation=at_once(Handshake(), PlainToken(), LIST_GROUPS, V3, METADATA))
# Several APIs and steps of SASL in one write.
@example(conversation=at_once(V3, METADATA, LIST_GROUPS))
@example(conversation=at_once(V0, Handshake(), PlainToken(), METADATA, Handshake(), V3))
# Steps of SASL that are wrong.
@example(conversation=one_by_one(NULL_MECHANISM))
@example(conversation=one_by_one(V0, LONG_MECHANISM))
@example(conversation=one_by_one(Handshake(), NULL_TOKEN))
@example(conversation=one_by_one(Handshake(), NULL_COMPACT_TOKEN))
@example(conversation=one_by_one(Handshake(), PlainToken(version=2, tags=ODD_TAGS), V0))
@example(conversation=one_by_one(Handshake(), build_authenticate_with_tags(TAGS_BEYOND_THE_FRAME, NO_TAGS)))
@example(conversation=one_by_one(Handshake(version=0), build_token_of_frame(V0, with_size=True)))
@example(conversation=one_by_one(Handshake(), PlainToken(), NULL_MECHANISM))
# Sizes below the payload, and malformed requests among others.
@example(conversation=at_once(FRAME_AFTER_V0, V99))
@example(conversation=at_once(REFUSED_SIZE_AFTER_V0, V0))
@example(conversation=at_once(FRAME_INSIDE, V0))
# Ends of the stream, and other connections.
@example(conversation=at_once(V0, V99, V0, ends=True))
@example(conversation=at_once(V99, build_part(V0, 9), ends=True))
@example(conversation=at_once(V99, build_with_size(-1)))
@example(conversation=at_once(V99, UNREADABLE, V0))
@example(
    conversation=(
        *one_by_one(V0),
        *one_by_one(UNREADABLE, connection=1),
        *one_by_one(V99, connection=2),
        Reconnect(connection=1),
        *one_by_one(V3, connection=1),
    )
)
def test_sequences_go_as_the_model_allows(broker: Broker, conversation: Conversation) -> None:
    """Whatever requests several connections send in whatever order, each gets what the model allows."""
    with ConversationRunner(broker) as player:
        player.play(conversation)


@pytest.mark.malformed
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.needs("handshake_v1")
@pytest.mark.clause("KIP-35.after-handshake-illegal-state")
@given(sent=api_versions_requests(client_ids=named_client_ids()) | api_versions_requests(versions=unknown_versions()))
@example(sent=V0)
@example(sent=build_request(version=1))
@example(sent=V3)
@example(sent=build_request(version=NEWEST_VERSION))
@example(sent=V99)
def test_api_versions_after_the_handshake_is_refused(broker: Broker, sent: Request) -> None:
    """After SaslHandshake v1, ApiVersions gets ILLEGAL_SASL_STATE in its own version, followed by a close."""
    assume(sent.api_version >= 0)
    with broker.connect(authenticate=False) as connection:
        connection.converse([handshake_request(version=1)])
        answered, following = connection.converse([sent, V0])
    served = sent.api_version <= broker.max_version
    answer = decode_answer(answered, api_version=sent.api_version if served else 0)
    assert_error(answered, ErrorCode.ILLEGAL_SASL_STATE)
    assert answer.api_keys == (), "the refusal lists API keys"
    assert following.outcome is Outcome.CLOSED, summary_of(following)
