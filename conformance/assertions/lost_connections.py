"""Check for targets that lose new connections at random.

Such connections are closed or never answered, whatever is sent on them.

Such a target fails in every property that happens to meet a lost connection. So before a failure with a request that
got no response stands, plain requests on new connections show whether they are lost as well; then one clause is
violated.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

from conformance.assertions.clause_ids import WELL_FORMED_NEVER_CLOSED
from conformance.assertions.decoding import payload_of
from conformance.assertions.errors import JudgedElsewhere
from conformance.assertions.violated_musts import ViolatesAnother
from fixtures.client.connection import Connection
from fixtures.errors import AuthenticationFailed, ConnectionFailed, HarnessError, NotServed
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Request, Step
from wire.frames import SIZE_BYTES

MAX_CONNECTIONS = 40
"""Connections of a control: enough to see twice that every thirteenth is lost, and even every nineteenth."""
LOSSES = 2
"""So often a lost connection has to come between served ones: a target that is being started again has one such
pause."""
MAX_IN_A_ROW = 3
"""A target that loses more than so many, one after the other, serves none at the moment."""
PAUSE_S = 1.0
"""Before each connection after the first loss: a limit of so many new connections per second is then no reason for
another."""
MAX_CONTROLS = 2
"""Controls that find nothing, in a run; a target may begin to lose connections later than the first failure."""
TRIES = 3
"""How often a request is sent again: one that is lost most of these times is the reason itself."""
MAX_SUSPECTS = 4
"""Requests of an example that are sent again."""
OPENING_FAILED = (ConnectionFailed, AuthenticationFailed, NotServed)
"""How TLS, the authentication or the first request on a lost connection ends."""


_CONTROLS: WeakKeyDictionary[Broker, list[ConnectionsLost | None]] = WeakKeyDictionary()
"""The results of the controls of this run, by listener; the first that finds something is the last."""


class ConnectionsLost(AssertionError):
    """Some new connections are lost, although nothing but a plain request was sent on each.

    Attributes:
        steps: what was sent on each, and what came.
    """

    def __init__(self, problem: str, steps: Sequence[Step] = ()) -> None:
        super().__init__(problem)
        self.steps = tuple(steps)


class LostAtRandom(ViolatesAnother):
    """An example met a lost connection; the violation is what plain requests on new connections show."""

    def __init__(self, violation: ConnectionsLost) -> None:
        reason = f"{_first_line(violation)} (judged by {WELL_FORMED_NEVER_CLOSED})"
        super().__init__(reason, clause=WELL_FORMED_NEVER_CLOSED, violation=violation, steps=violation.steps)


class LostWhileShared(JudgedElsewhere):
    """Some new connections are lost while other processes also open connections.

    All these connections together may be over a limit of the target.
    """

    def __init__(self, violation: ConnectionsLost) -> None:
        super().__init__(
            f"{_first_line(violation)}; several properties were judged at the same time, so this may be a limit on new "
            "connections: judge it with --jobs 1"
        )


def _first_line(violation: ConnectionsLost) -> str:
    return str(violation).partition("\n")[0]


def assert_new_connections_served(broker: Broker, most: int) -> None:
    """Fail if some of many new connections are lost between others on which plain requests are answered.

    A target that serves none of them is judged by what else is sent, and one that is lost once says nothing.

    Args:
        broker: the target.
        most: how many connections are opened, one after the other.

    Raises:
        ConnectionsLost: some are lost.
        LostWhileShared: some are, and other processes ask the target as well.
        HarnessError: the first connection cannot be opened.
    """
    with _new_connection(broker) as connection:
        payload_of(connection.converse([build_request(version=broker.readable_version)])[0])
    loss = _losses(broker, most)
    if loss is not None:
        raise LostWhileShared(loss) if broker.is_shared else loss


def _new_connection(broker: Broker) -> Connection:
    """Open a connection that is authenticated, if there are credentials for the listener."""
    return broker.connect(authenticate=broker.running.sasl is not None)


def _plain_requests(broker: Broker) -> list[Request]:
    """Return two plain requests for one connection, or one if it serves no second one before authentication."""
    plain = build_request(version=broker.readable_version)
    is_unauthenticated = broker.asks_for_authentication and broker.running.sasl is None
    return [plain] if is_unauthenticated else [plain, plain]


def lost_at_random(broker: Broker, clauses: Collection[str]) -> JudgedElsewhere | None:
    """Return that the current example failed because of a connection that is lost at random; None if it did not.

    Args:
        broker: the target, with the journal of the example.
        clauses: ids of the clauses that the example is about; the one about lost connections is violated in any case,
            unless other processes ask the target as well.
    """
    lost = _lost_exchanges(broker.journal)
    if (WELL_FORMED_NEVER_CLOSED in clauses and not broker.is_shared) or not lost:
        return None
    with suppress(HarnessError):
        violation = _control(broker)
        if violation is not None and any(_fares_otherwise(broker, each) for each in lost):
            return _reason(broker, violation)
    return None


def lost_while_opening(broker: Broker, error: HarnessError) -> JudgedElsewhere | None:
    """Return a reason to judge the failure elsewhere if the connection was lost at random while it was opened.

    TLS, the authentication or a first request was opening the connection. Return None if it failed otherwise.

    Args:
        broker: the target.
        error: why the connection was not opened.
    """
    if not isinstance(error, OPENING_FAILED):
        return None
    with suppress(HarnessError):
        violation = _control(broker)
        if violation is not None and _can_be_opened(broker):
            return _reason(broker, violation)
    return None


def _reason(broker: Broker, loss: ConnectionsLost) -> JudgedElsewhere:
    return LostWhileShared(loss) if broker.is_shared else LostAtRandom(loss)


def _can_be_opened(broker: Broker) -> bool:
    """Return whether a connection can be opened and authenticated, in one of a few tries."""
    other = _patient(broker)
    for _ in range(TRIES):
        with suppress(*OPENING_FAILED), other.connect():
            return True
    return False


def _lost_exchanges(journal: Sequence[Step]) -> list[Exchange]:
    exchanges = (exchange for step in journal for exchange in step.exchanges)
    lost = {
        (each.request.data, each.outcome): each
        for each in exchanges
        if each.outcome in (Outcome.CLOSED, Outcome.SILENT) and not each.request.is_hidden
    }
    # The last ones, because a malformed request before them may have been refused by right.
    return list(lost.values())[-MAX_SUSPECTS:]


def _control(broker: Broker) -> ConnectionsLost | None:
    """Return what plain requests on new connections show; a few times in a run, then what they showed last."""
    results = _CONTROLS.setdefault(broker, [])
    if not any(results) and len(results) < MAX_CONTROLS:
        results.append(_losses(_patient(broker), MAX_CONNECTIONS))
    return results[-1]


def _patient(broker: Broker) -> Broker:
    """Return the same listener with a journal of its own, whose silence uses up nothing."""
    other = broker.apart()
    other.patience.budget_s = math.inf
    other.patience.begin_property()
    other.begin_example()
    return other


def _losses(broker: Broker, most: int) -> ConnectionsLost | None:
    """Return that some of up to `most` new connections are lost between served ones; None if not."""
    losses, is_served, has_lost, lost_in_a_row = 0, False, False, 0
    for number in range(1, most + 1):
        if has_lost:
            broker.wait(PAUSE_S)
        with suppress(*OPENING_FAILED), _new_connection(broker) as connection:
            exchange = connection.converse_in_turn(_plain_requests(broker))[-1]
            if exchange.outcome is Outcome.ANSWER:
                losses += is_served and lost_in_a_row > 0
                is_served, lost_in_a_row = True, 0
                if losses == LOSSES:
                    return ConnectionsLost(
                        f"of {number} new connections, each with plain requests alone, some are lost\n"
                        "this is so whatever else is sent: other clauses are inconclusive where an example met such a connection",
                        _evidence(broker.journal),
                    )
                continue
        has_lost = True
        lost_in_a_row += 1
        if lost_in_a_row > MAX_IN_A_ROW:
            break
    return None


def _evidence(journal: Sequence[Step]) -> list[Step]:
    """Return the steps on the lost connections, and on the one that was served last."""
    exchanges = [(step.connection, exchange) for step in journal for exchange in step.exchanges]
    lost = {number for number, each in exchanges if each.outcome is not Outcome.ANSWER}
    return [step for step in journal if step.connection in {*lost, exchanges[-1][0]}]


def _fares_otherwise(broker: Broker, lost: Exchange) -> bool:
    """Return whether a lost request has another outcome on most new connections, with or without authentication.

    The rest of a frame that began before cannot be sent alone: it counts as one that has.
    """
    if lost.request.data[:SIZE_BYTES] != (len(lost.request.data) - SIZE_BYTES).to_bytes(SIZE_BYTES):
        return True
    other = _patient(broker)
    for authenticate in {False, broker.asks_for_authentication}:
        differing = 0
        for _ in range(TRIES):
            with suppress(*OPENING_FAILED), other.connect(authenticate=authenticate) as connection:
                (exchange,) = connection.converse([lost.request])
                differing += exchange.outcome is not lost.outcome
        if differing > TRIES // 2:
            return True
    return False
