"""The oracle's rules about the version with which a connection begins.

They also say which older versions may follow a table.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.clients.rules.oracle import begins_below, forbidden_moves
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import (
    HEALTHY_SCRIPT,
    Answer,
    NodeScript,
    Script,
)
from reference_model.profiles.listeners import SASL_PLAINTEXT
from tests.reference_model.clients.recordings import (
    asked,
    listing,
    opened,
    recorded,
    refused,
    sent,
)
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY

CLOSES = Answer(action="close")


@pytest.mark.parametrize(
    ("recording", "found"),
    [
        pytest.param(recorded(asked(4)), [], id="newest"),
        pytest.param(recorded(asked(3)), [0], id="older-than-the-usual-one"),
        pytest.param(recorded(asked(4), asked(3, connection=1)), [1], id="older-later"),
        pytest.param(recorded(asked(4), asked(5, at_ms=1)), [0], id="newer-later"),
        pytest.param(
            recorded(asked(4, refused((0, 2))), asked(2, at_ms=1), asked(2, connection=1)),
            [],
            id="after-a-refusal",
        ),
        pytest.param(recorded(asked(4, CLOSES), asked(0, connection=1)), [], id="after-a-close"),
        pytest.param(recorded(sent(0, api_key=17), asked(3)), [], id="sasl-first"),
        pytest.param(
            recorded(asked(4), connections=(opened(), opened(1))),
            [],
            id="connection-without-requests",
        ),
    ],
)
def test_first_version_is_the_newest(recording: Recording, found: list[int]) -> None:
    """A connection that begins with an older version than v4 or a later one is found, unless there is a reason."""
    moves = begins_below(recording, newest=4)
    assert [move.connection for move in moves] == found
    assert {move.clause for move in moves} <= {"KIP-511.client-begins-with-newest"}


READS = "KIP-511.client-reads-fixed-header"
WITH_SASL = replace(HEALTHY_SCRIPT, listener=SASL_PLAINTEXT)
ONE_AFTER_THE_OTHER = (opened(closed_ms=3), opened(1, at_ms=4))
TWO_NODES = Script(nodes=(NodeScript(),) * 2)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(recorded(asked(4), asked(3, at_ms=1)), id="older-flexible-version"),
        pytest.param(recorded(asked(2), asked(0, at_ms=1)), id="older-version-without-a-name"),
        pytest.param(recorded(asked(4, Answer(delay_ms=5)), asked(0, at_ms=4)), id="response-not-known-yet"),
        pytest.param(recorded(asked(4, refused((0, 2))), asked(0, at_ms=1)), id="refused"),
        pytest.param(recorded(asked(4, listing((18, 0, 2))), asked(2, at_ms=1)), id="table-lists-v0-to-v2"),
        pytest.param(
            recorded(
                asked(4),
                asked(0, connection=1, at_ms=4),
                connections=(opened(), opened(1, at_ms=4)),
            ),
            id="connection-next-to-another",
        ),
        pytest.param(
            recorded(
                asked(4),
                sent(12),
                asked(0, connection=1, at_ms=4),
                connections=ONE_AFTER_THE_OTHER,
            ),
            id="table-was-used",
        ),
        pytest.param(
            recorded(
                asked(4),
                asked(0, connection=1, at_ms=4),
                connections=ONE_AFTER_THE_OTHER,
                script=WITH_SASL,
            ),
            id="connection-with-sasl-begins-with-v0",
        ),
        pytest.param(
            recorded(
                asked(4),
                sent(1, api_key=SASL_HANDSHAKE_KEY),
                sent(0, api_key=SASL_AUTHENTICATE_KEY, at_ms=2),
                asked(0, at_ms=3),
                script=WITH_SASL,
            ),
            id="after-authentication",
        ),
    ],
)
def test_older_version_may_follow(recording: Recording) -> None:
    """An older version is allowed if no table in a flexible one came before, or if that one was used."""
    assert READS not in {move.clause for move in forbidden_moves(recording)}


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(recorded(asked(4), asked(0, at_ms=1)), id="same-connection"),
        pytest.param(
            recorded(asked(4), asked(0, connection=1, at_ms=4), connections=ONE_AFTER_THE_OTHER),
            id="next-connection",
        ),
    ],
)
def test_flexible_table_is_not_asked_for_again(recording: Recording) -> None:
    """A client that got a table in v4 and asks in v0, on the same connection or the next one, could not read it."""
    (move,) = forbidden_moves(recording)
    assert move.clause == READS
    assert move.sentence.endswith("was sent although v4 got the table, as if that could not be read")


@pytest.mark.parametrize(("node", "found"), [(0, []), (1, [1])])
def test_refusal_is_a_reason_for_the_same_node_alone(node: int, found: list[int]) -> None:
    """A client that was refused by one node begins with its newest version on connections to others."""
    recording = recorded(
        asked(4, refused((0, 2))),
        asked(2, at_ms=1),
        asked(2, connection=1, at_ms=4),
        connections=(opened(closed_ms=3), opened(1, at_ms=4, node=node)),
        script=TWO_NODES,
    )
    assert [move.connection for move in begins_below(recording, newest=4)] == found
