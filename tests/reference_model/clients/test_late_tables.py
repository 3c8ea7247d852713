"""The oracle finds the use of a table that arrived too late.

Such a table arrives after the client has gone on to another connection.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Answer, NodeScript, Script
from tests.reference_model.clients.recordings import (
    asked,
    listing,
    opened,
    recorded,
    refused,
    sent,
)

PER_CONNECTION = "KIP-35.client-asks-per-connection"
OVERLAP = "KIP-35.client-uses-overlap"
CLOSES = Answer(action="close")
LATE_TABLE = (
    "Metadata v12 on connection 1 was sent by the table that came late on connection 0, "
    "and that of its own connection does not list it"
)


def gone_on(*requests: SeenRequest, own: Answer | None = None, late: Answer | None = None, node: int = 0) -> Recording:
    """Return a recording of a client that went on to a second connection after 10 ms, before the table of the first one
    came after 30.

    Args:
        requests: what it sent there besides.
        own: what it gets there after 50 ms; by default a table with Metadata v0 to v1.
        late: what came on the first connection; by default the healthy table.
        node: the node to which the first connection leads.
    """
    own = replace(listing((3, 0, 1)), delay_ms=40) if own is None else own
    late = Answer(delay_ms=30) if late is None else late
    return recorded(
        *(asked(4, late), asked(4, own, connection=1, at_ms=10), *requests),
        connections=(opened(node=node), opened(1, at_ms=10)),
        script=Script(nodes=(NodeScript(), NodeScript())),
    )


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(gone_on(sent(1, connection=1, at_ms=40)), id="late-table-agrees"),
        pytest.param(gone_on(sent(12, connection=1, at_ms=20)), id="late-table-has-not-come"),
        pytest.param(gone_on(sent(12, connection=1, at_ms=40), own=CLOSES), id="own-table-never-comes"),
    ],
)
def test_other_requests_are_allowed(recording: Recording) -> None:
    """What the connection's own table lists, what was sent before the late one came, and what nothing contradicts."""
    assert forbidden_moves(recording) == ()


@pytest.mark.parametrize(
    ("recording", "clause", "sentence"),
    [
        pytest.param(
            gone_on(sent(12, connection=1, at_ms=40)),
            PER_CONNECTION,
            LATE_TABLE,
            id="late-table-before-the-own-one",
        ),
        pytest.param(
            gone_on(sent(12, connection=1, at_ms=60)),
            PER_CONNECTION,
            LATE_TABLE,
            id="late-table-after-the-own-one",
        ),
        pytest.param(
            gone_on(sent(12, connection=1, at_ms=60), late=Answer()),
            OVERLAP,
            "Metadata v12 on connection 1 was sent although the table of that connection lists v0 to v1",
            id="table-that-was-waited-for",
        ),
        pytest.param(
            gone_on(sent(12, connection=1, at_ms=60), late=replace(refused(), delay_ms=30)),
            OVERLAP,
            "Metadata v12 on connection 1 was sent although the table of that connection lists v0 to v1",
            id="late-refusal",
        ),
        pytest.param(
            gone_on(sent(12, connection=1, at_ms=60), node=1),
            OVERLAP,
            "Metadata v12 on connection 1 was sent although the table of that connection lists v0 to v1",
            id="late-table-of-another-node",
        ),
    ],
)
def test_use_of_a_late_table_is_found(recording: Recording, clause: str, sentence: str) -> None:
    (move,) = forbidden_moves(recording)
    assert (move.clause, move.sentence) == (clause, sentence)
