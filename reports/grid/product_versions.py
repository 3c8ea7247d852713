"""One product across its versions: each bug with the versions that show it.

Bugs of two versions are one if their cause is described alike (`bugs.Bug.cause`): the same symptom on the same request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from reports.grid.bugs import Bug, Evidence
from reports.grid.products import OwnCell, Product, library_of
from reports.records import OPERATION, VIOLATED_VERDICTS, WORST_FIRST, Verdict
from reports.tables.target_names import implementation_name

_NUMBER = re.compile(r"\d+")
_CARRIED = re.compile(r"-rdkafka-(\d[\w.]*)")
"""The software version that bindings of librdkafka send: "2.16.1-rdkafka-2.16.0"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BugInVersion:
    """What one version shows of a bug.

    Attributes:
        verdict: violates if it has the bug, else what became of the rules that the bug breaks; None if they were not
            judged.
        number: the position of the bug in the list of its product's page, counted from 1; 0 if this version does not
            show it.
        breaks_otherwise: whether it breaks one of these rules by another bug.
    """

    verdict: Verdict | None
    number: int = 0
    breaks_otherwise: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBug:
    """One bug of a product.

    Attributes:
        newest: the bug as the newest version that has it shows it.
        versions: what each version of the product shows, in the order of `ProductVersions.products`.
        first: the name of the oldest version that shows it.
        last: the name of the newest version that shows it.
        evidence: its failures in all versions.
    """

    newest: Bug
    versions: tuple[BugInVersion, ...]
    first: str
    last: str
    evidence: tuple[Evidence, ...]

    @property
    def seen_in(self) -> str:
        """The versions that show it, in words: "1 of 3: 2.0.2", "3 of 3: 2.0.2 to 2.16.1"."""
        count = sum(bool(each.number) for each in self.versions)
        span = f"{self.first} to {self.last}" if self.first != self.last else self.first
        return f"{count} of {len(self.versions)}: {span}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductVersions:
    """All versions of one product, the oldest first, and the bugs of any of them.

    Attributes:
        id: the product's id: "confluent-kafka".
        shorts: the name of each version without that of the product.
        carries: the version of librdkafka that each version sends with its own; empty for other products.
        bugs: its bugs: those that most versions show first.
    """

    id: str
    name: str
    products: tuple[Product, ...]
    shorts: tuple[str, ...]
    carries: tuple[str, ...]
    bugs: tuple[SharedBug, ...]


def versions_of(products: Sequence[Product]) -> tuple[ProductVersions, ...]:
    """Return each product of which several versions were judged, if one of them has a bug.

    A proxy that is judged in front of several brokers is one version.
    """
    grouped: dict[tuple[str, str], list[Product]] = {}
    for product in products:
        if product.cells:
            grouped.setdefault((library_of(product), product.role), []).append(product)
    return tuple(
        _versions(library, sorted(group, key=_age))
        for (library, _), group in grouped.items()
        if len({product.release for product in group}) > 1 and any(product.bugs for product in group)
    )


def _age(product: Product) -> tuple[list[int], str]:
    return [int(number) for number in _NUMBER.findall(product.id)], product.id


def _versions(library: str, products: Sequence[Product]) -> ProductVersions:
    shorts = tuple(product.id.removeprefix(f"{library}-") for product in products)
    return ProductVersions(
        id=library,
        name=implementation_name(library),
        products=tuple(products),
        shorts=shorts,
        carries=tuple(map(_carried, products)),
        bugs=tuple(sorted(_bugs(products, shorts), key=_weight)),
    )


def _weight(bug: SharedBug) -> tuple[bool, bool, int]:
    return (
        not bug.newest.crashes,
        not bug.newest.gates,
        -sum(bool(each.number) for each in bug.versions),
    )


def _bugs(products: Sequence[Product], shorts: Sequence[str]) -> Iterator[SharedBug]:
    for cause in dict.fromkeys(bug.cause for product in products for bug in product.bugs):
        own = [_numbered(product, cause) for product in products]
        having = [at for at, numbered in enumerate(own) if numbered]
        bugs = [numbered[1] for numbered in own if numbered]
        rules = {each.operation or each.clause.clause for bug in bugs for each in bug.evidence}
        yield SharedBug(
            newest=bugs[-1],
            versions=tuple(
                BugInVersion(verdict=Verdict.VIOLATES, number=numbered[0]) if numbered else _without(product, rules)
                for product, numbered in zip(products, own, strict=True)
            ),
            first=shorts[having[0]],
            last=shorts[having[-1]],
            evidence=tuple(each for bug in bugs for each in bug.evidence),
        )


def _numbered(product: Product, cause: tuple[str, ...]) -> tuple[int, Bug] | None:
    numbered = enumerate(product.bugs, start=1)
    return next(((number, bug) for number, bug in numbered if bug.cause == cause), None)


def _without(product: Product, rules: Set[str]) -> BugInVersion:
    """Return what became of some rules in a version that does not show the bug: the worst of it."""
    verdicts = {own.cell.verdict for own in product.cells if _rule_of_cell(own) in rules}
    worst = next((verdict for verdict in WORST_FIRST if verdict in verdicts), None)
    return BugInVersion(verdict=worst, breaks_otherwise=worst in VIOLATED_VERDICTS)


def _rule_of_cell(own: OwnCell) -> str:
    clause = own.clause.clause
    return clause.rpartition(".")[2] if own.role == OPERATION else clause


def _carried(product: Product) -> str:
    """Return the version of librdkafka that a version sent in one of its failures; empty if it sent none."""
    messages = (each.failure.message for bug in product.bugs for each in bug.evidence if each.failure)
    return next((match[1] for text in messages if (match := _CARRIED.search(text))), "")
