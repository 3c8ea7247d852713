"""The reference broker with several planted defects at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.model.state_machine import ReferenceBroker


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


def with_defects(broker: ReferenceBroker, tamperings: Iterable[Tampering]) -> BrokerWithDefects:
    """Return a broker like another one, with these defects."""
    return BrokerWithDefects(
        profile=broker.profile,
        identity=broker.identity,
        authentication=broker.authentication,
        log=broker.log,
        tamperings=tuple(tamperings),
    )
