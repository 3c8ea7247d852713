"""Each model broker is judged by every property, in this process.

All listeners without TLS are judged.

The reference broker is judged in a run of its own. These models follow a proposal, or the profile of a release: a
property that sends what they rightly do not answer would be seen by no other check.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Level, catalogue
from conformance.assertions.errors import Unjudged
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import JUDGE
from conformance.mutation.properties import Property, all_properties, properties_of
from conformance.roles.broker import BrokerRole
from fixtures.client.patience import Patience
from fixtures.errors import HarnessError
from fixtures.registry.reference import reference_target
from fixtures.registry.targets import kafka_releases
from fixtures.under_test.in_memory import InMemoryBroker, InMemoryTarget, in_memory_target
from proposals import proposals, proposed_brokers
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.profiles.profile import REFERENCE, profile_of
from strategies.hypothesis_adapter import assumptions_outside_hypothesis

CLAUSES = {clause.id: clause for clause in catalogue()}
AT_EVERY_CHANGE = ("0.10.0.1", "2.4.1", "3.9.2", "4.4.0")
"""A release of each generation of the handshake; the night judges all."""
RELEASES = {target.id: target for target in kafka_releases() if target.handshake}
NOT_MODELLED = {
    "KIP-35.every-advertised-version-served",
    "KIP-35.outside-range-not-served",
    "PROTOCOL.nothing-served-before-authentication",
}
"""Clauses about other APIs: the models of releases answer only the versions that the newest release has."""


class WrongCell(NamedTuple):
    """What is wrong with a cell."""

    listener: str
    clause: str
    judged: str
    problem: str


def following(name: str) -> InMemoryTarget:
    """Return the model broker that follows a proposal."""
    proposal = proposed_brokers()[name]
    follow = proposal.load(proposal.brokers[name])
    target = in_memory_target(reference_target(f"{REFERENCE}+{name}"))
    served = {listener: follow(broker) for listener, broker in target.served.items()}
    return dataclasses.replace(target, served=served)


def of_release(name: str) -> InMemoryTarget:
    """Return a model broker with the profile of a release."""
    release = RELEASES[name]
    target = in_memory_target(release)
    served = {}
    for listener, broker in target.served.items():
        assert isinstance(broker, ReferenceBroker)
        profile = profile_of(release.release, quorum=release.quorum, listener=listener)
        served[listener] = dataclasses.replace(broker, profile=profile)
    return dataclasses.replace(target, served=served)


@functools.cache
def properties() -> tuple[Property, ...]:
    """Return every property of brokers, those of proposals included, that is not for deep runs alone."""
    of_proposals = (each for proposal in proposals() for each in properties_of(proposal).values())
    found = (*all_properties().values(), *of_proposals)
    return tuple(each for each in found if not each.is_deep)


def findings(target: InMemoryTarget) -> Iterator[WrongCell]:
    """Judge the pinned examples of every property on every listener, and yield each cell that neither conforms nor
    is informational."""
    for listener in target.addresses:
        # In memory nothing takes time, so silence that is allowed costs no patience.
        broker = InMemoryBroker(target, listener, patience=Patience(math.inf))
        broker.ask_for_table()
        for judged in properties():
            if listener in judged.listeners_of(broker):
                yield from _findings_of(judged, broker)


def _findings_of(judged: Property, broker: InMemoryBroker) -> Iterator[WrongCell]:
    applying = [
        clause
        for clause in judged.clauses
        if BrokerRole.why_not_applicable(CLAUSES[clause], judged.needs, broker) is None
        and (broker.pin_is_binding or CLAUSES[clause].level is not Level.PIN)
    ]
    broker.begin_property(*judged.clauses)
    for values in (judged.pinned or ({},)) if applying else ():
        problem = _problem(judged, broker, values)
        if problem:
            yield from (WrongCell(broker.listener, each, judged.name, problem) for each in applying)
            return


def _problem(judged: Property, broker: InMemoryBroker, values: object) -> str:
    broker.begin_example()
    JUDGE.set(Judge(broker, judged.clauses))
    try:
        assert isinstance(values, dict)
        judged.body(**{judged.target: broker}, **values)
    except (UnsatisfiedAssumption, Unjudged):
        return ""
    except (AssertionError, HarnessError) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return ""


@pytest.mark.parametrize("name", proposed_brokers())
def test_broker_of_a_proposal_conforms(name: str) -> None:
    """No MUST or SHOULD is broken on any listener, and none is left unjudged."""
    with assumptions_outside_hypothesis():
        assert list(findings(following(name))) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=() if target.release in AT_EVERY_CHANGE else (pytest.mark.slow, pytest.mark.nightly),
        )
        for name, target in RELEASES.items()
    ],
)
def test_model_of_a_release_breaks_what_the_release_breaks(name: str) -> None:
    """What is broken is declared in the release's file; nothing is left unjudged."""
    declared = {each.clause for each in RELEASES[name].known_violations}
    with assumptions_outside_hypothesis():
        found = [each for each in findings(of_release(name)) if each.clause not in declared | NOT_MODELLED]
    assert found == []
