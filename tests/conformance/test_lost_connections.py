"""Tests of a target that loses connections at random.

One clause is violated. Elsewhere only failures due to the requests stay red.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from clauses.catalogue import catalogue
from conformance.assertions.blame import judged_elsewhere
from conformance.assertions.clause_ids import WELL_FORMED_NEVER_CLOSED
from conformance.assertions.decoding import payload_of
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer
from conformance.assertions.lost_connections import (
    MAX_CONNECTIONS,
    MAX_CONTROLS,
    ConnectionsLost,
    LostAtRandom,
    LostWhileShared,
    assert_new_connections_served,
)
from fixtures.client.patience import Patience
from fixtures.errors import AuthenticationFailed
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import ReceivedBytes, RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT
from reports.records import Verdict
from reports.run.judged_examples import CellKey
from strategies.api_versions import build_request
from tests.conformance.in_memory_runs import broker_with
from tests.conformance.judged_properties import MUST, JudgedBroker, judged
from wire.exchange import Exchange, Outcome

OWN = "KIP-35.keys-unique"
V3 = build_request(version=3)
Lose = Callable[[ReceivedBytes], None]
IsLost = Callable[[int], bool]


def every_thirteenth(number: int) -> bool:
    """Return whether a connection is lost."""
    return number % 13 == 0


def close(received: ReceivedBytes) -> None:
    """Lose a connection by closing it."""
    received.connection.drop()


def ignore(received: ReceivedBytes) -> None:
    """Lose a connection by reading nothing."""
    received.data = b""


def close_later(received: ReceivedBytes) -> None:
    """Lose a connection after its first response."""
    if received.connection.frames:
        received.connection.drop()


def losing(is_lost: IsLost = every_thirteenth, lose: Lose = close, *, refuses_v3: bool = False) -> InMemoryBroker:
    """Return a broker that loses some connections, by number, and perhaps closes each that brings a request of v3."""

    def act(received: ReceivedBytes) -> None:
        if is_lost(received.connection.number):
            lose(received)

    def refuse(context: RequestContext) -> None:
        if context.version == 3:
            context.replace_reaction(outcome=Outcome.CLOSED)

    tamperings = [Tampering(stage=Stage.BYTES, act=act)]
    if refuses_v3:
        tamperings.append(Tampering(stage=Stage.REACTION, act=refuse))
    broker = broker_with(*tamperings, patience=Patience(math.inf))
    broker.ask_for_table()
    return broker


def lost_exchange(broker: InMemoryBroker) -> Exchange:
    """Return the first exchange of v3, each on its own connection, that gets no response; it is what the example
    sent."""
    while True:
        broker.begin_example()
        exchange = broker.converse_in_turn([V3, V3])[-1]
        if exchange.payload is None:
            return exchange


def explained(broker: InMemoryBroker, *clauses: str) -> JudgedElsewhere | None:
    """Return why the failure of a lost exchange is another clause's."""
    with pytest.raises(MalformedAnswer) as caught:
        payload_of(lost_exchange(broker))
    return judged_elsewhere(broker, caught.value, clauses or (OWN,))


@pytest.mark.parametrize("lose", [close, ignore, close_later])
def test_lost_connection_is_judged_by_one_clause(lose: Lose) -> None:
    """However it is lost; the evidence has the lost connections and one that was served."""
    found = explained(losing(lose=lose))
    assert isinstance(found, LostAtRandom)
    assert f"are lost (judged by {WELL_FORMED_NEVER_CLOSED})" in str(found)
    exchanges = [each for step in found.steps for each in step.exchanges]
    assert {each.outcome is Outcome.ANSWER for each in exchanges} == {True, False}
    assert len({step.connection for step in found.steps}) == 3


def test_clause_about_lost_connections_is_violated_by_one() -> None:
    assert explained(losing(), WELL_FORMED_NEVER_CLOSED) is None


@pytest.mark.parametrize("is_lost", [every_thirteenth, lambda _: False])
def test_request_that_always_costs_its_connection_is_to_blame(is_lost: IsLost) -> None:
    """Whether or not the target also loses connections at random: it fares the same each time."""
    broker = losing(is_lost, refuses_v3=True)
    broker.begin_example()
    exchange = broker.converse([V3])[0]
    error = MalformedAnswer(exchange, "closed")
    assert not isinstance(judged_elsewhere(broker, error, (OWN,)), LostAtRandom)


@pytest.mark.parametrize(
    "is_lost",
    [
        lambda number: 10 <= number < 20,
        lambda number: number >= 10,
    ],
    ids=["starts-again", "is-gone"],
)
def test_one_pause_is_no_loss_at_random(is_lost: IsLost) -> None:
    """A target that is started again loses connections one after the other, once."""
    assert not isinstance(explained(losing(is_lost)), LostAtRandom)


def test_control_costs_few_connections() -> None:
    """What it found, or did not find twice, is kept."""
    numbers: set[int] = set()

    def is_lost(number: int) -> bool:
        numbers.add(number)
        return False

    broker = losing(is_lost, refuses_v3=True)
    before = max(numbers)
    for _ in range(MAX_CONTROLS + 3):
        broker.begin_example()
        assert judged_elsewhere(broker, AssertionError(), (OWN,)) is None
        broker.converse([V3])
        assert judged_elsewhere(broker, AssertionError(), (OWN,)) is None
    assert max(numbers) - before < (MAX_CONTROLS + 1) * MAX_CONNECTIONS


def test_authentication_on_a_lost_connection_is_explained() -> None:
    broker = losing().sibling(SASL_PLAINTEXT)

    def open_until_lost() -> None:
        while True:
            broker.connect().close()

    with pytest.raises(AuthenticationFailed) as caught:
        open_until_lost()
    assert isinstance(judged_elsewhere(broker, caught.value, (OWN,)), LostAtRandom)


def test_wrong_credentials_are_not_explained() -> None:
    broker = losing(lambda _: False).sibling(SASL_PLAINTEXT)
    assert judged_elsewhere(broker, AuthenticationFailed("refused"), (OWN,)) is None


@pytest.mark.parametrize("is_planned", [True, False])
def test_violation_is_recorded_once_in_the_cell_of_its_clause(is_planned: bool, tmp_path: Path) -> None:
    """Without such a cell, as in a run of a few properties, the property's own clause is violated."""
    broker = losing()
    also = (WELL_FORMED_NEVER_CLOSED,) if is_planned else ()
    case = judged(tmp_path, cast(JudgedBroker, broker), MUST, also_planned=also)

    def fail(value: int) -> None:
        payload_of(lost_exchange(broker))

    if not is_planned:
        with pytest.raises(MalformedAnswer):
            case.run(fail, 1)
        assert case.verdict is Verdict.VIOLATES
        return
    for value in range(3):
        case.run(fail, value)
    cell = case.recorder.cells[CellKey(WELL_FORMED_NEVER_CLOSED, broker.target.id, PLAINTEXT)]
    assert (case.verdict, cell.verdict) == (Verdict.INCONCLUSIVE, Verdict.VIOLATES)
    assert cell.verdicts[Verdict.VIOLATES] == 1
    assert catalogue()[WELL_FORMED_NEVER_CLOSED].statement == next(iter(cell.failures.values())).statement


@pytest.mark.parametrize("lose", [close, ignore, close_later])
def test_connections_that_are_lost_between_served_ones_are_a_violation(lose: Lose) -> None:
    """Two losses are needed: one alone may be a pause, or a limit on new connections in a short time."""
    assert_new_connections_served(losing(lambda number: number == 20, lose), 30)
    broker = losing(lose=lose)
    assert_new_connections_served(broker, 5)
    with pytest.raises(ConnectionsLost, match="some are lost"):
        assert_new_connections_served(broker, 30)


def test_target_that_serves_no_connection_loses_none_at_random() -> None:
    """Another clause is violated, and few connections show that."""
    is_over = losing(lambda number: number > 1)
    with pytest.raises(MalformedAnswer):
        assert_new_connections_served(is_over, 30)
    assert len({step.connection for step in is_over.journal}) < 10


class LimitedBroker(InMemoryBroker):
    """A broker that serves so many new connections per second; what comes beyond is closed half a second later."""

    per_second = 0.0
    left = 0.0

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.left = min(self.left + self.per_second * seconds, self.per_second)

    def admits(self) -> bool:
        """Take a connection, and return whether it is within the limit."""
        is_admitted = self.left >= 1
        if is_admitted:
            self.left -= 1
        else:
            self.wait(0.5)
        return is_admitted


@pytest.mark.parametrize("per_second", [2, 3, 4])
def test_limit_on_new_connections_per_second_loses_none_at_random(per_second: int) -> None:
    """After a loss each connection comes so late that it is within the limit."""
    admitted: dict[int, bool] = {}

    def act(received: ReceivedBytes) -> None:
        number = received.connection.number
        if number not in admitted:
            admitted[number] = limited.admits()
        if not admitted[number]:
            received.connection.drop()

    plain = broker_with(Tampering(stage=Stage.BYTES, act=act), patience=Patience(math.inf))
    limited = LimitedBroker(plain.running, PLAINTEXT, patience=plain.patience)
    limited.left = math.inf
    limited.ask_for_table()
    limited.per_second = limited.left = per_second
    assert_new_connections_served(limited, MAX_CONNECTIONS)
    assert False in admitted.values()


def test_losses_while_others_ask_are_no_violation() -> None:
    """All of them together may be over a limit on new connections; one process alone shows it."""
    broker = losing()
    broker.is_shared = True
    with pytest.raises(LostWhileShared, match="judge it with --jobs 1"):
        assert_new_connections_served(broker, 30)
    for clause in (OWN, WELL_FORMED_NEVER_CLOSED):
        assert isinstance(explained(broker, clause), LostWhileShared)
