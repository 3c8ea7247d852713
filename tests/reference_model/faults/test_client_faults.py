"""Planted faults of clients are described; `kafka-conformance mutation` shows that each breaks its clauses and no other."""

from __future__ import annotations

import inspect

import pytest

from clauses.catalogue import Role, catalogue
from reference_model.clients.model.model_client import ModelClient
from reference_model.faults.broker import DEFECTS
from reference_model.faults.clients import FAULTS, Fault

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


def test_names_do_not_clash() -> None:
    """A name stands for a fault or for a defect of the reference broker, never for both."""
    assert not FAULTS.keys() & DEFECTS.keys()
