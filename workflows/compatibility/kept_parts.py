"""The parts of the published data, each of which can be renewed alone.

The parts are the roles: brokers, clients, and the operations of clients with brokers. To judge all of them takes hours,
so a grid that has some of them leaves the others as they were published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clauses.catalogue import Role
from reference_model.profiles.profile import release_order
from reports.records import OPERATION
from workflows.compatibility.data import Compatibility, Finding, JudgedVersion, is_dotted

ROLES = (Role.BROKER.value, Role.CLIENT.value, OPERATION)
"""The roles of the published data, in its order."""


def with_kept_parts(new: Compatibility, before: Compatibility | None) -> Compatibility:
    """Return the data of a grid, with what was published of each role that the grid does not have.

    Args:
        new: the data of the grid.
        before: what was published; None if nothing was.
    """
    kept = before or new
    sources = {role: new if role in new.made else kept for role in ROLES}
    operations = sources[OPERATION]
    findings = _by_family([each for role, source in sources.items() for each in source.findings if each.role == role])
    return Compatibility(
        project=new.project,
        made={role: source.made[role] for role, source in sources.items() if role in source.made},
        levels={
            clause: sources[finding.role].levels[clause] for finding in findings for clause in sorted(finding.clauses)
        },
        products=_products(sources),
        findings=findings,
        releases=operations.releases,
        clients=operations.clients,
        steps=sources[Role.BROKER].steps,
        undecided=tuple(each for role, source in sources.items() for each in source.undecided if each.role == role),
    )


def _products(sources: Mapping[str, Compatibility]) -> tuple[JudgedVersion, ...]:
    """Return what was judged in any role, the versions of one product together and the newest first."""
    products: dict[str, JudgedVersion] = {}
    for role, source in sources.items():
        for each in source.products:
            if role in each.judged:
                others = products[each.id].judged if each.id in products else {}
                products[each.id] = replace(each, judged={**others, role: each.judged[role]})
    families: dict[str, list[JudgedVersion]] = {}
    for product in products.values():
        families.setdefault(product.family, []).append(product)
    return tuple(each for versions in families.values() for each in sorted(versions, key=_release, reverse=True))


def _release(version: JudgedVersion) -> tuple[int, ...]:
    return release_order(version.release) if is_dotted(version.release) else ()


def _by_family(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with those of one product together, in the order of the products' first ones."""
    order = {family: place for place, family in enumerate(dict.fromkeys(each.family for each in findings))}
    return tuple(sorted(findings, key=lambda each: order[each.family]))
