"""Tests of recorded requests: decoded bodies and the order of tags.

The bodies of all APIs that scripted brokers serve are decoded.
"""

from __future__ import annotations

import pytest

from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.scripts.reading import read_request
from reference_model.clients.scripts.recording import SeenRequest
from tests.reference_model.clients.recordings import asked, recorded
from tests.reference_model.clients.scripted_network import about_versions, metadata, other
from wire.api_keys import SASL_AUTHENTICATE_KEY
from wire.described_messages import METADATA, SASL_APIS
from wire.frames import SIZE_BYTES

ASCENDING = bytes.fromhex("02 640161 650162")
DESCENDING = bytes.fromhex("02 650161 640162")
TWICE = bytes.fromhex("02 640161 640162")
ONE_TOPIC = other(METADATA, 10, topics=(METADATA.request.FIELDS[0].element(name="a"),))


def read(frame: bytes) -> SeenRequest:
    """Return the request of a frame."""
    return read_request(frame[SIZE_BYTES:], connection=0, at_ms=1)


@pytest.mark.parametrize(
    ("frame", "is_readable"),
    [
        pytest.param(metadata(3), True, id="metadata"),
        pytest.param(metadata(10), True, id="flexible-metadata"),
        pytest.param(metadata(13) + bytes(4), True, id="bytes-after-the-body"),
        pytest.param(metadata(3)[:-1], False, id="metadata-cut-off"),
        pytest.param(metadata(10)[:-1], False, id="metadata-without-its-tag-section"),
        pytest.param(other(SASL_APIS[SASL_AUTHENTICATE_KEY], 1)[:-1], False, id="token-cut-off"),
        pytest.param(bytes.fromhex("00000009 0003 0063 00000007 00"), True, id="unknown-version"),
        pytest.param(bytes.fromhex("00000009 0000 0003 00000007 00"), True, id="unknown-api"),
    ],
)
def test_body_of_any_described_api_is_decoded(frame: bytes, is_readable: bool) -> None:
    """What cannot be decoded is a problem, and the clause about layouts forbids it."""
    seen = read(frame)
    assert (seen.problem == "") is is_readable
    clauses = {move.clause for move in forbidden_moves(recorded(asked(4), seen))}
    assert ("KIP-35.client-requests-decode" in clauses) is not is_readable


@pytest.mark.parametrize(
    ("frame", "descends"),
    [
        pytest.param(about_versions(4), False, id="no-tags"),
        pytest.param(about_versions(4)[:-1] + ASCENDING, False, id="body"),
        pytest.param(about_versions(4)[:-1] + DESCENDING, True, id="body-descends"),
        pytest.param(metadata(10)[:-1] + ASCENDING, False, id="metadata"),
        pytest.param(metadata(10)[:-1] + DESCENDING, True, id="metadata-descends"),
        pytest.param(ONE_TOPIC, False, id="topic"),
        pytest.param(ONE_TOPIC.replace(b"\2a\0", b"\2a" + DESCENDING), True, id="topic-descends"),
        pytest.param(metadata(10).replace(b"me\0", b"me" + DESCENDING), True, id="header-descends"),
    ],
)
def test_tags_have_to_ascend(frame: bytes, descends: bool) -> None:
    """A tag that is lower than the one before is found in the header, in the body and inside the body."""
    seen = read(frame)
    assert (seen.problem, seen.tags_descend) == ("", descends)
    moves = forbidden_moves(recorded(asked(4), seen))
    assert any(move.clause == "KIP-482.client-tags-ascending" for move in moves) is descends


@pytest.mark.parametrize("frame", [about_versions(4), metadata(10)], ids=["body", "metadata"])
def test_tag_that_comes_twice_does_not_ascend(frame: bytes) -> None:
    seen = read(frame[:-1] + TWICE)
    assert "twice" in seen.problem
    clauses = {move.clause for move in forbidden_moves(recorded(asked(4), seen))}
    assert clauses == {"KIP-482.client-tags-ascending"}
