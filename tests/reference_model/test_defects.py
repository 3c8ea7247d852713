"""Planted defects: each is alive, says what it does, and crashes on nothing that is generated."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from reference_model.defects import DEFECTS, Defect
from reference_model.profile import Profile
from reference_model.state_machine import BrokerConnection, ReferenceBroker
from strategies.api_versions import (
    api_versions_requests,
    build_request,
    negative_versions,
    unknown_versions,
)
from strategies.broken_requests import frames_with_wrong_size, malformed_requests, mutated_requests
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.header_fields import client_ids, correlation_ids, unknown_tagged_fields
from strategies.software_names import (
    Software,
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software_texts,
    software,
)
from tests.reference_model.release_lines import IDENTITY, profile_at
from tests.reference_model.test_answers import SMALL
from wire.api_versions import NEWEST_VERSION
from wire.frames import FrameReader, encode_frame
from wire.primitives import TaggedField

each_defect = pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: defect.name)


class Write(NamedTuple):
    """Bytes that a client writes on one of its connections, counted from 0."""

    connection: int
    data: bytes


Conversation = Sequence[Write]


def run(conversation: Conversation, profile: Profile, defect: Defect | None) -> list[object]:
    """Return what every connection was answered after each write, and the states that all were in."""
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
    return [Write(0, encode_frame(bytes.fromhex(payload)))]


TAG = (TaggedField(100, b"\x01"),)
V0 = build_request(version=0).data
V99 = build_request(version=99).data
UNREADABLE = build_request(version=3, body=b"").data
REFUSED_NAME = build_request(version=3, software=Software("a_b", "1")).data
FLEXIBLE = "0012 0003 00000007"
REQUESTS = (
    *(build_request(version=version) for version in range(NEWEST_VERSION + 1)),
    build_request(version=0, correlation_id=-1),
    build_request(version=99),
    build_request(version=99, body=b"\xff\xff"),
    build_request(version=-1),
    build_request(version=0, trailing=b"\0"),
    build_request(version=3, trailing=b"\0"),
    build_request(version=3, header_tags=TAG),
    build_request(version=3, body_tags=TAG),
    build_request(version=0, client_id="é"),
    build_request(version=3, client_id=None),
    *(
        build_request(version=3, software=Software(name, version))
        for name, version in (
            ("a" * 21, "1"),
            ("a", "1" * 21),
            ("a.b", "1"),
            ("a_b", "1"),
            ("-a", "1"),
            ("", ""),
        )
    ),
    build_request(version=5, cluster_id="nobody", node_id=7),
)
BATTERY: tuple[Conversation, ...] = (
    *([Write(0, request.data)] for request in REQUESTS),
    _alone(f"{FLEXIBLE} 0001 61 0261 0231 00"),  # the old header
    _alone(f"{FLEXIBLE} 02 61 00 0261 0231 00"),  # a compact client id
    _alone(f"{FLEXIBLE} 0001 61 00 00 0231 00"),  # a null name
    _alone(f"{FLEXIBLE} 0001 61 00 0261 0231 01 64 09"),  # a tag beyond the frame
    [Write(0, b"".join(build_request(version=0, correlation_id=n).data for n in range(4)))],
    [Write(0, bytes([byte])) for byte in V0],
    [Write(0, V99), Write(0, V0)],
    [Write(0, REFUSED_NAME), Write(0, V0)],
    [Write(1, V0), Write(0, V99), Write(1, V0)],
    [Write(1, V0), Write(0, UNREADABLE), Write(1, V0)],
)
"""What every defect shows itself on."""


@each_defect
def test_defect_changes_an_answer(defect: Defect) -> None:
    """On a small fixed battery of conversations a defect does something else than the plain reference."""
    assert any(
        run(conversation, SMALL, defect) != run(conversation, SMALL, None)
        for conversation in BATTERY
    )


@each_defect
def test_defect_says_what_it_does(defect: Defect) -> None:
    """A defect is named after its function, and its description is one sentence, its docstring."""
    act = defect.tampering.act
    assert defect.name == act.__name__.replace("_", "-")
    assert DEFECTS[defect.name] is defect
    assert defect.description == inspect.getdoc(act)
    assert defect.description.endswith(".")
    assert "\n" not in defect.description


def _small(release: str) -> Profile:
    """The profile of a release with a table short enough to encode often."""
    profile = profile_at(release)
    table = (*profile.api_keys[:2], profile.own_range) if profile.api_keys else ()
    return dataclasses.replace(profile, api_keys=table)


PROFILES = tuple(map(_small, ("4.4.0", "3.9.2", "2.7.2", "2.4.1", "0.11.0.3")))

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


def _in_pieces(connection: int, data: bytes, pieces: int) -> list[Write]:
    size = max(1, -(-len(data) // pieces))
    return [Write(connection, data[at : at + size]) for at in range(0, len(data), size)]


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
"""Decoded with replacement characters, it is longer than any string may be."""


@given(conversation=CONVERSATIONS, profile=st.sampled_from(PROFILES))
@example(
    conversation=_alone(f"{FLEXIBLE} 0001 61 00 a29c01 {REPLACED_NAME.hex()} 0231 00"),
    profile=PROFILES[0],
)
@settings(max_examples=300)
def test_no_defect_crashes(conversation: Conversation, profile: Profile) -> None:
    """Whatever is written, in any pieces, a broker with a defect does not raise and sends whole frames."""
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
            assert reader.unread == b""
