"""Which vectors show a finding, or why none does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from clauses.catalogue import Level, Role, catalogue
from conformance.failures.stored_failures import read_failure
from conformance.vectors.generation import inputs_of
from conformance.vectors.vector_score import NOT_EXPRESSIBLE_CLAUSES
from conformance.vectors.vector_set import BROKER_KINDS, VectorSet
from reference_model.profiles.listeners import PLAINTEXT, TLS_LISTENERS
from workflows.compatibility.data import Compatibility, Finding
from workflows.compatibility.finding_files import read_facts
from workflows.findings_by_vector.tried import TriedProduct

OPERATION = "only an operation with a real broker shows it"
TLS = "only a listener with TLS shows it"
MORE_THAN_A_PLAY = "a play alone does not show it: its property needs more, such as a change of levels between two runs"
NOT_SENT = "vectors have no requests that may change something on a broker, and none about which the models say nothing"
OTHER_LISTENER = "it is about another listener than the plaintext one, and no vector about its rule fails there"
NO_BYTES = "no bytes of it are stored"
SWEPT: Mapping[str, str] = {
    **NOT_EXPRESSIBLE_CLAUSES,
    "KIP-35.outside-range-not-served": "which versions a broker does not list differs from broker to broker",
}
"""Clauses of which a vector shows nothing but what is in it; why it cannot show the rest."""


class FindingState(StrEnum):
    """What is known about a finding."""

    SHOWN = "shown"
    NOT_EXPRESSIBLE = "no vector can express it"
    PASSED = "its vector did not fail"
    NOT_TRIED = "not tried"
    MISSING = "a vector could show it"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """A finding, and the vectors that fail with its product.

    Attributes:
        finding: the finding.
        state: what is known.
        vectors: the vectors that fail and show it; that of its own bytes is the first.
        why: the reason if there are none.
        by_property: whether only the property for which a play was made sees it, and not the player.
    """

    finding: Finding
    state: FindingState
    vectors: tuple[str, ...] = ()
    why: str = ""
    by_property: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnInputs:
    """What a finding's own bytes are as vectors.

    Attributes:
        ids: the ids that they have, or would have.
        why_none: why no vector shows the finding, unless one of these does; empty if one could.
    """

    ids: tuple[str, ...]
    why_none: str = ""


def own_inputs(finding: Finding, folder: Path) -> OwnInputs:
    """Return what the bytes of a finding are as vectors.

    Args:
        finding: the finding.
        folder: the folder of all findings.
    """
    facts = read_facts(folder / finding.id)
    if finding.tried_with:
        return OwnInputs(ids=(), why_none=OPERATION)
    if not facts:
        return OwnInputs(ids=(), why_none=NO_BYTES)
    inputs = inputs_of(read_failure(folder / finding.id))
    ids = (*(each.as_vector().id for each in inputs.candidates), *(each.id for each in inputs.plays))
    return OwnInputs(ids=ids, why_none=_why_none(facts, has_inputs=bool(ids)))


def _why_none(facts: Mapping[str, Any], *, has_inputs: bool) -> str:
    if facts["clause"] in SWEPT:
        return SWEPT[facts["clause"]]
    if has_inputs:
        return ""
    if facts["listener"] in TLS_LISTENERS:
        return TLS
    if facts.get("role") == Role.CLIENT:
        return MORE_THAN_A_PLAY
    return NOT_SENT if facts["listener"] == PLAINTEXT else OTHER_LISTENER


def rows_of(
    data: Compatibility, folder: Path, loaded: VectorSet, tried: Mapping[str, TriedProduct]
) -> tuple[FindingRow, ...]:
    """Return a row for each finding."""
    shared = _shared_clauses(data.findings)
    clauses_of = {vector["id"]: tuple(vector["clauses"]) for kind in BROKER_KINDS for vector in loaded.vectors[kind]}
    known = {vector["id"] for _, vector in loaded}
    rows = []
    for finding in data.findings:
        own = own_inputs(finding, folder)
        product = tried.get(finding.target)
        # What was tried may have left the set since.
        product = product and replace(product, failed={k: v for k, v in product.failed.items() if k in known})
        broken = [
            clause
            for clause in finding.broken.get(finding.target, ())
            if clause not in SWEPT and (finding.target, clause) not in shared
        ]
        rows.append(_row(finding, own, product, broken, clauses_of, known))
    return tuple(rows)


def _shared_clauses(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    """Return the products' clauses that several findings are about: with them, only a finding's own bytes tell."""
    counts = Counter((target, clause) for each in findings for target, own in each.broken.items() for clause in own)
    return {key for key, count in counts.items() if count > 1}


def _row(
    finding: Finding,
    own: OwnInputs,
    product: TriedProduct | None,
    broken: Sequence[str],
    clauses_of: Mapping[str, Sequence[str]],
    known: set[str],
) -> FindingRow:
    if product is not None:
        shown = _showing(product, own.ids, broken, clauses_of)
        if shown:
            by_property = all(each in product.by_property for each in shown)
            return FindingRow(finding=finding, state=FindingState.SHOWN, vectors=shown, by_property=by_property)
    elif not own.why_none or any(set(broken) & set(clauses) for clauses in clauses_of.values()):
        return FindingRow(finding=finding, state=FindingState.NOT_TRIED)
    if own.why_none or product is None:
        return FindingRow(finding=finding, state=FindingState.NOT_EXPRESSIBLE, why=own.why_none)
    if not known & set(own.ids):
        return FindingRow(finding=finding, state=FindingState.MISSING)
    left_out = [product.left_out[each] for each in own.ids if each in product.left_out]
    if left_out:
        return FindingRow(finding=finding, state=FindingState.NOT_EXPRESSIBLE, why=left_out[0])
    state = FindingState.PASSED if set(own.ids) & set(product.passed) else FindingState.NOT_TRIED
    return FindingRow(finding=finding, state=state, vectors=own.ids)


def _showing(
    product: TriedProduct, own: Sequence[str], broken: Sequence[str], clauses_of: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the vectors that fail and show a finding: its own bytes first, then those about a clause of its alone."""
    exact = [each for each in own if each in product.failed]
    same = [each for each, clause in product.failed.items() if clause in broken]
    about = [
        each
        for each, clause in product.failed.items()
        # A difference from a pin is about nothing but the pin.
        if catalogue()[clause].level is not Level.PIN and set(broken) & set(clauses_of.get(each, ()))
    ]
    return tuple(dict.fromkeys((*exact, *same, *about)))
