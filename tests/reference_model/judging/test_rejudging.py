"""Recorded exchanges are judged again, as far as the record allows."""

from __future__ import annotations

import pytest

from fixtures.model_processes.server import broker_for_listener
from reference_model.judging.rejudging import (
    END_OF_STREAM,
    RecordedExchange,
    differences,
    oracles_for,
)
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import profile_of

RELEASE = "4.4.0"
PROBE = bytes.fromhex("0000000b 0012 0000 00000007 0001 61".replace(" ", ""))


def _answer(listener: str = PLAINTEXT) -> bytes:
    connection = broker_for_listener(listener, release=RELEASE).connect()
    connection.receive_data(PROBE)
    return connection.data_to_send()


def _found(
    *exchanges: tuple[str, bytes | None],
    listener: str = PLAINTEXT,
    sent: bytes = PROBE,
    release: str = RELEASE,
    clause: str = "KIP-35.v0-always-served",
) -> list[int]:
    recorded = [
        RecordedExchange(step=step, sent=sent, outcome=outcome, received=received)
        for step, (outcome, received) in enumerate(exchanges)
    ]
    oracles = oracles_for("reference", "reference", release, listener)
    found = differences(oracles, recorded, clause=clause)
    return [each.exchange.step for each in found]


def test_what_the_model_answers_is_no_difference() -> None:
    """The model's own answers conform; a controller listener may answer with either table."""
    assert _found(("answer", _answer())) == []
    assert _found(("answer", _answer()), ("answer", _answer(CONTROLLER)), listener=CONTROLLER) == []


@pytest.mark.parametrize(
    ("outcome", "received"),
    [
        pytest.param("closed", None, id="closed"),
        pytest.param("silent", None, id="silent"),
        pytest.param("answer", _answer()[:-1], id="cut short"),
        pytest.param("answer", _answer()[:4] + bytes(4) + _answer()[8:], id="another correlation id"),
        pytest.param("answer", _answer()[:8] + b"\0\x23" + _answer()[10:], id="another error"),
    ],
)
def test_what_the_model_would_not_do_is_a_difference(outcome: str, received: bytes | None) -> None:
    assert _found((outcome, received)) == [0]


def test_end_of_a_connection_is_judged_alone() -> None:
    """After other exchanges, or on a TLS listener, the record does not show what caused it."""
    assert _found(("answer", _answer()), ("closed", None)) == []
    assert _found(("closed", None), listener="ssl") == []


@pytest.mark.parametrize(
    ("release", "clause", "steps"),
    [
        pytest.param("0.11.0.3", END_OF_STREAM, [], id="lost"),
        pytest.param("0.11.0.3", "KIP-35.v0-always-served", [0], id="the stream did not end"),
        pytest.param("4.4.0", END_OF_STREAM, [0], id="a release that loses none"),
    ],
)
def test_answer_may_be_lost_where_the_stream_ended_early(release: str, clause: str, steps: list[int]) -> None:
    """Eight releases from 0.10.2.2 to 2.3.1 sometimes send no answer to a correct request."""
    sent = bytes.fromhex("0000001b001200000000000000116b61666b612d636f6e666f726d616e6365")
    assert _found(("closed", None), sent=sent, release=release, clause=clause) == steps


def test_later_exchanges_of_a_sasl_listener_are_left_out() -> None:
    """The record does not show how far the authentication got."""
    assert _found(("answer", _answer()), ("answer", b"\0\0\0\0"), listener="sasl_plaintext") == []


def test_what_is_no_single_frame_is_left_out() -> None:
    """A partial frame, two frames, and a request of another API are not judged."""
    other = PROBE[:4] + b"\0\x03" + PROBE[6:]
    for sent in (PROBE[:-1], PROBE + PROBE, other):
        assert _found(("closed", None), sent=sent) == []


@pytest.mark.parametrize(
    ("release", "quorum"),
    [
        pytest.param("0.10.0.1", "zookeeper", id="without-kraft"),
        pytest.param("4.3.1", "kraft", id="recorded"),
        pytest.param("4.3.0", "kraft", id="not-recorded"),
    ],
)
def test_release_is_judged_with_its_usual_quorum(release: str, quorum: str) -> None:
    """A run does not record its target's quorum, but old releases only have ZooKeeper, and new ones only KRaft."""
    (oracle,) = oracles_for(f"apache-kafka-{release}", "apache-kafka", release, PLAINTEXT)
    assert oracle.profile == profile_of(release, quorum=quorum)
    assert oracle.profile.served_keys
