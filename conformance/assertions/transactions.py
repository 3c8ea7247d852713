"""Assertions about the transactions of a client, and their versions."""

from __future__ import annotations

from conformance.assertions.evidence import assert_in_time
from conformance.assertions.newest_versions import newest_versions
from fixtures.errors import ClientFails
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.feature_rules import misses_transaction_v2, needs_transaction_v2
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.transaction_versions import NEWEST_BEFORE_V2
from reference_model.clients.scripts.script import TRANSACTIONS
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
    control = client.plays.of(CONTROL)
    # As for every healthy broker, a second play decides on a busy machine.
    if not commits(control) and not commits(control := client.plays.again(CONTROL)):
        said = [ask.detail for ask in control.result.asks[-1:]] or [control.result.summary]
        raise ClientFails(f"{client.client.id} ends no transaction, even with a healthy scripted broker: {said[0]}")
    return True


def heeds_levels(client: ClientUnderTest) -> bool:
    """Return whether a client that does transactions sends nothing of transaction V2 in a cluster at level 1.

    One that does looks at no feature, so a single clause judges it.

    Raises:
        ClientFails: it does none even with a healthy broker.
    """
    if not does_transactions(client):
        return False
    moves = History(client.plays.of(AT_LEVEL_1_ALONE).recording).moves
    return not any(needs_transaction_v2(move) for move in moves)


def assert_commits(play: Play) -> None:
    """Fail unless the client ends a transaction."""
    said = "".join(f"\n{ask.detail}" for ask in play.result.asks[-1:])
    assert_in_time(commits(play), f"the client ends no transaction{said}")


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
