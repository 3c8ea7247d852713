"""Models that are judged in memory with planted faults.

These are the reference broker, the model client, the model proxy, and the models of proposals.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.engine.hypothesis_profiles import client_examples
from conformance.mutation.properties import (
    Property,
    all_properties,
    client_properties,
    properties_of,
    proxy_properties,
)
from conformance.roles.client_needs import unmet_need
from fixtures.client.patience import Patience
from fixtures.registry.reference import reference_target
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory import (
    InMemoryBroker,
    InMemoryTarget,
    in_memory_proposed,
    in_memory_proxy,
    in_memory_target,
)
from fixtures.under_test.in_memory_client import in_memory_client
from proposals import proposals
from reference_model.clients.model.negotiation import MODEL
from reference_model.faults import clients as client_faults
from reference_model.faults.broker import DEFECTS, Defect, defects_of
from reference_model.faults.planted import Fault
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import (
    NEWEST_RELEASE,
    OLDER_REFERENCE,
    OLDER_REFERENCE_CLUSTER,
    REFERENCE,
    usual_quorum,
)
from reference_model.proxies.model_proxy import MODEL_PROXY

OLDER_MODELS = (OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER)
"""The reference brokers at an older level."""
BrokerWith = Callable[[str], Broker]
"""Returns a broker with a fault, or the plain one for an empty name; the same name returns the same instance."""

ALONE = ("",)
"""Instead of listeners: a client has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A correct model, its planted faults, and the properties that judge it.

    Attributes:
        name: the model's id, which its faults follow after a "+".
        faults: its faults by name.
        properties: returns the properties that may judge it, by name.
        listeners: returns the listeners on which a property judges it; none if it cannot.
        at: returns the model on a listener with a fault, or without for an empty name.
        applies: returns whether a property can judge it with a fault, or without for an empty name.
        examples_of: returns how many examples a real run draws for a property.
        is_judged_over_tcp: whether it is judged over TCP as well, by the properties that need sockets.
    """

    name: str
    faults: Mapping[str, Fault | Defect]
    properties: Callable[[], Mapping[str, Property]]
    listeners: Callable[[Property], tuple[str, ...]]
    at: Callable[[str, str], Broker | ClientUnderTest]
    applies: Callable[[Property, str], bool]
    examples_of: Callable[[Property], int] = lambda judged: judged.max_examples
    is_judged_over_tcp: bool = False

    def named(self, fault: str) -> str:
        """Return the name of a fault in the score; defects of the reference broker stand alone."""
        return fault if self.is_judged_over_tcp or not fault else f"{self.name}+{fault}"


@functools.cache
def broker_with(defect: str, *, release: str = NEWEST_RELEASE) -> InMemoryBroker:
    """Return the reference broker of a release with a defect, or the plain one for an empty name."""
    target = reference_target(f"{REFERENCE}+{defect}" if defect else REFERENCE)
    tampering = DEFECTS[defect].tampering if defect else None
    of_release = dataclasses.replace(target, release=release, quorum=usual_quorum(release))
    return _in_memory(in_memory_target(of_release, tampering))


def older_broker_with(model: str, defect: str) -> InMemoryBroker:
    """Return a reference broker at an older level with a defect, or the plain one for an empty name."""
    target = reference_target(f"{model}+{defect}" if defect else model)
    return _in_memory(in_memory_target(target, DEFECTS[defect].tampering if defect else None))


def _in_memory(target: InMemoryTarget) -> InMemoryBroker:
    # In memory nothing takes time, so a fault may keep properties waiting as often as it likes.
    return InMemoryBroker(target, PLAINTEXT, patience=Patience(math.inf))


def reference_broker(with_defect: BrokerWith = broker_with) -> Subject:
    """Return the reference broker as a subject; its brokers are in memory unless others are given."""
    return _of_broker(REFERENCE, defects_of(REFERENCE), all_properties, with_defect, is_judged_over_tcp=True)


def listeners_in_memory(judged: Property) -> tuple[str, ...]:
    """Return the listeners on which a property can judge the reference broker without a socket.

    Return none if the property needs a socket.
    """
    return SUBJECTS[REFERENCE].listeners(judged)


def _of_broker(
    name: str,
    faults: Mapping[str, Fault | Defect],
    properties: Callable[[], Mapping[str, Property]],
    with_fault: BrokerWith,
    *,
    is_judged_over_tcp: bool = False,
    on_every_listener: bool = True,
) -> Subject:
    """Return a model of a broker or proxy as a subject; deep properties judge it on one listener."""

    @functools.cache
    def listeners(judged: Property) -> tuple[str, ...]:
        names = judged.listeners_of(with_fault(""))
        if on_every_listener and not judged.is_deep:
            return names
        return (PLAINTEXT,) if PLAINTEXT in names else names[:1]

    @functools.cache
    def at(fault: str, listener: str) -> Broker:
        # As in a run, a broker is asked before its first property: what is asked inside one is a connection more in its
        # example.
        broker = with_fault(fault).sibling(listener)
        broker.ask_for_table()
        return broker

    return Subject(
        name=name,
        faults=faults,
        properties=properties,
        listeners=listeners,
        at=at,
        applies=lambda judged, _: bool(listeners(judged)),
        is_judged_over_tcp=is_judged_over_tcp,
    )


def _with_fault(target: Callable[[str], InMemoryTarget]) -> BrokerWith:
    return functools.cache(lambda fault: _in_memory(target(fault)))


_client = functools.cache(in_memory_client)


@functools.cache
def _applies_to_client(judged: Property, fault: str) -> bool:
    """A fault may take from the client what a property needs of it, or be the only one that has it."""
    return unmet_need(judged.needs, _client(fault)) is None


SUBJECTS: Mapping[str, Subject] = {
    REFERENCE: reference_broker(),
    MODEL: Subject(
        name=MODEL,
        faults=client_faults.FAULTS,
        properties=client_properties,
        listeners=lambda _: ALONE,
        at=lambda fault, _: _client(fault),
        applies=_applies_to_client,
        examples_of=lambda judged: client_examples(judged.max_examples),
    ),
    MODEL_PROXY: _of_broker(
        MODEL_PROXY,
        PROXY_FAULTS,
        proxy_properties,
        _with_fault(in_memory_proxy),
        # Another one is its upstream.
        on_every_listener=False,
    ),
    **{
        model: _of_broker(
            model,
            defects_of(model),
            all_properties,
            functools.cache(functools.partial(older_broker_with, model)),
            # What they differ in is judged from their first listener.
            on_every_listener=False,
        )
        for model in OLDER_MODELS
    },
    **{
        each.model: _of_broker(
            each.model,
            each.load(each.faults),
            functools.partial(properties_of, each),
            _with_fault(functools.partial(in_memory_proposed, each)),
        )
        for each in proposals()
        if each.model
    },
}
"""The models by their ids."""
