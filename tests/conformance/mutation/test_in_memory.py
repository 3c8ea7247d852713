"""Kills in memory are those of a standard run."""

from __future__ import annotations

from itertools import chain

import pytest

from conformance.mutation.in_memory import (
    QUICK_BYSTANDER_SHARE,
    bystanders,
    clauses_in_memory,
    judged_in_memory,
    kills_of_standard_run,
)
from conformance.mutation.properties import all_properties
from conformance.mutation.subjects import SUBJECTS
from conformance.mutation.tried_faults import FIRST_SEED, TriedFault
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.profile import REFERENCE

BROKER = SUBJECTS[REFERENCE]
DEEP = "test_every_negative_version_gets_unsupported_version"
CLAUSE = "KIP-35.negative-version-gives-35"
DEFECT = "negative-versions-are-served-as-v0"


@pytest.mark.parametrize("name", [name for name, each in SUBJECTS.items() if each is not BROKER])
def test_every_fault_of_a_model_is_judged_in_memory(name: str) -> None:
    """Only defects of the broker may need sockets: a fault whose clause no property judges would count as nothing."""
    subject = SUBJECTS[name]
    broken = {clause for fault in subject.faults.values() for clause in fault.breaks}
    assert broken <= clauses_in_memory(subject)


def test_quick_bystanders_meet_properties_of_other_clauses() -> None:
    """Neighbouring properties share the defects that they must not blame, and each defect meets some property."""
    names, defects = list(judged_in_memory(BROKER)), list(DEFECTS)
    parts = [
        bystanders(BROKER, defects, names[0], index=index, share=QUICK_BYSTANDER_SHARE)
        for index in range(QUICK_BYSTANDER_SHARE)
    ]
    assert sorted(chain(*parts)) == sorted(bystanders(BROKER, defects, names[0]))
    met = {
        defect
        for index, name in enumerate(names)
        for defect in bystanders(BROKER, defects, name, index=index, share=QUICK_BYSTANDER_SHARE)
    }
    assert met == set(defects)


def test_a_deep_property_alone_kills_nothing() -> None:
    """A defect that only a deep run catches has survived the standard run."""
    tried = TriedFault(property_name=DEEP, fault=DEFECT, pinned=True, generated=1)
    killed = {(DEEP, FIRST_SEED): {DEFECT: 1}}
    kills = kills_of_standard_run(BROKER, [DEFECT], [tried], killed, 1)
    (kill,) = (each for each in kills if each.clause == CLAUSE)
    assert kill.survived == 1
    assert not kill.is_certain


def test_a_standard_run_judges_every_clause() -> None:
    """No clause has only deep properties, whose kills would not be counted."""
    deep: set[str] = set()
    standard: set[str] = set()
    for name, clauses in judged_in_memory(BROKER).items():
        (deep if all_properties()[name].is_deep else standard).update(clauses)
    assert deep
    assert deep <= standard
