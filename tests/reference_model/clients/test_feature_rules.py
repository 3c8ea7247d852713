"""Features in earlier tables forbid versions in a transaction, and ask for others.

A recording is written as the client lived through it: tables, each with the level of transaction.version and its epoch;
requests of a transaction; and the end of one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.clients.rules.feature_rules import (
    BELIEVES,
    CAPS,
    IGNORES_UNKNOWN_EPOCH,
    NEVER_GOES_BACK,
    SEES_NEW_LEVEL,
    misses_transaction_v2,
)
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Answer
from strategies.transaction_scripts import AT_LEVEL_1, AT_LEVEL_2, WITHOUT_FEATURES, at_level, at_level_0, finalized
from tests.reference_model.clients.recordings import asked, recorded, sent
from wire.api_keys import END_TXN_KEY, INIT_PRODUCER_ID_KEY, TXN_OFFSET_COMMIT_KEY
from wire.transaction_messages import PRODUCE

INIT = sent(5, api_key=INIT_PRODUCER_ID_KEY)
END = sent(5, api_key=END_TXN_KEY)
LEVEL_1, LEVEL_2 = AT_LEVEL_1, AT_LEVEL_2
NEWER_1, NEWER_2 = at_level(1, epoch=8), at_level(2, epoch=8)
WITHOUT_EPOCH_1, WITHOUT_EPOCH_2 = at_level(1, epoch=-1), at_level(2, epoch=-1)
INVALID_EPOCH_1, INVALID_EPOCH_2 = at_level(1, epoch=-2), at_level(2, epoch=-2)


def produce(version: int, transactional_id: str | None = "some") -> SeenRequest:
    """Return a Produce request of a transaction, or of none."""
    request = PRODUCE.plain_request(version, transactional_id=transactional_id)
    return replace(sent(version, api_key=PRODUCE.api_key), data=request.data)


def commit(version: int) -> SeenRequest:
    """Return a TxnOffsetCommit request."""
    return sent(version, api_key=TXN_OFFSET_COMMIT_KEY)


def lived(*events: Answer | SeenRequest) -> Recording:
    """Return what a client lived through on one connection, with a second between the events."""
    requests = (asked(5, each) if isinstance(each, Answer) else each for each in events)
    return recorded(*(replace(each, at_ms=1000 * at) for at, each in enumerate(requests)))


def broken(recording: Recording) -> list[str]:
    """Return the clauses about features that a client broke by sending too much, one for each request."""
    found = [each.clause for each in forbidden_moves(recording)]
    return [each for each in found if each.startswith("FEATURES.")]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((LEVEL_2, INIT, produce(13), commit(6), END, produce(12)), id="level-2"),
        pytest.param((at_level(3), produce(12)), id="later-level"),
        pytest.param((LEVEL_1, INIT, produce(11), commit(4), END), id="old-versions-at-level-1"),
        pytest.param((LEVEL_1, produce(13, None)), id="no-transaction"),
        pytest.param((LEVEL_1, LEVEL_2, produce(12)), id="contradicting-tables-of-one-epoch"),
        pytest.param((finalized(("transaction.version", 2), ("transaction.version", 1)), produce(12)), id="twice"),
        pytest.param((LEVEL_2, INIT, NEWER_1, produce(12), END), id="level-fell-in-the-transaction"),
        pytest.param((LEVEL_2, INIT, END, NEWER_1, commit(5)), id="level-fell-after-it-began"),
        pytest.param((LEVEL_1, INIT, NEWER_2, produce(12)), id="level-rose-in-the-transaction"),
        pytest.param((INVALID_EPOCH_2, produce(12)), id="epoch-that-no-broker-has"),
        pytest.param((LEVEL_1, INVALID_EPOCH_2, produce(12)), id="epoch-that-no-broker-has-after-another"),
        pytest.param((LEVEL_1, sent(2, api_key=0)), id="version-without-transactions"),
        pytest.param((LEVEL_1, sent(12, api_key=0)), id="body-that-was-not-read"),
        pytest.param((LEVEL_1, sent(99, api_key=0)), id="version-that-does-not-exist"),
    ],
)
def test_version_may_be_used(events: tuple[Answer | SeenRequest, ...]) -> None:
    assert broken(lived(*events)) == []


@pytest.mark.parametrize(
    ("events", "clauses"),
    [
        pytest.param((LEVEL_1, produce(12)), [CAPS], id="level-1"),
        pytest.param((LEVEL_1, commit(5)), [CAPS], id="offsets-at-level-1"),
        pytest.param((WITHOUT_FEATURES, produce(13), commit(5)), [CAPS, CAPS], id="no-features"),
        pytest.param((finalized(("x", 2)), produce(12)), [CAPS], id="another-feature"),
        pytest.param((produce(12),), [CAPS], id="before-any-table"),
        pytest.param((WITHOUT_EPOCH_2, produce(12)), [IGNORES_UNKNOWN_EPOCH], id="no-epoch"),
        pytest.param((LEVEL_1, WITHOUT_EPOCH_2, produce(12)), [IGNORES_UNKNOWN_EPOCH], id="no-epoch-after-one"),
        pytest.param((WITHOUT_EPOCH_2, LEVEL_1, produce(12)), [IGNORES_UNKNOWN_EPOCH], id="no-epoch-before-one"),
        pytest.param((NEWER_1, LEVEL_2, produce(12)), [NEVER_GOES_BACK], id="older-epoch"),
        pytest.param((LEVEL_2, NEWER_1, INIT, produce(12)), [SEES_NEW_LEVEL], id="level-fell"),
        pytest.param((LEVEL_2, at_level_0(8), INIT, produce(12)), [SEES_NEW_LEVEL], id="level-fell-to-0"),
        pytest.param((LEVEL_2, INIT, NEWER_1, END, produce(12)), [SEES_NEW_LEVEL], id="level-fell-before-it-began"),
    ],
)
def test_version_may_not_be_used(events: tuple[Answer | SeenRequest, ...], clauses: list[str]) -> None:
    assert broken(lived(*events)) == clauses


@pytest.mark.parametrize(
    ("events", "clause"),
    [
        pytest.param((LEVEL_2, INIT, END, produce(11)), BELIEVES, id="level-2"),
        pytest.param((LEVEL_2, INIT, END, commit(4)), BELIEVES, id="offsets"),
        pytest.param((LEVEL_1, INIT, NEWER_2, END, produce(11)), SEES_NEW_LEVEL, id="level-rose"),
        pytest.param((NEWER_2, INIT, LEVEL_1, END, produce(11)), NEVER_GOES_BACK, id="older-epoch"),
        pytest.param((LEVEL_2, INIT, WITHOUT_EPOCH_1, END, produce(11)), IGNORES_UNKNOWN_EPOCH, id="no-epoch"),
        pytest.param((WITHOUT_EPOCH_1, INIT, LEVEL_2, END, produce(11)), BELIEVES, id="epoch-came-later"),
        pytest.param(
            (LEVEL_2, INIT, WITHOUT_FEATURES, END, produce(11)), IGNORES_UNKNOWN_EPOCH, id="features-are-gone"
        ),
        pytest.param((WITHOUT_FEATURES, INIT, LEVEL_2, END, produce(11)), BELIEVES, id="features-came-later"),
        pytest.param((LEVEL_2, INIT, INVALID_EPOCH_1, END, produce(11)), None, id="epoch-that-no-broker-has"),
        pytest.param((LEVEL_2, INIT, END, produce(12)), None, id="used"),
        pytest.param((LEVEL_2, INIT, produce(11)), None, id="first-transaction"),
        pytest.param((LEVEL_1, INIT, END, NEWER_2, produce(11)), None, id="level-rose-after-it-began"),
        pytest.param((LEVEL_2, INIT, END, produce(11, None)), None, id="no-transaction"),
    ],
)
def test_version_should_be_used(events: tuple[Answer | SeenRequest, ...], clause: str | None) -> None:
    history = History(lived(*events))
    missed = misses_transaction_v2(history.moves[-1], history)
    assert (missed and missed[0]) == clause


def test_sentence_says_why() -> None:
    """A forbidden move says which version was the newest, and which epoch was overlooked."""
    (move,) = (
        each for each in forbidden_moves(lived(LEVEL_2, NEWER_1, INIT, produce(12))) if each.clause == SEES_NEW_LEVEL
    )
    assert move.sentence == (
        "Produce v12 on connection 0 was sent in a transaction, where v11 is the newest "
        "because transaction.version 2 is not finalized at epoch 8, which is newer than 7"
    )


def test_tables_of_another_client_say_nothing() -> None:
    """A program may have several clients, and each knows only what it was sent itself."""
    first, second = asked(5, LEVEL_2, client_id="one"), asked(5, LEVEL_1, client_id="two")
    move = replace(produce(12), client_id="two")
    requests = [replace(each, at_ms=1000 * at) for at, each in enumerate((first, second, move))]
    assert broken(recorded(*requests)) == [CAPS]


def test_table_of_another_connection_counts() -> None:
    """What a client learned on one connection holds on all."""
    table = asked(5, LEVEL_2, connection=1)
    assert broken(recorded(asked(5, LEVEL_1), table, replace(produce(12), at_ms=1000))) == []


@pytest.mark.parametrize(
    ("requests", "end_ms", "clauses"),
    [
        pytest.param((), 100, [], id="unread"),
        pytest.param((), 200, [SEES_NEW_LEVEL], id="came-a-while-before"),
        pytest.param((sent(12, connection=1, at_ms=2050),), 100, [SEES_NEW_LEVEL], id="its-connection-was-used"),
    ],
)
def test_table_may_be_unread_when_a_transaction_begins(
    requests: tuple[SeenRequest, ...], end_ms: int, clauses: list[str]
) -> None:
    """The level falls on another connection right before a transaction begins."""
    fell = asked(5, NEWER_1, connection=1, at_ms=2000)
    end, begun = replace(END, at_ms=2000 + end_ms), replace(produce(12), at_ms=3000)
    assert broken(recorded(asked(5, LEVEL_2), INIT, fell, *requests, end, begun)) == clauses
