"""Asserts that what one client does disturbs no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.assertions.blame import V0_ALWAYS_SERVED
from fixtures.client.connection import Connection
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.exchange import Outcome


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
    """
    plain = build_request(version=broker.readable_version)
    with open_bystander(broker) as bystander:
        yield
        after = bystander.converse_in_turn([plain] * requests)
        with broker.connect(authenticate=False) as connection:
            (newcomer,) = connection.converse([plain])
        assert after[-1].outcome is Outcome.ANSWER, f"{cause} disturbed another connection"
        assert newcomer.outcome is Outcome.ANSWER, f"no new connection is served because of {cause}"
