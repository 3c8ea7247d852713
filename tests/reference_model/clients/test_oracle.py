"""Moves that each rule of the oracle for clients allows or forbids."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from reference_model.clients.rules.moves import IN_FLIGHT_MS
from reference_model.clients.rules.oracle import ForbiddenMove, forbidden_moves
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import (
    EMPTY,
    ERROR_AFTER_MS,
    Answer,
    Table,
)
from tests.reference_model.clients.recordings import (
    asked,
    listing,
    opened,
    recorded,
    refused,
    refused_with,
    sent,
)
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY

PER_CONNECTION = "KIP-35.client-asks-per-connection"
OVERLAP = "KIP-35.client-uses-overlap"
FALLS_BACK = "KIP-35.client-falls-back-on-35"
NAMED_RANGE = "KIP-511.client-uses-named-range"
TABLE_OF_35 = "KIP-511.client-ignores-table-of-35"
ERRORS_ON_42 = "KIP-511.client-errors-on-42"
NAME = "KIP-511.client-name-valid"
DECODES = "KIP-35.client-requests-decode"
NEWEST_NAMED = "KIP-511.client-uses-newest-named-version"
ONE_SOFTWARE = "KIP-511.client-names-itself-truly"

CLOSES = Answer(action="close")
REFUSED_NAME = Answer(error_code=42, table=EMPTY, delay_ms=ERROR_AFTER_MS)
REFUSED_AT_ONCE = Answer(error_code=42, table=EMPTY)
AFTER_MS = ERROR_AFTER_MS + 1


def clauses_of(moves: Iterable[ForbiddenMove]) -> list[str]:
    """Return the clauses of moves, without duplicates."""
    return sorted({move.clause for move in moves})


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(recorded(), id="no-request"),
        pytest.param(recorded(asked(4), sent(12)), id="healthy"),
        pytest.param(recorded(sent(0, api_key=17), asked(4)), id="sasl-before-versions"),
        pytest.param(
            recorded(
                sent(0, api_key=SASL_HANDSHAKE_KEY), sent(0, api_key=25455), asked(3), sent(12)
            ),
            id="sasl-token-without-a-header",
        ),
        pytest.param(recorded(asked(4, CLOSES), sent(0, connection=1)), id="no-versions-after-a-close"),
        pytest.param(
            recorded(sent(0, connection=1), connections=(opened(closed_by="broker"), opened(1))),
            id="no-versions-after-a-connection-without-requests",
        ),
        pytest.param(
            recorded(
                *(asked(4), asked(4, CLOSES, connection=1), sent(0, connection=2)),
                connections=(opened(), opened(1), opened(2)),
            ),
            id="no-versions-after-a-table-and-a-close",
        ),
        pytest.param(recorded(asked(3, listing((3, 0, 1))), sent(1)), id="highest-version-of-the-range"),
        pytest.param(recorded(asked(3, listing((3, 0, 1), (3, 5, 6))), sent(6)), id="second-of-two-ranges"),
        pytest.param(recorded(asked(3, Answer(cut_to=9)), sent(12)), id="no-readable-table"),
        pytest.param(recorded(asked(3, Answer(delay_ms=50, table=EMPTY)), sent(12, at_ms=20)), id="sent-before-the-table-came"),
        pytest.param(recorded(asked(3, listing((3, 0, 1))), asked(3, at_ms=1), sent(12, at_ms=2)), id="second-table-of-a-connection"),
        pytest.param(recorded(asked(3, listing((3, 0, 1))), sent(1, api_key=SASL_AUTHENTICATE_KEY)), id="sasl-is-not-listed"),
        pytest.param(recorded(asked(4, refused((0, 2))), asked(2, at_ms=1)), id="named-version"),
        pytest.param(recorded(asked(4, refused((0, 2))), asked(1, at_ms=1)), id="lower-version"),
        pytest.param(recorded(asked(4, refused((1, 2))), asked(0, at_ms=1)), id="always-v0"),
        pytest.param(recorded(asked(4, refused()), asked(0, at_ms=1)), id="v0-without-a-range"),
        pytest.param(recorded(asked(4, refused((5, 2))), asked(2, at_ms=1)), id="odd-range"),
        pytest.param(recorded(asked(0, refused()), asked(0, at_ms=1)), id="nothing-below-v0"),
        pytest.param(recorded(asked(2, refused()), asked(0, at_ms=1)), id="v0-after-v2"),
        pytest.param(
            recorded(
                asked(4, refused((0, 2))),
                asked(2, at_ms=2, connection=1),
                connections=(opened(closed_ms=1), opened(1, at_ms=2)),
            ),
            id="named-version-on-the-next-connection",
        ),
        pytest.param(
            recorded(
                asked(4, refused((0, 2))),
                asked(4, at_ms=2, connection=1),
                connections=(opened(), opened(1, at_ms=2)),
            ),
            id="another-connection-at-the-same-time",
        ),
        pytest.param(
            recorded(
                asked(4, refused((0, 2))),
                asked(4, at_ms=2, connection=1),
                connections=(opened(closed_ms=1, closed_by="client", was_reset=True), opened(1, at_ms=2)),
            ),
            id="refusal-that-was-not-read-on-the-connection-before",
        ),
        pytest.param(
            recorded(
                asked(4),
                asked(0, at_ms=2, connection=1),
                connections=(opened(closed_ms=1, closed_by="client", was_reset=True), opened(1, at_ms=2)),
            ),
            id="table-that-was-not-read-on-the-connection-before",
        ),
        pytest.param(
            recorded(
                asked(4),
                sent(0, at_ms=2, connection=1),
                connections=(opened(closed_ms=1, closed_by="client", was_reset=True), opened(1, at_ms=2)),
            ),
            id="no-versions-after-a-response-that-was-not-read",
        ),
        pytest.param(
            recorded(
                asked(4, at_ms=2, connection=1),
                connections=(opened(closed_ms=1), opened(1, at_ms=2)),
            ),
            id="connection-after-one-without-requests",
        ),
        pytest.param(recorded(asked(4, Answer(error_code=35), at_ms=0), asked(4, at_ms=1)), id="refusal-that-cannot-be-read"),
        pytest.param(
            recorded(
                asked(3, refused_with(Table(changed=((3, 0, 1),)))),
                asked(0, at_ms=1),
                sent(12, at_ms=2),
            ),
            id="table-after-a-refusal",
        ),
        pytest.param(recorded(asked(3, refused((0, 2))), sent(0)), id="not-listed-by-a-refusal"),
        pytest.param(recorded(asked(4, REFUSED_NAME), asked(4, at_ms=AFTER_MS, connection=1)), id="new-connection-after-a-refused-name"),
        pytest.param(recorded(asked(4, REFUSED_NAME), sent(12, at_ms=1)), id="request-before-the-name-is-refused"),
        pytest.param(recorded(asked(4, REFUSED_AT_ONCE), sent(12, at_ms=IN_FLIGHT_MS - 1)), id="request-in-flight-when-the-name-is-refused"),
        pytest.param(
            recorded(asked(4, refused((0, 2)), read=0), asked(4, at_ms=0, read=0)),
            id="requests-of-one-read",
        ),
        pytest.param(recorded(asked(0, REFUSED_NAME), asked(0, at_ms=1)), id="v0-carries-no-name"),
        pytest.param(recorded(asked(3, software=("a.b-c", "1.0-"))), id="dot-at-an-edge"),
        pytest.param(recorded(asked(2), asked(3, at_ms=1), asked(3, at_ms=2, body=None)), id="no-name-in-v2-or-where-it-cannot-be-read"),
        pytest.param(recorded(asked(5, refused((0, 4))), asked(4, at_ms=1)), id="newest-named"),
        pytest.param(recorded(asked(4, refused((0, 2))), asked(0, at_ms=1)), id="v0-has-as-much"),
        pytest.param(
            recorded(
                *(asked(3), sent(0), sent(0, api_key=SASL_HANDSHAKE_KEY)),
                asked(3, refused((0, 2)), connection=1),
                *(sent(0, connection=1), sent(0, api_key=SASL_HANDSHAKE_KEY, connection=1)),
            ),
            id="lowest-version-and-sasl-after-a-refusal",
        ),
        pytest.param(recorded(asked(3, CLOSES), *(asked(3, at_ms=50 * n, connection=n) for n in range(1, 9))), id="quiet-retries"),
        pytest.param(recorded(asked(3), sent(99, connection=300), connections=(opened(),)), id="connection-that-is-only-counted"),
    ],
)  # fmt: skip
def test_move_is_allowed(recording: Recording) -> None:
    """What no clause forbids is allowed."""
    assert forbidden_moves(recording) == ()


@pytest.mark.parametrize(
    ("recording", "clause", "sentence"),
    [
        pytest.param(
            recorded(sent(12)),
            PER_CONNECTION,
            "Metadata v12 on connection 0 was sent before any ApiVersions request on that connection",
            id="no-versions-first",
        ),
        pytest.param(
            recorded(
                *(asked(4, CLOSES), asked(4, connection=1), sent(0, connection=2)),
                connections=(opened(), opened(1), opened(2)),
            ),
            PER_CONNECTION,
            "Metadata v0 on connection 2 was sent before any ApiVersions request on that connection",
            id="no-versions-after-a-close-and-a-table",
        ),
        pytest.param(
            recorded(
                *(asked(4, Answer(cut_to=9)), sent(0, connection=1)),
                connections=(opened(), opened(1)),
            ),
            PER_CONNECTION,
            "Metadata v0 on connection 1 was sent before any ApiVersions request on that connection",
            id="no-versions-after-nonsense",
        ),
        pytest.param(
            recorded(asked(3), sent(12, connection=1)),
            PER_CONNECTION,
            "Metadata v12 on connection 1 was sent before any ApiVersions request on that connection",
            id="no-versions-on-the-second-connection",
        ),
        pytest.param(
            recorded(
                asked(3),
                sent(12),
                asked(3, listing((3, 0, 1)), connection=1),
                sent(12, connection=1),
            ),
            PER_CONNECTION,
            "Metadata v12 on connection 1 was sent although the table of that connection lists v0 to v1",
            id="table-of-another-connection",
        ),
        pytest.param(
            recorded(
                asked(3),
                sent(12),
                asked(3, listing((3, 0, 0)), connection=1),
                sent(1, connection=1),
            ),
            OVERLAP,
            "Metadata v1 on connection 1 was sent although the table of that connection lists v0 to v0",
            id="version-of-no-other-connection",
        ),
        pytest.param(
            recorded(asked(3, listing((3, 60, 70))), sent(6)),
            OVERLAP,
            "Metadata v6 on connection 0 was sent although the table of that connection lists v60 to v70",
            id="below-the-range",
        ),
        pytest.param(
            recorded(asked(3, listing((3, 7, 2))), sent(2)),
            OVERLAP,
            "Metadata v2 on connection 0 was sent although the table of that connection lists v7 to v2",
            id="reversed-range",
        ),
        pytest.param(
            recorded(asked(3, listing((3, -3, -1))), sent(-1)),
            OVERLAP,
            "Metadata v-1 on connection 0 was sent although the table of that connection lists v-3 to v-1",
            id="negative-range",
        ),
        pytest.param(
            recorded(asked(3, listing((18, 0, 4))), sent(0, api_key=99)),
            OVERLAP,
            "API 99 v0 on connection 0 was sent although the table of that connection lists no version of that API",
            id="not-listed",
        ),
        pytest.param(
            recorded(asked(3, listing((17, 0, 0))), sent(1, api_key=SASL_HANDSHAKE_KEY)),
            OVERLAP,
            "SaslHandshake v1 on connection 0 was sent although the table of that connection lists v0 to v0",
            id="sasl-outside-its-range",
        ),
        pytest.param(
            recorded(asked(3, listing((3, 0, 32767))), sent(32767)),
            OVERLAP,
            "Metadata v32767 on connection 0 has a version that no client knows",
            id="the-brokers-maximum",
        ),
        pytest.param(
            recorded(asked(3, listing((18, 0, 4))), sent(0x6F6E, api_key=0x63)),
            OVERLAP,
            "the data on connection 0 is no request: it looks like a bare SASL token, which may only follow SaslHandshake v0",
            id="token-without-a-handshake",
        ),
        pytest.param(
            recorded(asked(4, refused((0, 2))), asked(4, at_ms=1)),
            NAMED_RANGE,
            "ApiVersions v4 on connection 0 was sent after v4 was refused with the range v0 to v2 below it",
            id="refused-version-again",
        ),
        pytest.param(
            recorded(asked(4, refused((0, 9))), asked(4, at_ms=1)),
            NAMED_RANGE,
            "ApiVersions v4 on connection 0 was sent after v4 was refused with the range v0 to v3 below it",
            id="refused-version-that-is-named-again",
        ),
        pytest.param(
            recorded(
                asked(4, refused((0, 2))),
                asked(3, at_ms=2, connection=1),
                connections=(opened(closed_ms=1), opened(1, at_ms=2)),
            ),
            NAMED_RANGE,
            "ApiVersions v3 on connection 1 was sent after v4 was refused with the range v0 to v2 below it",
            id="above-the-range-on-the-next-connection",
        ),
        pytest.param(
            recorded(
                *(asked(4, refused((0, 2))), asked(2, at_ms=1), asked(4, refused((0, 2)), at_ms=1)),
                *(asked(4, at_ms=2), asked(4, at_ms=4, connection=1)),
                connections=(
                    opened(closed_ms=3, closed_by="client", was_reset=True),
                    opened(1, at_ms=4),
                ),
            ),
            NAMED_RANGE,
            "ApiVersions v4 on connection 0 was sent after v4 was refused with the range v0 to v2 below it",
            id="refusal-before-the-one-that-was-not-read",
        ),
        pytest.param(
            recorded(asked(4, refused()), asked(3, at_ms=1)),
            FALLS_BACK,
            "ApiVersions v3 on connection 0 was sent after v4 was refused without a range, where v0 comes next",
            id="one-step-down-without-a-range",
        ),
        pytest.param(
            recorded(asked(2, refused()), asked(1, at_ms=1)),
            FALLS_BACK,
            "ApiVersions v1 on connection 0 was sent after v2 was refused without a range, where v0 comes next",
            id="one-step-down-from-a-version-without-a-name",
        ),
        pytest.param(
            recorded(asked(2, refused()), asked(2, at_ms=1)),
            FALLS_BACK,
            "ApiVersions v2 on connection 0 was sent after v2 was refused, and nothing lower was tried",
            id="refused-version-without-a-range-again",
        ),
        pytest.param(
            recorded(asked(4, refused((9, 12))), asked(9, at_ms=1)),
            FALLS_BACK,
            "ApiVersions v9 on connection 0 was sent after v4 was refused, and nothing lower was tried",
            id="up",
        ),
        pytest.param(
            recorded(asked(4, refused_with(Table(changed=((3, 0, 1),)))), sent(1)),
            TABLE_OF_35,
            "Metadata v1 on connection 0 was sent as UNSUPPORTED_VERSION lists it, without a table",
            id="table-of-a-refusal",
        ),
        pytest.param(
            recorded(asked(3, REFUSED_NAME), asked(0, at_ms=AFTER_MS)),
            ERRORS_ON_42,
            "ApiVersions v0 on connection 0 was sent after ApiVersions got INVALID_REQUEST there",
            id="another-version-after-a-refused-name",
        ),
        pytest.param(
            recorded(asked(3, REFUSED_NAME), asked(0, at_ms=AFTER_MS), sent(1, at_ms=AFTER_MS + 1)),
            ERRORS_ON_42,
            "ApiVersions v0 on connection 0 was sent after ApiVersions got INVALID_REQUEST there",
            id="refused-name-is-not-forgotten",
        ),
        pytest.param(
            recorded(asked(3, REFUSED_AT_ONCE), sent(1, at_ms=IN_FLIGHT_MS)),
            ERRORS_ON_42,
            "Metadata v1 on connection 0 was sent after ApiVersions got INVALID_REQUEST there",
            id="request-long-after-a-name-refused-at-once",
        ),
        pytest.param(
            recorded(
                asked(3, REFUSED_NAME),
                sent(1, at_ms=1),
                sent(1, at_ms=AFTER_MS),
            ),
            ERRORS_ON_42,
            "Metadata v1 on connection 0 was sent after ApiVersions got INVALID_REQUEST there",
            id="request-after-one-that-was-in-flight",
        ),
        pytest.param(
            recorded(asked(3, software=("a b", "1"))),
            NAME,
            "ApiVersions v3 on connection 0 has an illegal software name: 'a b'",
            id="blank-in-the-name",
        ),
        pytest.param(
            recorded(asked(3, software=("a", ""))),
            NAME,
            "ApiVersions v3 on connection 0 has an illegal software version: ''",
            id="no-version",
        ),
        pytest.param(
            recorded(asked(3, body=None, problem="cut off")),
            DECODES,
            "ApiVersions v3 on connection 0 cannot be decoded: cut off",
            id="body-that-cannot-be-read",
        ),
        pytest.param(
            recorded(asked(0, body=None, problem="one byte too many")),
            DECODES,
            "ApiVersions v0 on connection 0 cannot be decoded: one byte too many",
            id="v0-with-a-body",
        ),
        pytest.param(
            recorded(asked(4, refused((0, 3))), asked(0, at_ms=1)),
            NEWEST_NAMED,
            "ApiVersions v0 on connection 0 was sent although the refusal of v4 names v3",
            id="v0-although-a-version-with-a-name-is-named",
        ),
        pytest.param(
            recorded(
                asked(5, refused((0, 4))),
                asked(3, at_ms=2, connection=1),
                connections=(opened(closed_ms=1), opened(1, at_ms=2)),
            ),
            NEWEST_NAMED,
            "ApiVersions v3 on connection 1 was sent although the refusal of v5 names v4",
            id="older-than-named-on-the-next-connection",
        ),
        pytest.param(
            recorded(asked(3), asked(3, connection=1, software=("kgo", "1.1"))),
            ONE_SOFTWARE,
            "ApiVersions v3 on connection 1 names ('kgo', '1.1'), and another request ('kgo', '1.0')",
            id="another-version-on-another-connection",
        ),
        pytest.param(
            recorded(
                asked(3),
                sent(12),
                asked(3, refused((0, 2)), connection=1),
                sent(12, connection=1),
            ),
            PER_CONNECTION,
            "Metadata v12 on connection 1 was sent by the table of another connection, "
            "after the request for that of its own was refused",
            id="table-of-another-connection-after-a-refusal",
        ),
    ],
)
def test_move_is_forbidden(recording: Recording, clause: str, sentence: str) -> None:
    """A forbidden move is found with its clause and a sentence that says what was wrong."""
    moves = forbidden_moves(recording)
    assert clauses_of(moves) == [clause]
    assert str(moves[0]) == sentence


def test_forbidden_move_has_its_index() -> None:
    """A move is found by its connection and its number there."""
    (move,) = forbidden_moves(
        recorded(asked(3), asked(3, connection=1), sent(12, connection=1), sent(99, connection=1))
    )
    assert (move.connection, move.request) == (1, 2)
