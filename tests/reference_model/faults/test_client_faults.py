"""Planted faults: each is described, leaves a client that works with a healthy broker, and shows under some pinned script."""

from __future__ import annotations

import inspect
from functools import cache

import pytest

from clauses.catalogue import Role, catalogue
from conformance.mutation.properties import client_properties
from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.scripts.script import HEALTHY_SCRIPT
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS, Fault

plain_play = cache(play_in_memory)
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)


@each_fault
def test_fault_says_what_it_does(fault: Fault) -> None:
    """A fault has its class's name, its one-sentence docstring as its description, and overrides what the model decides."""
    assert FAULTS[fault.name] is fault
    assert fault.name.replace("-", "") == fault.model.__name__.lower()
    assert fault.description == inspect.getdoc(fault.model)
    assert fault.description.endswith(".")
    assert "\n" not in fault.description
    assert issubclass(fault.model, ModelClient)


@each_fault
def test_fault_breaks_clauses_of_clients(fault: Fault) -> None:
    """The clauses that a fault breaks are in the catalogue, are about clients, and are named once."""
    assert fault.breaks
    assert len(set(fault.breaks)) == len(fault.breaks)
    for clause in fault.breaks:
        assert Role.CLIENT in catalogue()[clause].roles


@each_fault
def test_client_with_a_fault_works_with_a_healthy_broker(fault: Fault) -> None:
    """A client that fails even there could not be judged."""
    assert play_in_memory(HEALTHY_SCRIPT, fault.name).result.outcome == "ok"


@each_fault
def test_fault_shows_under_a_pinned_script(fault: Fault) -> None:
    """Under a pinned script of each clause that it breaks, the client does something else than the plain one."""
    for clause in fault.breaks:
        scripts = [
            script
            for each in client_properties().values()
            if clause in each.clauses
            for values in each.pinned
            for script in values.values()
        ]
        assert any(play_in_memory(each, fault.name) != plain_play(each) for each in scripts)


def test_names_do_not_clash() -> None:
    """A name stands for a fault or for a defect of the reference broker, never for both."""
    assert not FAULTS.keys() & DEFECTS.keys()
