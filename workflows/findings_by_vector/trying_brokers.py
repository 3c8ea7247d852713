"""Plays every vector for brokers to a broker that it starts."""

from __future__ import annotations

from collections.abc import Collection

from conformance.commands.vectors import for_broker, ids_of
from conformance.vectors.broker_check import BrokerCheck
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.vector_set import VectorSet
from fixtures.client.running_broker import RunningBroker
from fixtures.client.transport import Transport, open_tcp
from fixtures.errors import ConnectionFailed
from fixtures.launchers import launch
from fixtures.registry.targets import Target
from reference_model.profiles.listeners import PLAINTEXT
from workflows.findings_by_vector.tried import TriedProduct

ENDS_THE_PROCESS = "PROTOCOL.malformed-hurts-nobody"
"""The clause of a vector after which a broker serves no connection any more."""
_LISTENERS = (PLAINTEXT, "sasl_plaintext", "controller")


class _Results:
    """What came of the vectors so far."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.ended_by: list[str] = []


def try_broker(target: Target, loaded: VectorSet, own: Collection[str], launcher: str) -> TriedProduct:
    """Start a broker, again whenever a vector has ended it, and play all vectors to it.

    Args:
        target: the broker.
        loaded: the set.
        own: the vectors of the broker's findings.
        launcher: how it is started.

    Raises:
        HarnessError: it cannot be started.
    """
    results, left = _Results(), list(loaded.of_brokers())
    while left:
        with launch(target, launcher) as running:
            left = _tried_until_it_ends(running, left, results)
    passed = [each for each in own if each not in results.failed and each not in results.left_out]
    return TriedProduct(
        id=target.id,
        failed=dict(sorted(results.failed.items())),
        passed=tuple(sorted(passed)),
        left_out=dict(sorted(results.left_out.items())),
        ended_by=tuple(results.ended_by),
    )


def _tried_until_it_ends(running: RunningBroker, vectors: list[BrokerVector], results: _Results) -> list[BrokerVector]:
    """Play vectors to a broker; return those that are left when it serves no connection any more."""
    listeners = {name: running.addresses[name] for name in _LISTENERS if name in running.addresses}

    def open_stream(listener: str) -> Transport:
        return open_tcp(listeners[listener])

    check = BrokerCheck(open_stream)
    ids = ids_of(listeners[PLAINTEXT], "", None)
    latest = ""
    for number, vector in enumerate(vectors):
        try:
            judged, reason = for_broker(vector, listeners, ids, check)
            found = None if judged is None else check.check(judged)
        except ConnectionFailed:
            if not latest:
                raise
            results.ended_by.append(latest)
            results.failed.setdefault(latest, ENDS_THE_PROCESS)
            return vectors[number:]
        if judged is None:
            results.left_out[vector.id] = reason
            continue
        latest = vector.id
        if found is not None:
            results.failed[vector.id] = found.clause
    return []
