"""Plays every vector for brokers to a broker that it starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from conformance.assertions.clause_ids import MALFORMED_HURTS_NOBODY
from conformance.commands.vectors import for_broker, ids_of
from conformance.vectors.broker_check import BrokerCheck
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.vector_set import VectorSet
from fixtures.client.running_broker import RunningBroker
from fixtures.client.transport import Transport, open_tcp
from fixtures.errors import ConnectionFailed
from fixtures.launchers import launch
from fixtures.registry.targets import Target
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT, SASL_PLAINTEXT
from workflows.findings_by_vector.tried import TriedProduct

LISTENERS = (PLAINTEXT, SASL_PLAINTEXT, CONTROLLER)
"""Those that vectors are about."""


@dataclass(frozen=True, slots=True)
class PlayedVectors:
    """What came of the vectors so far; see `TriedProduct`."""

    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    ended_by: list[str] = field(default_factory=list)


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
    results = PlayedVectors()
    left: Sequence[BrokerVector] = loaded.of_brokers()
    while left:
        with launch(target, launcher) as running:
            left = _played(running, left, results)
    passed = [each for each in own if each not in results.failed and each not in results.left_out]
    return TriedProduct(
        id=target.id,
        failed=dict(sorted(results.failed.items())),
        passed=tuple(sorted(passed)),
        left_out={each: results.left_out[each] for each in sorted(own) if each in results.left_out},
        ended_by=tuple(results.ended_by),
    )


def _played(running: RunningBroker, vectors: Sequence[BrokerVector], results: PlayedVectors) -> Sequence[BrokerVector]:
    listeners = {name: running.addresses[name] for name in LISTENERS if name in running.addresses}

    def open_stream(listener: str) -> Transport:
        return open_tcp(listeners[listener])

    check = BrokerCheck(open_stream)
    ids = ids_of(listeners[PLAINTEXT], "", None)
    return play_until_it_ends(check, lambda vector: for_broker(vector, listeners, ids, check), vectors, results)


def play_until_it_ends(
    check: BrokerCheck,
    own: Callable[[BrokerVector], tuple[BrokerVector | None, str]],
    vectors: Sequence[BrokerVector],
    results: PlayedVectors,
) -> Sequence[BrokerVector]:
    """Play vectors to a broker; return those that are left when it serves no connection any more.

    Args:
        check: judges it.
        own: returns a vector with the broker's own ids; None and the reason if it cannot be judged there.
        vectors: what is left to play.
        results: gets what came of them.

    Raises:
        ConnectionFailed: it serves no connection from the beginning.
    """
    latest = ""
    for number, vector in enumerate(vectors):
        try:
            judged, reason = own(vector)
            found = None if judged is None else check.check(judged)
        except ConnectionFailed:
            if not latest:
                raise
            results.ended_by.append(latest)
            results.failed.setdefault(latest, MALFORMED_HURTS_NOBODY)
            return vectors[number:]
        if judged is None:
            results.left_out[vector.id] = reason
            continue
        latest = vector.id
        if found is not None:
            results.failed[vector.id] = found.clause
    return ()
