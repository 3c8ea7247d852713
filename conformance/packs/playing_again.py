"""Runs a property on a stored example, with the values that it may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import signature

from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Level, catalogue
from clauses.clause_sets import ClauseSet
from conformance.assertions.errors import Unjudged
from conformance.engine.judge_interface import Judge
from conformance.engine.planning import checks_of, newer_examples
from conformance.engine.property_judge import JUDGE
from conformance.mutation.properties import Property, Values, all_properties
from conformance.packs.recorded_broker import OTHER_REQUESTS, NotRecorded, RecordedBroker
from fixtures.errors import HarnessError
from reference_model.judging.rejudging import RecordedExchange
from reports.records import Verdict
from strategies.hypothesis_adapter import StopDrawing
from wire.exchange import Step

DRAWN_EXAMPLES = 12
"""Drawn examples of a property that are tried: a run stores three, and some are rejected."""


@dataclass(frozen=True, slots=True)
class _Played:
    """How a property judged an example that it sent exactly as stored.

    Attributes:
        error: the failure; None if the target conforms.
        has_notes: whether it noted something that cannot be judged.
    """

    error: AssertionError | None
    has_notes: bool

    def verdicts(self, is_binding: bool) -> set[Verdict]:
        """Return the verdicts that a run records of the example; `is_binding` says whether its failures violate."""
        notes = {Verdict.INFORMATIONAL} if self.has_notes else set()
        if self.error is None:
            return {Verdict.CONFORMS, *notes}
        violates = is_binding and not isinstance(self.error, Unjudged)
        return {Verdict.VIOLATES if violates else Verdict.INFORMATIONAL, *notes}


def values_for(judged: Property, seed: int | None, count: int) -> Iterator[Values]:
    """Yield the values that the stored examples of a property may have: pinned ones, then drawn ones.

    Those that a run states are not among them: whoever wrote it could choose values that take hours.

    Args:
        judged: the property.
        seed: the seed of the run; None if Hypothesis chose its own.
        count: how many drawn values are enough.
    """
    if not judged.is_drawn:
        yield {}
        return
    yield from judged.pinned
    if seed is not None:
        yield from _drawn(judged.name, seed, DRAWN_EXAMPLES)
        if count > DRAWN_EXAMPLES:
            yield from _drawn(judged.name, seed, judged.max_examples)[DRAWN_EXAMPLES:count]


@cache
def _drawn(name: str, seed: int, count: int) -> Sequence[Values]:
    """Return the first examples that a run with a seed draws for a property."""
    judged = all_properties()[name]
    values: list[Values] = []

    def take(drawn: Values) -> None:
        values.append(drawn)
        if len(values) == count:
            raise StopDrawing

    judged.draw(take, seed=seed, count=judged.max_examples)
    return values


@dataclass(slots=True)
class Found:
    """What a property says of a stored example, with all values for which it sends exactly the stored requests.

    Attributes:
        verdicts: the verdicts that it comes to; empty if there are no such values.
        errors: the failures among them.
        why: why there are no such values.
    """

    verdicts: set[Verdict] = field(default_factory=set)
    errors: list[AssertionError] = field(default_factory=list)
    why: str = OTHER_REQUESTS

    @property
    def as_note(self) -> Found:
        """The same for a clause that the run's set does not ask for: what does not conform is informational."""
        notes = {each if each is Verdict.CONFORMS else Verdict.INFORMATIONAL for each in self.verdicts}
        return replace(self, verdicts=notes)


def judge_stored(
    broker: RecordedBroker,
    judged: Property,
    exchanges: Sequence[RecordedExchange],
    values: Iterable[Values],
    judged_by: ClauseSet,
) -> Found:
    """Judge a stored example with each of these values, by a set of clauses."""
    found = Found()
    newer = newer_examples(judged.function, judged_by)
    is_binding = _is_binding(broker, judged, judged_by)
    for each in values:
        played = _play(broker, judged, exchanges, each)
        if isinstance(played, str):
            found.why = found.why if played == OTHER_REQUESTS else played
            continue
        found.verdicts |= played.verdicts(is_binding and each not in newer)
        found.errors += [] if played.error is None else [played.error]
    return found


def _is_binding(broker: RecordedBroker, judged: Property, judged_by: ClauseSet) -> bool:
    asked = [catalogue()[clause] for clause in judged.clauses if not judged_by.why_note(clause, judged.name)]
    return any(broker.pin_is_binding or clause.level is not Level.PIN for clause in asked)


def _play(
    broker: RecordedBroker, judged: Property, exchanges: Sequence[RecordedExchange], values: Values
) -> _Played | str:
    """Run a property on one stored example; return why not if it does not send exactly the stored requests."""
    body = _body_for(judged, values)
    if body is None:
        return OTHER_REQUESTS
    broker.begin(exchanges)
    judge = _NotingJudge(broker, judged.clauses)
    JUDGE.set(judge)
    error = None
    try:
        body(**{judged.target: broker}, **values)
    except UnsatisfiedAssumption:
        return OTHER_REQUESTS
    except (NotRecorded, HarnessError) as found:
        return str(found)
    except AssertionError as found:
        error = found
    return _Played(error, has_notes=judge.has_notes) if broker.is_played else OTHER_REQUESTS


def _body_for(judged: Property, values: Values) -> Callable[..., None] | None:
    """Return the function of a property that takes these values: itself, or its check of an item of a list."""
    for body in (judged.body, *checks_of(judged.marks)):
        if signature(body).parameters.keys() == {judged.target, *values}:
            return body
    return None


class _NotingJudge(Judge):
    """Notes whether a property found something that cannot be judged."""

    has_notes = False

    def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
        """Note it."""
        self.has_notes = True
