"""Asserts that what one client does disturbs no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from conformance.assertions.blame import KEPT, SECOND_REQUEST, V0_ALWAYS_SERVED, first_unanswered
from conformance.assertions.judging import JudgedElsewhere, MalformedAnswer
from fixtures.client.connection import Connection
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome


@contextmanager
def open_bystander(broker: Broker) -> Iterator[Connection]:
    """Open a connection on which a plain request was answered, so that an effect on it can be seen.

    Raises:
        HarnessError: the target does not answer a plain request.
    """
    with broker.connect() as bystander:
        # No sentinel: where v0 is not served, it would be the sentinel that costs the connection.
        plain = build_request(version=broker.readable_version)
        if bystander.converse([plain])[0].outcome is not Outcome.ANSWER:
            raise HarnessError(
                f"{broker.target.id} does not answer a plain request (judged by {V0_ALWAYS_SERVED}), so an effect on "
                "other connections cannot be seen"
            )
        yield bystander


@contextmanager
def undisturbed(broker: Broker, cause: str, *, requests: int = 1) -> Iterator[None]:
    """Fail if what happens in the block disturbs a connection that was open before, or a new one.

    Args:
        broker: the target.
        cause: what may disturb them, for the failure message.
        requests: how many requests are then sent on the connection that was open before, one after the other.

    Raises:
        JudgedElsewhere: so many requests on a connection are not all answered, whatever happens on others.
    """
    plain = build_request(version=broker.readable_version)
    alone = first_unanswered(broker, 1 + requests)
    with open_bystander(broker) as bystander:
        yield
        after = bystander.converse_in_turn([plain] * requests)
        with broker.connect(authenticate=False) as connection:
            (newcomer,) = connection.converse([plain])
    assert_undisturbed(
        after,
        newcomer,
        alone,
        disturbed=f"{cause} disturbed another connection",
        unserved=f"no new connection is served because of {cause}",
    )


def assert_undisturbed(
    bystander: Sequence[Exchange],
    newcomer: Exchange,
    alone: MalformedAnswer | None,
    *,
    disturbed: str,
    unserved: str,
) -> None:
    """Fail unless all requests on a connection that was open before, and one on a new connection, were answered.

    Args:
        bystander: the exchanges on the connection that was open before.
        newcomer: the exchange on the new connection.
        alone: what `first_unanswered` found before anything was sent that may disturb others.
        disturbed: what to say if the former is not answered.
        unserved: what to say if the latter is not.

    Raises:
        JudgedElsewhere: the former is not answered, but it was not without anything that may disturb it either.
    """
    unanswered = next((each for each in bystander if each.outcome is not Outcome.ANSWER), None)
    is_explained = (
        unanswered is not None
        and alone is not None
        and alone.exchange.outcome is unanswered.outcome
    )
    assert unanswered is None or is_explained, disturbed
    assert newcomer.outcome is Outcome.ANSWER, unserved
    if is_explained:
        raise JudgedElsewhere(
            f"{SECOND_REQUEST} fails in the same way where nothing disturbs it: {alone} (judged by {KEPT})"
        )
