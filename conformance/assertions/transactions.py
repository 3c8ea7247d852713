"""Assertions about the transactions of a client, and their versions."""

from __future__ import annotations

from conformance.assertions.errors import Unjudged
from conformance.assertions.evidence import assert_in_time
from conformance.assertions.newest_versions import newest_versions
from fixtures.errors import ClientFails
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.feature_rules import misses_transaction_v2, needs_transaction_v2
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.transaction_versions import NEWEST_BEFORE_V2
from reference_model.clients.scripts.script import TRANSACTIONS, Script
from strategies.transaction_scripts import AT_LEVEL_1_ALONE, CONTROL
from wire.api_keys import END_TXN_KEY


def commits(play: Play) -> bool:
    """Return whether a client ended a transaction."""
    return any(each.api_key == END_TXN_KEY and each.response for each in play.recording.requests)


def does_transactions(client: ClientUnderTest) -> bool:
    """Return whether a client can be told to do transactions.

    Raises:
        ClientFails: it can, but does none even with a healthy broker, so nothing can be judged.
    """
    if TRANSACTIONS not in client.client.options:
        return False
    _committing(client, CONTROL)
    return True


def uses_transaction_v2(client: ClientUnderTest) -> bool:
    """Return whether a client that does transactions sends something of transaction V2 to a cluster at level 2.

    One that does not shows nothing of the features that it believes.

    Raises:
        ClientFails: it does none even with a healthy broker.
    """
    return does_transactions(client) and _sends_v2(_committing(client, CONTROL))


def heeds_levels(client: ClientUnderTest) -> bool:
    """Return whether a client that does transactions sends nothing of transaction V2 to a cluster at level 1.

    One that does looks at no feature, so a single clause judges it.

    Raises:
        ClientFails: it does none even with a healthy broker.
    """
    return does_transactions(client) and not _sends_v2(_committing(client, AT_LEVEL_1_ALONE))


def _committing(client: ClientUnderTest, script: Script) -> Play:
    """Return a play with a healthy broker in which a client ends a transaction.

    Raises:
        ClientFails: it ends none, so what it did not send shows nothing.
    """
    play = client.plays.of(script)
    # As for every healthy broker, a second play decides on a busy machine.
    if not commits(play) and not commits(play := client.plays.again(script)):
        details = [ask.detail for ask in play.result.asks[-1:]] or [play.result.summary]
        where = "" if script == CONTROL else " at level 1 of transaction.version"
        raise ClientFails(
            f"{client.client.id} ends no transaction{where}, even with a healthy scripted broker: {details[0]}"
        )
    return play


def _sends_v2(play: Play) -> bool:
    return any(needs_transaction_v2(move) for move in History(play.recording).moves)


def assert_commits(play: Play) -> None:
    """Fail unless the client ends a transaction."""
    detail = "".join(f"\n{ask.detail}" for ask in play.result.asks[-1:])
    assert_in_time(commits(play), f"the client ends no transaction{detail}")


def unjudged_without_commit(play: Play) -> None:
    """Judge a client no further if it ended no transaction.

    Raises:
        Unjudged: it ended none, so what it did not send shows nothing.
    """
    if not commits(play):
        raise Unjudged("the client ends no transaction, so nothing shows which versions it would send in one")


def assert_uses_transaction_v2(client: ClientUnderTest, play: Play, clause: str) -> None:
    """Fail if a client breaks a clause by not using transaction V2 where it knows that the cluster has finalized it.

    A client that does not use it in a healthy cluster either need not know it.
    """
    usual, history = newest_versions([client.plays.of(CONTROL)]), History(play.recording)
    for move in history.moves:
        key = move.request.api_key
        missed = misses_transaction_v2(move, history) if usual.get(key, 0) > NEWEST_BEFORE_V2.get(key, 0) else None
        assert missed is None or missed[0] != clause, (
            f"{move} was sent in a transaction, where the client otherwise sends v{usual[key]}, {missed and missed[1]}"
        )
