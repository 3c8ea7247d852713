"""The correct models in which faults are planted and that are judged in memory: the model client, the model proxy, and those of proposals."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.engine.budgets import client_examples
from conformance.mutation.properties import (
    Property,
    client_properties,
    properties_of,
    proxy_properties,
)
from conformance.roles.client import unmet_need
from fixtures.client.patience import Patience
from fixtures.registry.model_clients import MODEL
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory import InMemoryBroker, InMemoryTarget
from fixtures.under_test.in_memory_client import in_memory_client
from fixtures.under_test.in_memory_proxy import MODEL_PROXY, in_memory_proxy
from proposals import proposals
from reference_model.faults import clients as client_faults
from reference_model.faults.planted import Fault
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS
from reference_model.profiles.listeners import PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A model, its planted faults, and the properties that judge it.

    Attributes:
        name: the model's id, which its faults follow after a "+".
        faults: its faults by name.
        properties: returns the properties that may judge it, by name.
        with_fault: returns the model with a fault, or the plain one for an empty name; always the same instance.
        applies: returns whether a property can judge it with a fault, or without for an empty name.
        examples_of: returns how many examples a real run draws for a property.
    """

    name: str
    faults: Mapping[str, Fault]
    properties: Callable[[], Mapping[str, Property]]
    with_fault: Callable[[str], Broker | ClientUnderTest]
    applies: Callable[[Property, str], bool]
    examples_of: Callable[[Property], int]


@functools.cache
def _client(fault: str) -> ClientUnderTest:
    return in_memory_client(fault)


@functools.cache
def _applies_to_client(judged: Property, fault: str) -> bool:
    """A fault may take from the client what a property needs of it, or be the only one that has it."""
    return unmet_need(judged.needs, _client(fault)) is None


def _of_broker(
    name: str,
    faults: Mapping[str, Fault],
    properties: Callable[[], Mapping[str, Property]],
    target: Callable[[str], InMemoryTarget],
) -> Subject:
    """Return a model of a broker or proxy; `target` returns it with a fault, or without for an empty name."""

    @functools.cache
    def with_fault(fault: str) -> InMemoryBroker:
        # In memory nothing takes time, so a fault may keep properties waiting as often as it likes.
        return InMemoryBroker(target(fault), PLAINTEXT, patience=Patience(math.inf))

    return Subject(
        name=name,
        faults=faults,
        properties=properties,
        with_fault=with_fault,
        applies=lambda judged, _: bool(judged.listeners_of(with_fault(""))),
        examples_of=lambda judged: judged.max_examples,
    )


SUBJECTS: Mapping[str, Subject] = {
    MODEL: Subject(
        name=MODEL,
        faults=client_faults.FAULTS,
        properties=client_properties,
        with_fault=_client,
        applies=_applies_to_client,
        examples_of=lambda judged: client_examples(judged.max_examples),
    ),
    MODEL_PROXY: _of_broker(MODEL_PROXY, PROXY_FAULTS, proxy_properties, in_memory_proxy),
    **{
        each.model: _of_broker(
            each.model,
            each.load(each.faults),
            functools.partial(properties_of, each),
            each.load(each.in_memory),
        )
        for each in proposals()
        if each.model
    },
}
"""The models by their ids."""
