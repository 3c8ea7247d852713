"""A run of the pinned examples, in this process and on one in-memory broker.

It has every property that needs no socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.errors import JudgedElsewhere
from conformance.mutation.properties import Property, all_properties, holds
from conformance.mutation.subjects import listeners_in_memory
from fixtures.client.patience import Patience
from fixtures.errors import HarnessError
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import REFERENCE
from strategies.hypothesis_adapter import assumptions_outside_hypothesis


@dataclass(slots=True, kw_only=True)
class BrokerWithDefects(ReferenceBroker):
    """A reference broker on which each of several defects acts at its own stage.

    Attributes:
        tamperings: the defects, in the order in which they act.
    """

    tamperings: tuple[Tampering, ...]

    def tamper(self, stage: Stage, subject: object) -> None:
        """Let every defect of this stage act."""
        for each in self.tamperings:
            if each.stage is stage:
                each.act(subject)


def broker_with(*tamperings: Tampering, patience: Patience) -> InMemoryBroker:
    """Return the plaintext listener of the reference broker with some defects."""
    (reference,) = (target for target in reference_targets() if target.id == REFERENCE)
    target = in_memory_target(reference)
    served = {
        name: BrokerWithDefects(
            profile=each.profile,
            identity=each.identity,
            authentication=each.authentication,
            log=each.log,
            tamperings=tamperings,
        )
        for name, each in target.served.items()
        if isinstance(each, ReferenceBroker)
    }
    return InMemoryBroker(replace(target, served=served), PLAINTEXT, patience=patience)


def properties_of_a_run(*, left_out: Iterable[str] = ()) -> list[Property]:
    """Return the properties that need no socket, without the deep ones and those with a mark that is left out."""
    return [
        each
        for each in all_properties().values()
        if PLAINTEXT in listeners_in_memory(each)
        and not each.is_deep
        and not any(mark.name in left_out for mark in each.marks)
    ]


def outcomes(broker: InMemoryBroker, properties: Iterable[Property]) -> Iterator[tuple[Property, bool | str]]:
    """Judge a broker property by property, each with its own patience: whether it fails, or why that cannot be
    judged."""
    with assumptions_outside_hypothesis():
        for judged in properties:
            broker.begin_property(*judged.clauses)
            try:
                yield judged, _fails(judged, broker)
            except HarnessError as error:
                yield judged, str(error)


def _fails(judged: Property, broker: InMemoryBroker) -> bool:
    elsewhere = None
    for values in judged.pinned or ({},):
        before = broker.patience.now()
        try:
            if not holds(judged, broker, values):
                return True
        except UnsatisfiedAssumption:
            continue
        except JudgedElsewhere as reason:
            elsewhere = elsewhere or reason
        # As in a run of the suite, silence that was allowed costs nothing.
        broker.patience.refund(before)
    if elsewhere is not None:
        raise elsewhere
    return False
