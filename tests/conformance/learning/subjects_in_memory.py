"""Listeners of the reference broker in memory, and the machines of their models.

Some listeners have a defect.
"""

from __future__ import annotations

from functools import cache

from conformance.learning.alphabets import SMALL
from conformance.learning.querying import Listening
from conformance.learning.subjects import listening_to, machine_of_model, model_for
from fixtures.client.patience import Patience
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.broker.model.stages import Tampering
from reference_model.profiles.listeners import PLAINTEXT
from reports.machines.machine import Machine

PATIENCE_S = 600.0
REFERENCE_TARGET = reference_targets()[0]


def broker_in_memory(listener: str = PLAINTEXT, tampering: Tampering | None = None) -> InMemoryBroker:
    """Return a listener of the reference broker in memory."""
    # Nothing is really waited for in memory.
    patience = Patience(PATIENCE_S)
    return InMemoryBroker(in_memory_target(REFERENCE_TARGET, tampering), listener, patience=patience)


def listening(listener: str = PLAINTEXT, tampering: Tampering | None = None, *, size: str = SMALL) -> Listening:
    """Return a listener of the reference broker as a system under learning."""
    return listening_to(broker_in_memory(listener, tampering), size)


def few_letters(subject: Listening, letters: tuple[str, ...]) -> Listening:
    """Return a system under learning with only some of its letters."""
    subject.alphabet = {name: subject.alphabet[name] for name in letters}
    return subject


@cache
def model_machine(listener: str = PLAINTEXT, size: str = SMALL) -> Machine:
    """Return the machine of the model."""
    healthy = broker_in_memory(listener)
    return machine_of_model(model_for(healthy), listening(listener, size=size).alphabet)
