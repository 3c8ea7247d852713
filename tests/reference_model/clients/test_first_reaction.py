"""Tests of how far a client came, and of the clause of its first wrong reaction.

The broker is healthy.
"""

from __future__ import annotations

import dataclasses

import pytest

from reference_model.clients.rules.first_reaction import (
    CONNECTED_ONLY,
    NEVER_ASKED,
    NEVER_CONNECTED,
    first_reaction,
    stops_short,
)
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import Answer, Script
from reference_model.profiles.listeners import SASL_PLAINTEXT
from tests.reference_model.clients.recordings import asked, opened, recorded, sent
from wire.api_keys import SASL_HANDSHAKE_KEY

UNSERVED = dataclasses.replace(recorded(asked(0), sent(2, api_key=1)), unserved=((1, 2),))
HEADER_OR_KEYS = "KIP-511.client-reads-fixed-header or KIP-35.client-tolerates-unknown-keys:"
MISREAD = "its header, read as if it had a tag section, gives that error 78"


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        pytest.param(recorded(), NEVER_CONNECTED, id="no-connection"),
        pytest.param(recorded(connections=(opened(),)), CONNECTED_ONLY, id="no-request"),
        pytest.param(recorded(sent(2)), NEVER_ASKED, id="never-asks"),
        pytest.param(recorded(asked(4)), "", id="asks"),
    ],
)
def test_client_stops_short(recording: Recording, expected: str) -> None:
    """What it never did is the reason why hardly anything can be judged."""
    assert stops_short(recording) == expected


@pytest.mark.parametrize(
    ("recording", "sentence", "expected"),
    [
        pytest.param(recorded(), "", NEVER_CONNECTED, id="no-connection"),
        pytest.param(recorded(connections=(opened(),)), "", CONNECTED_ONLY, id="no-request"),
        pytest.param(recorded(asked(4)), "error 78", f"KIP-511.client-reads-fixed-header: {MISREAD}", id="78"),
        pytest.param(recorded(asked(3)), "bad", HEADER_OR_KEYS, id="flexible-table"),
        pytest.param(
            recorded(asked(4, body=None, problem="too short"), sent(12)),
            "",
            "KIP-35.client-requests-decode: ApiVersions v4 on connection 0 cannot be decoded",
            id="undecodable",
        ),
        pytest.param(
            recorded(asked(4), sent(12, connection=1)),
            "",
            HEADER_OR_KEYS,
            id="first-of-two",
        ),
        pytest.param(
            recorded(sent(12), asked(4, connection=1)),
            "",
            "KIP-35.client-asks-per-connection: Metadata v12 on connection 0",
            id="forbidden-first",
        ),
        pytest.param(UNSERVED, "", "the scripted broker has no response to Fetch v2", id="ours"),
    ],
)
def test_first_reaction_fits_a_clause(recording: Recording, sentence: str, expected: str) -> None:
    """The first request that was wrong, or the first table that was not used, names the clause."""
    found = first_reaction(recording, sentence)
    for part in expected.split(": "):
        assert part in found
    assert (HEADER_OR_KEYS in found) is (expected == HEADER_OR_KEYS)
    assert ("error 78" in found) is ("error 78" in expected)


@pytest.mark.parametrize("version", range(3))
def test_plain_table_that_was_not_used_fits_no_clause(version: int) -> None:
    """Why nothing follows is not known, so only that is said."""
    expected = f"nothing was sent after the table that ApiVersions v{version} on connection 0 got"
    assert first_reaction(recorded(asked(version)), "error 78") == expected


def test_client_that_did_all_right_fits_no_clause() -> None:
    """If it fails for another reason, nothing is guessed."""
    assert first_reaction(recorded(asked(4), sent(12)), "out of luck") == ""


CLOSED = Answer(action="close")
HANDSHAKE = sent(1, api_key=SASL_HANDSHAKE_KEY)


@pytest.mark.parametrize(
    ("recording", "is_second"),
    [
        pytest.param(recorded(asked(0), asked(4, CLOSED, at_ms=1)), True, id="two-before"),
        pytest.param(recorded(asked(0), HANDSHAKE, asked(4, CLOSED, at_ms=2)), False, id="one-before"),
        pytest.param(recorded(asked(0, CLOSED), asked(4, CLOSED, at_ms=1)), False, id="first-one-lost"),
    ],
)
def test_second_request_before_the_handshake_is_named(recording: Recording, is_second: bool) -> None:
    """A broker with SASL answers ApiVersions once before SaslHandshake, so this is why a client fails there, and not
    in plaintext."""
    script = Script(listener=SASL_PLAINTEXT)
    sentence = first_reaction(dataclasses.replace(recording, script=script), "")
    assert ("a second ApiVersions before SaslHandshake" in sentence) is is_second
    assert "a second ApiVersions" not in first_reaction(recording, "")
