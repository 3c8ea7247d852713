"""The clauses of KIP-1313 about schemas, which no property judges: something planted breaks each."""

from __future__ import annotations

import pytest

from clauses.catalogue import Clause, Role, catalogue
from conformance.mutation.score import defects_asked_of
from proposals.kip_1313 import PROPOSAL
from proposals.kip_1313.tests.test_schema_rules import WRONG_VALIDATORS

OWN = [clause for clause in catalogue() if clause.source == PROPOSAL.source]
ABOUT_SCHEMAS = [clause for clause in OWN if Role.SCHEMA in clause.roles]
JUDGED_BY_NOTHING = {
    "KIP-1313.accessors-without-timeout",
    "KIP-1313.header-id-is-telemetry-id",
}
"""Clauses that nothing judges, for the reason that they give."""


@pytest.mark.parametrize("clause", ABOUT_SCHEMAS, ids=lambda clause: clause.id)
def test_clause_is_broken_by_enough_wrong_validators(clause: Clause) -> None:
    """By three if it is a MUST and no property judges it; otherwise by one, along with the faults of models."""
    wrong = [each.breaks for each in WRONG_VALIDATORS]
    assert wrong.count(clause.id) >= (defects_asked_of(clause.level) if clause.not_tested else 1)


def test_clauses_that_nothing_judges_are_known() -> None:
    """Neither a property nor a tested check does."""
    untested = {clause.id for clause in OWN if clause.not_tested}
    assert untested - {clause.id for clause in ABOUT_SCHEMAS} == JUDGED_BY_NOTHING
