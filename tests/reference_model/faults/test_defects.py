"""Planted defects: each has an effect, describes it, and never crashes on generated requests."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from reference_model.broker.model.state_machine import BrokerConnection, ReferenceBroker
from reference_model.faults.broker import DEFECTS, Defect
from reference_model.profiles.profile import KIP_TEXT, NEWEST_RELEASE, Profile, profile_of
from strategies.api_versions import (
    api_versions_requests,
    build_request,
    negative_versions,
    unknown_versions,
)
from strategies.bare_requests import METADATA
from strategies.broken_requests import frames_with_wrong_size, malformed_requests, mutated_requests
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.header_fields import client_ids, correlation_ids, unknown_tagged_fields
from strategies.software_names import (
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software_texts,
    software,
)
from tests.reference_model.broker.release_lines import IDENTITY
from wire.api_versions import NEWEST_VERSION
from wire.frames import FrameReader, encode_frame

each_defect = pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: defect.name)


class ClientWrite(NamedTuple):
    """Bytes that a client writes on one of its connections, counted from 0."""

    connection: int
    data: bytes


Conversation = Sequence[ClientWrite]


def run(conversation: Conversation, profile: Profile, defect: Defect | None) -> list[object]:
    """Return, for each write, every connection's answer and state after it."""
    tampering = None if defect is None else defect.tampering
    broker = ReferenceBroker(profile=profile, identity=IDENTITY, tampering=tampering)
    connections: list[BrokerConnection] = []
    seen: list[object] = []
    for write in conversation:
        while len(connections) <= write.connection:
            connections.append(broker.connect())
        connections[write.connection].receive_data(write.data)
        seen.append(tuple((each.data_to_send(), each.state) for each in connections))
    return seen


def _alone(payload: str) -> Conversation:
    return [ClientWrite(0, encode_frame(bytes.fromhex(payload)))]


FLEXIBLE = "0012 0003 00000007"


@each_defect
def test_defect_says_what_it_does(defect: Defect) -> None:
    """A defect has its function's name, and its one-sentence docstring as its description."""
    act = defect.tampering.act
    assert defect.name == act.__name__.replace("_", "-")
    assert DEFECTS[defect.name] is defect
    assert defect.description == inspect.getdoc(act)
    assert defect.description.endswith(".")
    assert "\n" not in defect.description


def _small(listener: str) -> Profile:
    """Return the reference broker's profile of a listener, with a table that is quick to encode."""
    profile = profile_of(NEWEST_RELEASE, listener=listener, follows=KIP_TEXT)
    return dataclasses.replace(profile, api_keys=(*profile.api_keys[:2], profile.own_range))


PROFILES = tuple(map(_small, ("plaintext", "sasl_plaintext", "ssl", "controller")))

ANY_REQUESTS = st.one_of(
    api_versions_requests(
        versions=st.integers(0, NEWEST_VERSION) | unknown_versions() | negative_versions(),
        correlation_ids=correlation_ids(),
        client_ids=client_ids(max_bytes=40),
        software=software(
            names=legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()
        ),
        header_tags=st.just(()) | unknown_tagged_fields(),
        body_tags=st.just(()) | unknown_tagged_fields(),
        bodies=st.none() | st.binary(max_size=20),
        trailing=st.binary(max_size=3),
    ),
    malformed_requests(),
    mutated_requests(),
    frames_with_wrong_size(),
    requests_with_cluster_ids(),
)


def _in_pieces(connection: int, data: bytes, pieces: int) -> list[ClientWrite]:
    size = max(1, -(-len(data) // pieces))
    return [ClientWrite(connection, data[at : at + size]) for at in range(0, len(data), size)]


WRITES = st.builds(
    lambda connection, requests, pieces: _in_pieces(
        connection, b"".join(request.data for request in requests), pieces
    ),
    st.integers(0, 1),
    st.lists(ANY_REQUESTS, min_size=1, max_size=3),
    st.sampled_from((1, 1, 2, 9)),
)
CONVERSATIONS = st.lists(WRITES, min_size=1, max_size=2).map(
    lambda parts: list(itertools.chain.from_iterable(parts))
)
REPLACED_NAME = b"_" + b"\xff" * 20000
"""Decoded with replacement characters, it is longer than the maximum length of a string."""

LONG_CLIENT_ID = build_request(version=1, client_id="a" * 40)


@given(conversation=CONVERSATIONS, profile=st.sampled_from(PROFILES))
@example(
    conversation=_alone(f"{FLEXIBLE} 0001 61 00 a29c01 {REPLACED_NAME.hex()} 0231 00"),
    profile=PROFILES[0],
)
@example(conversation=[ClientWrite(0, 2 * METADATA.data)], profile=PROFILES[0])
@example(conversation=[ClientWrite(0, LONG_CLIENT_ID.data)], profile=PROFILES[0])
@settings(max_examples=25)  # Each is played with every defect
def test_no_defect_crashes(conversation: Conversation, profile: Profile) -> None:
    """After any writes, in any pieces, a broker with a defect does not raise, and sends complete frames unless their size is the defect."""
    for defect in DEFECTS.values():
        note(defect.name)
        sent: dict[int, bytes] = {}
        for states in run(conversation, profile, defect):
            assert isinstance(states, tuple)
            for number, (data, _) in enumerate(states):
                sent[number] = sent.get(number, b"") + data
        for data in sent.values():
            reader = FrameReader()
            reader.receive_data(data)
            while reader.next_payload() is not None:
                pass
            assert reader.unread == b"" or "PROTOCOL.size-prefix-exact" in defect.breaks
