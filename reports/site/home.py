"""The home page: what the project is in one sentence, three ways on, and how each target stands; within 100 kB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clauses.catalogue import Role
from reference_model.profile import APACHE_KAFKA
from reports.grid import addresses
from reports.grid.grid_tables import GridRun
from reports.grid.grid_view import FoldedGrid
from reports.grid.standings import Standing, standings_of
from reports.records import OPERATION, VIOLATED_VERDICTS, Verdict
from reports.site.rendering import Site
from reports.verdict_labels import SYMBOLS, counted

_MOST_TITLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One target on the home page, or all releases of Apache Kafka.

    Attributes:
        name: its display name.
        href: the address of its page.
        verdict: what its colour and symbol say.
        count: what stands next to the symbol: "10 MUST, 3 SHOULD".
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
    """The cards of one kind of target, and the address of their grid."""

    title: str
    result: str
    href: str
    cards: tuple[Card, ...]


def write_home(site: Site) -> None:
    """Write index.html."""
    groups = list(_groups(site))
    defects = {row.defect for row in site.history.mutation or ()}
    certain = {row.defect for row in site.history.mutation or () if row.certain}
    site.render(
        addresses.HOME,
        "home",
        groups=groups,
        facts=facts_of(site.folded),
        broken=[
            card for group in groups for card in group.cards if card.verdict is Verdict.VIOLATES
        ],
        defects=len(defects),
        certain=len(certain),
        upgrade=next((page for page, title in site.pages if title == "Upgrade"), ""),
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
        kafka, others = _split(standings_of(of_role))
        if kafka:
            facts.append(_with_tier(kafka, shown, "Apache Kafka release"))
        if others:
            facts.append(_with_tier(others, shown, f"{'other ' if kafka else ''}{role}"))
    commits = sorted({run.suite_commit[:12] for run in shown.values() if run.suite_commit})
    return [*facts, *(f"commit {commit}" for commit in commits)]


def _with_tier(standings: list[Standing], runs: Mapping[str, GridRun], noun: str) -> str:
    tiers = dict.fromkeys(
        runs[each.column.listeners[0].run_id].tier
        for each in standings
        if each.column.listeners[0].run_id in runs
    )
    suffix = f" ({' and '.join(tiers)} tier)" if tiers else ""
    return f"{counted(len(standings), noun)}{suffix}"


def _split(standings: list[Standing]) -> tuple[list[Standing], list[Standing]]:
    """Separate Apache Kafka's releases from other targets."""
    kafka = [each for each in standings if each.column.implementation == APACHE_KAFKA]
    return kafka, [each for each in standings if each not in kafka]


def _groups(site: Site) -> Iterator[Cards]:
    by_role = site.folded.by_role
    for role, folded in by_role.items():
        if role == OPERATION:
            continue
        kafka, others = _split(standings_of(folded))
        page = addresses.role_page(role)
        if kafka:
            card = _kafka_card(kafka, page)
            yield Cards(title="Apache Kafka", result="", href=page, cards=(card,))
        if others:
            is_known = role == Role.CLIENT and OPERATION in by_role
            failing = _failing_operations(by_role[OPERATION]) if is_known else {}
            yield Cards(
                title=f"{'Other ' if kafka else ''}{role}s".capitalize(),
                result=_result(others),
                href=page,
                cards=tuple(_card(each, failing) for each in others),
            )
    if OPERATION in by_role:
        cards = tuple(_operation_cards(by_role[OPERATION]))
        yield Cards(
            title="Operations of clients with brokers",
            result="",
            href=addresses.role_page(OPERATION),
            cards=cards,
        )


def _result(standings: list[Standing]) -> str:
    broken = sum(each.must > 0 for each in standings)
    return f"{broken} of {len(standings)} break at least one MUST rule"


def _card(standing: Standing, failing: Mapping[str, list[str]]) -> Card:
    words = [standing.sentence]
    operations = failing.get(standing.column.target)
    if operations:
        words.append(f"Operations that fail: {_some(operations)}.")
    if standing.unsettled:
        words.append(f"{counted(len(standing.unsettled), 'rule')} could not be judged.")
    return Card(
        name=standing.column.name,
        href=addresses.target_page(standing.column.target),
        verdict=_verdict_of([standing]) if not operations else Verdict.VIOLATES,
        count=standing.count,
        words=" ".join(words),
    )


def _verdict_of(standings: list[Standing]) -> Verdict:
    if any(each.broken for each in standings):
        return Verdict.VIOLATES
    if any(each.unsettled for each in standings):
        return Verdict.INCONCLUSIVE
    if any(each.declared for each in standings):
        return Verdict.KNOWN_VIOLATION
    judged = any(each.kept for each in standings)
    return Verdict.CONFORMS if judged else Verdict.NOT_APPLICABLE


def _kafka_card(standings: list[Standing], page: str) -> Card:
    """Return the card of all releases of Apache Kafka together: most of them behave alike."""
    broken = [each for each in standings if each.broken]
    releases = counted(len(standings), "release")
    if broken:
        names = _some([each.column.short for each in broken])
        words = f"Rules are broken by {len(broken)} of {releases}: {names}."
    else:
        words = (
            f"All {releases} keep every rule that applies"
            if len(standings) > 1
            else "Keeps every rule that applies"
        )
        declared = dict.fromkeys(clause for each in standings for clause in each.declared)
        cells = sum(len(each.declared) for each in standings)
        titles = _some([f"“{clause.title}”" for clause in declared])
        words += f", except for {counted(cells, 'declared violation')}: {titles}." if cells else "."
    unsettled = sum(len(each.unsettled) for each in standings)
    if unsettled:
        words += f" {counted(unsettled, 'verdict')} could not be reached."
    return Card(
        name=f"Apache Kafka, {releases}",
        href=page,
        verdict=_verdict_of(standings),
        count="",
        words=words,
    )


def _some(texts: list[str]) -> str:
    """Join the first texts, and say how many more there are."""
    rest = len(texts) - _MOST_TITLES
    shown = ", ".join(texts[:_MOST_TITLES])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _failing_operations(folded: FoldedGrid) -> dict[str, list[str]]:
    """Return the titles of the operations that violate on some release, by the client that they belong to."""
    failing: dict[str, list[str]] = {}
    for clause in folded.grid.clauses:
        if any(cell.verdict in VIOLATED_VERDICTS for cell in folded.cells[clause.clause]):
            failing.setdefault(clause.source, []).append(clause.title)
    return failing


def _operation_cards(folded: FoldedGrid) -> Iterator[Card]:
    failing = _failing_operations(folded)
    for client, clauses in folded.sources:
        operations = failing.get(client, [])
        total = counted(len(clauses), "operation")
        words = (
            f"Of {total}, {len(operations)} {'fails' if len(operations) == 1 else 'fail'}: {_some(operations)}."
            if operations
            else f"None of {total} fails, except with an error that says what the broker lacks."
        )
        yield Card(
            name=client,
            href=f"{addresses.role_page(OPERATION)}?source={client}",
            verdict=Verdict.VIOLATES if operations else Verdict.CONFORMS,
            count="",
            words=words,
        )
