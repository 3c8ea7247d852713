"""Judges what a run has stored of a broker again, by the same properties.

`rejudge` asks the oracle about each stored exchange, and needs the profile of the release for that. A closed product
has none. So here the property itself judges each stored example: it is run on a `RecordedBroker`, which answers as the
run recorded. An example counts as judged again if the property sends exactly the stored requests, all of them.

A run stores the exchanges of the first examples of each property and of each failure, but not their drawn values. They
are found again: they are pinned with the property, the seed of the run draws them, or the failure states them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clauses.clause_sets import ClauseSet
from conformance.assertions.evidence import kind_of
from conformance.assertions.items import Item
from conformance.assertions.messages import message_of
from conformance.failures.drawn_values import UnreadableValues, read_values
from conformance.mutation.properties import Property, Values, all_properties
from conformance.packs.playing_again import Found, judge_stored, values_for
from conformance.packs.recorded_broker import (
    OTHER_REQUESTS,
    NotRecorded,
    Record,
    RecordedBroker,
    recorded_broker,
    without_id,
)
from conformance.packs.stated_header import set_of
from conformance.packs.stored_run import (
    Contradicted,
    ExampleKey,
    FailureDetails,
    Row,
    check_rows,
    exchanges_of,
    failures_of,
    is_about,
    key_of,
    key_of_failure,
    rows_of,
    where,
)
from conformance.roles.broker import MORE_THAN_READING, NEEDS
from fixtures.registry.targets import Target
from reference_model.judging.rejudging import RecordedExchange
from reports.records import Phase, Verdict
from reports.run.failures import signature_of
from reports.run.judged_examples import CellKey
from reports.run.run_folder import Header
from reports.run_folders.run_limits import limit
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from wire.exchange import Outcome

OTHER_SENTENCE = "it fails with another sentence"
INCONCLUSIVE = "why an example is inconclusive is not stored"
OTHER_PROPERTY = "an example of a property of another clause shows it"
MAX_TRIES = 1_000_000
"""Runs of a property on a stored example with possible values. A run on six listeners took 21,601, and 8 s of CPU."""
_KNOWN_FROM_BYTES = frozenset({MORE_THAN_READING, "plaintext"})
"""Needs of which the suite must know nothing but what a run has stored."""

_Group = tuple[str, str, str]
"""A target, one of its listeners, and a property."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """One example of a property whose exchanges are stored.

    Attributes:
        verdicts: what the run states, by clause.
        signatures: those of its failures, by clause; None for a clause for which it does not fail.
        exchanges: what was exchanged, in order.
    """

    number: int
    verdicts: Mapping[str, Verdict]
    signatures: Mapping[str, str | None]
    exchanges: Sequence[RecordedExchange]


@dataclass(slots=True)
class _Cell:
    """What is found about one cell that applies.

    Attributes:
        stated: the verdicts of its examples, by property.
        shown: of these, what was judged again with the same result.
        why_not: why something of it was not judged again, each reason once.
        is_inconclusive: whether one of its examples is, for a reason that is not stored.
    """

    stated: dict[str, set[Verdict]] = field(default_factory=lambda: defaultdict(set))
    shown: dict[str, set[Verdict]] = field(default_factory=lambda: defaultdict(set))
    why_not: dict[str, None] = field(default_factory=dict)
    is_inconclusive: bool = False

    @property
    def reason(self) -> str:
        """Why it was not judged again; empty if it was.

        Of a cell with violations one has to be shown; of any other, an example of each of its properties.
        """
        stated = set[Verdict]().union(*self.stated.values())
        shown = set[Verdict]().union(*self.shown.values())
        if Verdict.VIOLATES in stated:
            is_shown = Verdict.VIOLATES in shown
        elif self.is_inconclusive:
            return INCONCLUSIVE
        else:
            is_shown = all(self.shown.get(name) for name in self.stated)
        return "" if is_shown else next(iter(self.why_not), OTHER_REQUESTS)


def why_not_judged_again(run: Path, header: Header, targets: Mapping[str, Target]) -> Mapping[CellKey, str]:
    """Judge again what a run of brokers has stored.

    Args:
        run: the run folder; it counts.
        header: its header.
        targets: its targets by id.

    Returns:
        For each cell with an example: why it was not judged again; an empty
        text if it was, with the result that the run states.

    Raises:
        Contradicted: an example, a failure or a row does not follow from the stored bytes.
    """
    rows = rows_of(run, "examples")
    exchanges = exchanges_of(run)
    failures = failures_of(run)
    check_rows(header, rows, exchanges, failures)
    cells: dict[CellKey, _Cell] = defaultdict(_Cell)
    stored = _stored_examples(rows, exchanges, cells)
    tries_left = MAX_TRIES
    with assumptions_outside_hypothesis():
        for broker, group, examples in _by_broker(stored, header, targets):
            own = [each for each in failures.values() if _is_of(each, group)]
            tries_left -= _judge_property(broker, group, examples, own, header, cells, tries_left)
    return {key: cell.reason for key, cell in cells.items()}


def _stored_examples(
    rows: Sequence[Row], exchanges: Mapping[ExampleKey, Sequence[RecordedExchange]], cells: dict[CellKey, _Cell]
) -> Mapping[_Group, Sequence[_Stored]]:
    """Return the examples whose exchanges are stored, by the property, and note in the cells what is stated."""
    verdicts: dict[_Group, dict[int, dict[str, Verdict]]] = defaultdict(lambda: defaultdict(dict))
    signatures: dict[tuple[_Group, int], dict[str, str | None]] = defaultdict(dict)
    kept: dict[tuple[_Group, int], Sequence[RecordedExchange]] = {}
    for row in rows:
        clause, target, listener, name, number = key = key_of(row)
        verdict = Verdict(row["verdict"])
        if row["phase"] != Phase.GENERATE:
            continue
        cell = cells[CellKey(clause, target, listener)]
        if verdict is Verdict.INCONCLUSIVE:
            cell.is_inconclusive = True
            continue
        cell.stated[name].add(verdict)
        if not is_about(name, clause):
            cell.why_not[OTHER_PROPERTY] = None
        elif key in exchanges:
            group = (target, listener, name)
            verdicts[group][number][clause] = verdict
            signatures[group, number][clause] = row["failure_signature"]
            if kept.setdefault((group, number), exchanges[key]) != exchanges[key]:
                raise Contradicted(f"{where(key)}: example {number} has other exchanges for another clause")
            if exchanges[key][-1].outcome != row["outcome"]:
                raise Contradicted(f"{where(key)}: example {number} has another outcome than its last exchange")
    return {
        group: [
            _Stored(number, each, signatures[group, number], kept[group, number])
            for number, each in sorted(numbered.items())
        ]
        for group, numbered in verdicts.items()
    }


def _by_broker(
    stored: Mapping[_Group, Sequence[_Stored]], header: Header, targets: Mapping[str, Target]
) -> Iterator[tuple[RecordedBroker, _Group, Sequence[_Stored]]]:
    """Yield the stored examples of each property on each listener, with the broker that plays them."""
    first: dict[str, dict[str, dict[bytes, RecordedExchange]]] = defaultdict(lambda: defaultdict(dict))
    for (target, listener, _), examples in stored.items():
        for example in examples:
            if len(example.exchanges) == 1:
                (only,) = example.exchanges
                first[target][listener].setdefault(without_id(only.sent), only)
    brokers = {}
    for (target, listener, name), examples in stored.items():
        if target not in brokers:
            listeners = dict.fromkeys(cell["listener"] for cell in header["planned_cells"] if cell["target"] == target)
            brokers[target] = recorded_broker(targets[target], list(listeners), Record(first[target]))
        broker = brokers[target].sibling(listener)
        yield broker, (target, listener, name), examples


def _is_of(details: FailureDetails, group: _Group) -> bool:
    failure = details.failure
    return (failure.target, failure.listener, failure.property_name) == group


def _judge_property(
    broker: RecordedBroker,
    group: _Group,
    examples: Sequence[_Stored],
    failures: Sequence[FailureDetails],
    header: Header,
    cells: Mapping[CellKey, _Cell],
    tries_left: int,
) -> int:
    """Judge the stored examples and failures of one property on one listener again, and note the results.

    Returns:
        How many tries that took.

    Raises:
        Contradicted: one of them shows something else than the run states, or there are too many.
    """
    target, listener, name = group
    judged_by = set_of(header)
    judged = all_properties().get(name)
    why_not = _why_not(judged, broker)
    values: Sequence[Values] = ()
    if judged is not None and not why_not:
        # An example that fails may be any of the drawn ones, one that conforms is among the first.
        latest = max((each.number for each in examples if Verdict.VIOLATES in each.verdicts.values()), default=0)
        values = tuple(values_for(judged, header.get("seed"), latest))
    tries = (len(examples) + len(failures)) * len(values)
    if tries > tries_left:
        raise Contradicted(f"its stored examples take too many tries; {limit(MAX_TRIES)}")
    for example in examples:
        found = Found(why=why_not)
        if judged is not None and not why_not:
            found = judge_stored(broker, judged, example.exchanges, values, judged_by)
        for clause in example.verdicts:
            of_clause = found.as_note if judged_by.why_note(clause, name) else found
            _compare(example, (clause, *group), of_clause, failures, cells[CellKey(clause, target, listener)])
    for details in failures:
        cell = cells[CellKey(details.failure.clause, target, listener)]
        if judged is None or why_not or details.needs_more or details.failure.clause not in judged.clauses:
            cell.why_not[why_not or details.needs_more or OTHER_PROPERTY] = None
        else:
            _judge_failure(broker, judged, details, cell, values, judged_by)
    return tries


def _compare(
    example: _Stored,
    key: tuple[str, str, str, str],
    found: Found,
    failures: Sequence[FailureDetails],
    cell: _Cell,
) -> None:
    """Compare what the run states of an example for a clause with what was found, and note the result in its cell.

    Raises:
        Contradicted: the stored bytes show something else.
    """
    clause, *_, name = key
    stated = example.verdicts[clause]
    if not found.verdicts:
        cell.why_not[found.why] = None
    elif stated in found.verdicts and _has_its_sentence(example.signatures[clause], key, found):
        cell.shown[name].add(stated)
    elif stated in found.verdicts:
        cell.why_not[OTHER_SENTENCE] = None
    elif stated is not Verdict.CONFORMS and _may_need_more(example, failures):
        cell.why_not["more than bytes shows it"] = None
    else:
        raise Contradicted(
            f"{where(key)}: example {example.number} {stated}, but its stored bytes show that it "
            f"{' or '.join(sorted(found.verdicts))}"
        )


def _has_its_sentence(stated: str | None, key: Sequence[str], found: Found) -> bool:
    """Return whether an example conforms, or fails with the stated signature; `key` is that of its property's cell."""
    clause, target, listener, name = key
    return stated is None or stated in {
        signature_of(
            clause=clause,
            target=target,
            listener=listener,
            property_name=name,
            kind=kind_of(error),
            message=message_of(error),
        )
        for error in found.errors
    }


def _may_need_more(example: _Stored, failures: Iterable[FailureDetails]) -> bool:
    """Return whether something that no row has may show that an example fails."""
    is_silent = any(each.outcome == Outcome.SILENT for each in example.exchanges)
    return is_silent or any(each.needs_more for each in failures)


def _judge_failure(
    broker: RecordedBroker,
    judged: Property,
    details: FailureDetails,
    cell: _Cell,
    values: Sequence[Values],
    judged_by: ClauseSet,
) -> None:
    """Judge the smallest example of a failure again, and note in its cell whether it fails as stored.

    Raises:
        Contradicted: it conforms.
    """
    failure = details.failure
    if not judged.is_drawn:
        values = _item_in(failure.example)
    key = key_of_failure(failure)
    found = judge_stored(broker, judged, details.exchanges, values, judged_by)
    if judged_by.why_note(failure.clause, judged.name):
        found = found.as_note
    if found.verdicts == {Verdict.CONFORMS}:
        raise Contradicted(
            f"{where(key)}: the failure {failure.signature} is stored, but its bytes show that it conforms"
        )
    if not found.verdicts:
        cell.why_not[found.why] = None
    elif failure.verdict in found.verdicts and _has_its_sentence(failure.signature, key, found):
        cell.shown[judged.name].add(Verdict(failure.verdict))
    else:
        cell.why_not[OTHER_SENTENCE] = None


def _item_in(example: str) -> Sequence[Values]:
    """Return the stored values of a failure in a list, if they are an item of one: a version of an API."""
    try:
        values = read_values(example)
    except UnreadableValues:
        return ()
    return (values,) if values.keys() == {"item"} and isinstance(values["item"], Item) else ()


def _why_not(judged: Property | None, broker: RecordedBroker) -> str:
    """Return why no example of a property can be judged by stored bytes; empty if some can."""
    if judged is None:
        return "its property is one of proxies or of a proposal"
    if needs := [need for need in judged.needs if NEEDS[need].is_of_suite and need not in _KNOWN_FROM_BYTES]:
        return f"more than bytes shows it: {', '.join(needs)}"
    try:
        broker.begin(None)
        broker.ask_for_table()
    except NotRecorded as error:
        return str(error)
    return "" if broker.unreadable is None else "no table of the listener is stored that can be read"
