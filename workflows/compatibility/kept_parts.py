"""The parts of the published data, each of which can be renewed alone.

One part is what is judged by rules, the other what clients did with brokers. To judge both takes hours, so a grid that
has one of them leaves the other as it was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reports.command_line.suite_command import CannotWork
from reports.tables.target_names import without_signs
from workflows.compatibility.data import Compatibility, Finding, JudgedVersion, Made, Undecided


def kept_findings(
    made_products: Made | None, made_operations: Made | None, before: Compatibility | None
) -> frozenset[str]:
    """Return the ids of the published findings of a part that a grid does not have.

    Args:
        made_products: what the grid's verdicts by rules were made from; None if it has none.
        made_operations: the same of operations.
        before: what was published; None if nothing was.
    """
    published = before.findings if before else ()
    return frozenset(each.id for each in published if not (made_operations if each.tried_with else made_products))


def with_kept_parts(new: Compatibility, before: Compatibility | None) -> Compatibility:
    """Return the data of a grid, with what was published of each part that the grid does not have.

    Raises:
        CannotWork: what was published does not distinguish its parts.
    """
    if before is not None and before.made_products is before.made_operations is None:
        raise CannotWork(
            "what was published does not distinguish products and operations: make it once from a grid that has both"
        )
    kept = before or new
    return _joined(new if new.made_products else kept, new if new.made_operations else kept)


def _joined(products: Compatibility, operations: Compatibility) -> Compatibility:
    """Return what one has of products that were judged by rules, and the other of operations."""
    findings = (
        *(each for each in products.findings if not each.tried_with),
        *(each for each in operations.findings if each.tried_with),
    )
    broken = {clause for finding in findings for clause in finding.clauses}
    levels = {**products.levels, **operations.levels}
    return replace(
        products,
        made=made_of([each for each in (products.made_products, operations.made_operations) if each]),
        made_operations=operations.made_operations,
        levels={clause: level for clause, level in levels.items() if clause in broken},
        products=_products(products.products, operations),
        findings=_by_product(findings),
        releases=operations.releases,
        clients=operations.clients,
        undecided=_undecided(products, operations),
    )


def made_of(parts: Sequence[Made]) -> Made:
    """Return what all parts together were made from."""
    newest = max(parts, key=lambda made: made.date)
    return replace(
        newest,
        commits=tuple(dict.fromkeys(commit for made in parts for commit in made.commits)),
        tiers=tuple(sorted({tier for made in parts for tier in made.tiers})),
        runs=sum(made.runs for made in parts),
        undecided=sum(made.undecided for made in parts),
    )


def _undecided(products: Compatibility, operations: Compatibility) -> tuple[Undecided, ...] | None:
    if products.undecided is None or operations.undecided is None:
        return None
    return (
        *(each for each in products.undecided if not each.is_operation),
        *(each for each in operations.undecided if each.is_operation),
    )


def _products(judged: Sequence[JudgedVersion], operations: Compatibility) -> tuple[JudgedVersion, ...]:
    """Return the versions that were judged by rules, then those of which operations alone were tried."""
    names = {without_signs(each.client) for each in operations.clients}
    tried = [each for each in operations.products if each.id in names]
    decided = {each.id for each in tried if each.is_judged}
    known = [replace(each, is_judged=each.is_judged or each.id in decided) for each in judged]
    ids = {each.id for each in judged}
    return (*known, *(each for each in tried if each.id not in ids))


def _by_product(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with those of one product together, in the order of the products' first ones."""
    order = {family: place for place, family in enumerate(dict.fromkeys(each.family for each in findings))}
    return tuple(sorted(findings, key=lambda each: order[each.family]))
