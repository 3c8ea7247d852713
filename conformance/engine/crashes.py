"""A target that ends while it is judged: what is to blame, and which clause that violates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from clauses.catalogue import Clause, catalogue
from conformance.assertions.judging import TargetEnded, crash_in_words
from conformance.engine.repeating import run_body
from fixtures.errors import BrokerGone, HarnessError
from fixtures.under_test.broker import Broker
from wire.exchange import Step

CRASH_OF_BROKEN = "PROTOCOL.malformed-hurts-nobody"
CRASH_OF_WELL_FORMED = "PROTOCOL.well-formed-never-closed"
"""The clauses violated by an example that ends the target, with and without a malformed request."""


def crash_error(gone: BrokerGone) -> TargetEnded:
    """Return the end of a target as a violation, the line that states the reason first."""
    return TargetEnded("\n".join(crash_in_words(str(gone))))


def clause_of_crash(steps: Sequence[Step]) -> Clause:
    """Return the clause that a crash after these steps violates.

    A step that sent bytes without awaiting anything counts as malformed: those are no complete frames.
    """
    broken = any(
        any(each.request.broken for each in step.exchanges) or (step.pieces and not step.exchanges)
        for step in steps
    )
    return catalogue()[CRASH_OF_BROKEN if broken else CRASH_OF_WELL_FORMED]


def confirm_crash(
    broker: Broker, body: Callable[..., None], values: Mapping[str, Any], gone: BrokerGone
) -> None:
    """Run a body on a fresh target; return if it ends that one as well.

    Raises:
        HarnessError: the fresh target did not end.
    """
    try:
        run_body(broker, body, values)
        # After its response or close, a process may take a moment to end.
        broker.await_end()
    except BrokerGone:
        # If it does not start again, the next connection reports that.
        with suppress(HarnessError):
            broker.restart()
        return
    raise HarnessError(f"{gone}; the same bytes did not end a fresh process") from gone


def not_judgeable_after(gone: BrokerGone, clause: Clause) -> BrokerGone:
    """Return why nothing more is judged of a target that ended and cannot be started again."""
    return BrokerGone(
        f"{gone}; {clause.id} judges this. Nothing more is sent; earlier results are kept"
    )
