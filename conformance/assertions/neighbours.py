"""Assertions that what one client sends disturbs no other client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from conformance.assertions.clause_ids import SIZE_PREFIX_EXACT, V0_ALWAYS_SERVED, WELL_FORMED_NEVER_CLOSED
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault
from conformance.assertions.explanations import SECOND_REQUEST, first_unanswered
from fixtures.client.connection import Connection
from fixtures.errors import HarnessError, NotServed
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.odd_frames import build_part
from wire.exchange import Exchange, Outcome, Request

STOPPED_BY_PART = "while one connection is inside a frame, no other is served"
MIN_AT_ONCE = 5
"""So few connections at once are no limit but a fault: a single client of Kafka opens as many."""


@contextmanager
def open_bystander(broker: Broker) -> Iterator[Connection]:
    """Open a connection on which a plain request was answered, so that an effect on it can be seen.

    Raises:
        NotServed: the target does not answer a plain request.
    """
    with broker.connect() as bystander:
        # No sentinel: where v0 is not served, it would be the sentinel that costs the connection.
        plain = build_request(version=broker.readable_version)
        if bystander.converse([plain])[0].outcome is not Outcome.ANSWER:
            raise NotServed(
                f"{broker.target.id} does not answer a plain request (judged by {V0_ALWAYS_SERVED}), so an effect on "
                "other connections cannot be seen"
            )
        yield bystander


@contextmanager
def undisturbed(
    broker: Broker, cause: str, *, requests: int = 1, is_limit: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Fail if what happens in the block disturbs a connection that was open before, or a new one.

    Args:
        broker: the target.
        cause: what may disturb them, for the failure message.
        requests: how many requests are then sent on the connection that was open before, one after the other.
        is_limit: called if the new connection is closed: whether that is a limit of the target's, and no failure.

    Raises:
        JudgedElsewhere: so many requests on a connection are not all answered, whatever happens on others.
    """
    plain = build_request(version=broker.readable_version)
    alone = first_unanswered(broker, 1 + requests)
    with open_bystander(broker) as bystander:
        yield
        with broker.connect(authenticate=False) as connection:
            (newcomer,) = connection.converse([plain])
        # Afterwards, because a connection too many may be what disturbs the others.
        after = bystander.converse_in_turn([plain] * requests)
    assert_undisturbed(
        after,
        newcomer,
        alone,
        is_limit=is_limit,
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
    is_limit: Callable[[], bool] = lambda: False,
) -> None:
    """Fail unless all requests on a connection that was open before, and one on a new connection, were answered.

    Args:
        bystander: the exchanges on the connection that was open before.
        newcomer: the exchange on the new connection.
        alone: what `first_unanswered` found before anything was sent that may disturb others.
        disturbed: what to say if the former is not answered.
        unserved: what to say if the latter is not.
        is_limit: called if the latter is closed: whether that is no failure.

    Raises:
        JudgedElsewhere: the former is not answered, but it was not without anything that may disturb it either.
    """
    unanswered = next((each for each in bystander if each.outcome is not Outcome.ANSWER), None)
    is_explained = unanswered is not None and alone is not None and alone.exchange.outcome is unanswered.outcome
    assert unanswered is None or is_explained, disturbed
    is_refused = newcomer.outcome is Outcome.CLOSED and is_limit()
    assert newcomer.outcome is Outcome.ANSWER or is_refused, unserved
    if is_explained and alone is not None:
        judged_by = SIZE_PREFIX_EXACT if alone.fault is ResponseFault.FRAME else WELL_FORMED_NEVER_CLOSED
        raise JudgedElsewhere(
            f"{SECOND_REQUEST} fails in the same way where nothing disturbs it: {alone} (judged by {judged_by})"
        )


def is_stopped_by_part(broker: Broker, sent: Request, kept: int) -> bool:
    """Return whether a part of a request on another connection stops a plain request.

    The other connection has sent only the first `kept` bytes of its request.
    """
    apart = broker.apart()
    with apart.connect(authenticate=False) as inside_a_frame:
        inside_a_frame.send(build_part(sent, kept))
        plain = build_request(version=broker.readable_version)
        with apart.connect(authenticate=False) as other:
            return other.converse([plain])[0].outcome is not Outcome.ANSWER


def limits_connections(broker: Broker, most: int) -> bool:
    """Return whether a target serves some plain connections at once, but not `most`; none of ours is open any more.

    Different clients open them, and each sends a request, so that nothing but their number is the reason.
    """
    other = broker.apart()
    # It learns of closed connections a moment later.
    some = poll_until(lambda: _served_at_once(other, MIN_AT_ONCE), expected=MIN_AT_ONCE)
    return some == MIN_AT_ONCE and _served_at_once(other, most) < most


def _served_at_once(broker: Broker, most: int) -> int:
    served = 0
    with ExitStack() as opened, suppress(HarnessError):
        for number in range(most):
            plain = build_request(version=broker.readable_version, client_id=f"client-{number}")
            connection = opened.enter_context(broker.connect(authenticate=False))
            if connection.converse([plain])[0].outcome is not Outcome.ANSWER:
                break
            served += 1
    return served
