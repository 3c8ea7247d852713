"""The home page: the project in one sentence, three links, and each product.

It shows how each product stands, within 100 kB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clauses.catalogue import Role
from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid import addresses
from reports.grid.grid_view import FoldedGrid
from reports.grid.products import BrokenRules, Product, those_counted
from reports.records import OPERATION, SOUND_VERDICTS, UNSETTLED_VERDICTS, Verdict
from reports.site.rendering import Site
from reports.site.upgrade_pages import releases_in
from reports.tables.run_rows import GridRun
from reports.wording.verdict_labels import CRASHES, SYMBOLS, counted, some_of

_MAX_TITLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One product on the home page, or all releases of Apache Kafka.

    Attributes:
        verdict: what its colour and symbol say.
        count: what stands next to the symbol: "10 MUST + 3 SHOULD, 7 bugs".
        words: the result in one or two sentences.
    """

    name: str
    href: str
    verdict: Verdict
    count: str
    words: str

    @property
    def symbol(self) -> str:
        """The symbol of its verdict."""
        return SYMBOLS[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """The cards of one kind of product, and the address of their grid."""

    title: str
    result: str
    href: str
    cards: tuple[Card, ...]

    @property
    def is_red(self) -> bool:
        """Whether one of them breaks a rule."""
        return any(card.verdict is Verdict.VIOLATES for card in self.cards)


def write_home(site: Site) -> None:
    """Write index.html."""
    # A phone shows little more than one card: the first one is to be red, if any is.
    groups = sorted(_groups(site.products), key=lambda group: not group.is_red)
    defects = {row.defect for row in site.history.mutation or ()}
    certain = {row.defect for row in site.history.mutation or () if row.certain}
    site.render(
        addresses.HOME,
        "home",
        groups=groups,
        facts=facts_of(site.folded),
        broken=[card for group in groups for card in group.cards if card.verdict is Verdict.VIOLATES],
        defects=len(defects),
        certain=len(certain),
        upgrade=next((page for page, title in site.pages if title == "Upgrade"), ""),
        releases=[release.short for release in releases_in(site)],
    )


def facts_of(folded: FoldedGrid) -> list[str]:
    """Return what was judged, when and how thoroughly: "31 Apache Kafka releases (standard tier)"."""
    shown = {run.run_id: run for run in folded.grid.runs if run.in_grid}
    days = sorted(f"{run.started_at:%Y-%m-%d}" for run in shown.values())
    facts = [" to ".join(dict.fromkeys((days[0], days[-1])))] if days else []
    for role, of_role in folded.by_role.items():
        if role == OPERATION:
            facts.append(counted(len(of_role.grid.clauses), "client operation"))
            continue
        facts.append(f"{counted(len(of_role.grid.clauses), 'rule')} for {role}s")
        columns = [column.listeners[0] for column in of_role.columns]
        kafka = [each.run_id for each in columns if each.implementation == APACHE_KAFKA]
        others = [each.run_id for each in columns if each.implementation != APACHE_KAFKA]
        if kafka:
            facts.append(_with_tier(kafka, shown, "Apache Kafka release"))
        if others:
            facts.append(_with_tier(others, shown, f"{'other ' if kafka else ''}{role}"))
    commits = sorted({run.suite_commit[:12] for run in shown.values() if run.suite_commit})
    return [*facts, *(f"commit {commit}" for commit in commits)]


def _with_tier(run_ids: Sequence[str], runs: Mapping[str, GridRun], noun: str) -> str:
    tiers = dict.fromkeys(runs[run_id].tier for run_id in run_ids if run_id in runs)
    suffix = f" ({' and '.join(tiers)} tier)" if tiers else ""
    return f"{counted(len(run_ids), noun)}{suffix}"


def _groups(products: Sequence[Product]) -> Iterator[Cards]:
    worst_first = sorted(products, key=lambda each: (-each.broken.must, -sum_of(each.broken)))
    kafka = [each for each in worst_first if each.column and each.column.implementation == APACHE_KAFKA]
    if kafka:
        page = addresses.role_page(Role.BROKER)
        card = _kafka_card(kafka, page)
        yield Cards(title="Apache Kafka", result="", href=page, cards=(card,))
    for role in (Role.BROKER, Role.CLIENT):
        own = [each for each in worst_first if each.role == role and each not in kafka]
        if own:
            breaking = [each for each in own if each.broken.must]
            is_judged = any(each.column for each in own)
            yield Cards(
                title=f"{'Other ' if kafka and role == Role.BROKER else ''}{role}s".capitalize(),
                result=f"{len(breaking)} of {len(those_counted(own, breaking))} break at least one MUST rule",
                href=addresses.role_page(role if is_judged else OPERATION),
                cards=tuple(_card(each) for each in own),
            )


def sum_of(broken: BrokenRules) -> int:
    """Return how many rules are broken, whatever their level."""
    return sum(number for _, number in broken.levels)


def _card(product: Product) -> Card:
    return Card(
        name=product.name,
        href=addresses.target_page(product.id),
        verdict=_verdict_of([product]),
        count=_count(product.broken),
        words=_words(product),
    )


def _count(broken: BrokenRules) -> str:
    return f"{CRASHES}: {broken}" if broken.crashes else str(broken)


def _words(product: Product) -> str:
    bugs = [bug.title for bug in product.bugs]
    if bugs:
        rest = f" And {counted(len(bugs) - 1, 'other bug')}." if len(bugs) > 1 else ""
        words = f"{bugs[0][:1].upper()}{bugs[0][1:].rstrip('.')}.{rest}"
    else:
        words = " ".join(_kept(product))
    unsettled = _unsettled([product])
    return f"{words} {counted(unsettled, 'cell')} could not be judged." if unsettled else words


def _kept(product: Product) -> Iterator[str]:
    """Yield in sentences that a product breaks nothing, or that nothing was judged."""
    rules = [own.cell.verdict for own in product.cells if own.role != OPERATION]
    tried = [own.cell.verdict for own in product.cells if own.role == OPERATION]
    kept = sum(verdict in SOUND_VERDICTS for verdict in rules)
    declared = rules.count(Verdict.KNOWN_VIOLATION)
    if kept or declared:
        exceptions = f", except for {counted(declared, 'declared violation')}" if declared else ""
        open_rules = any(verdict in UNSETTLED_VERDICTS for verdict in rules)
        which = "could be judged" if open_rules else "apply"
        yield f"Keeps all of the {counted(kept + declared, 'rule')} that {which}{exceptions}."
    elif rules:
        yield "No rule was judged."
    if tried:
        works = tried.count(Verdict.CONFORMS)
        yield f"{works} of {len(tried)} operations with brokers work; none breaks a rule."


def _verdict_of(products: Sequence[Product]) -> Verdict:
    """Return the worst verdict of some products; what does not bind them counts as kept."""
    if any(each.broken for each in products):
        return Verdict.VIOLATES
    verdicts = {verdict for each in products for verdict in each.counts}
    if verdicts & set(UNSETTLED_VERDICTS):
        return Verdict.INCONCLUSIVE
    if Verdict.KNOWN_VIOLATION in verdicts:
        return Verdict.KNOWN_VIOLATION
    return Verdict.CONFORMS if Verdict.CONFORMS in verdicts else Verdict.NOT_APPLICABLE


def _kafka_card(products: Sequence[Product], page: str) -> Card:
    """Return the card of all releases of Apache Kafka together: most of them behave alike."""
    broken = [each for each in products if each.broken]
    releases = counted(len(products), "release")
    unsettled = _unsettled(products)
    if broken:
        titles = list(dict.fromkeys(bug.title for each in broken for bug in each.bugs))
        names = [each.name.removeprefix("Apache Kafka ") for each in broken]
        words = f"Rules are broken by {len(broken)} of {releases}: {some_of(names, _MAX_TITLES)}. {some_of(titles, _MAX_TITLES)}."
    else:
        who = f"All {releases} keep" if len(products) > 1 else "Keeps"
        words = f"{who} every rule that {'could be judged' if unsettled else 'applies'}"
        declared = [
            own.clause for each in products for own in each.cells if own.cell.verdict is Verdict.KNOWN_VIOLATION
        ]
        rules = counted(len({clause.clause for clause in declared}), "rule")
        exceptions = f", except for {counted(len(declared), 'declared violation')} of {rules}"
        words += f"{exceptions}." if declared else "."
    if unsettled:
        words += f" {counted(unsettled, 'verdict')} could not be reached."
    return Card(
        name=f"Apache Kafka, {releases}",
        href=page,
        verdict=_verdict_of(products),
        count=_count(BrokenRules.of(broken)),
        words=words,
    )


def _unsettled(products: Sequence[Product]) -> int:
    """Return how many cells of some products could not be judged."""
    return sum(each.counts.get(verdict, 0) for each in products for verdict in UNSETTLED_VERDICTS)
