"""Sweep over a list, which judges every item one by one.

Each item gets a record. Items that fail in the same way count as one failure.

A property over drawn items would leave out some of the list, and stop at its first failure. A sweep checks every
item once, on a connection of its own, and only then reports what failed, with all items of one failure in its
first line: "Produce v0-v2: the target closed the connection instead of answering".

Items of a target that is far away are tried at the same time. Only what conforms at once is taken, or what the clause
is not about; every other item is tried again in its turn, alone. So no item fails because others were tried next to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from typing import NamedTuple

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.errors import TargetEnded, Unjudged, crash_in_words
from conformance.assertions.items import (
    Check,
    CrashingItem,
    Item,
    Problem,
    Refusal,
    check_item,
    message_of,
    named_in,
    names_of,
)
from conformance.assertions.other_apis import skipped_apis
from conformance.assertions.sendable_apis import why_skipped
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import OUT_OF_PATIENCE
from conformance.engine.repeating import FailingExample
from fixtures.errors import BrokerGone, HarnessError, OutOfPatience
from fixtures.under_test.broker import Broker
from wire.exchange import Exchange, Outcome, Step

AT_ONCE = 32
"""Items that wait for their answers at the same time. A sweep of all versions has some 500; one by one they take 200
s at a round trip of 0.2 s."""


SILENT_ITEMS = 8
"""A sweep stops after this many silent items: it has failed anyway, and each one costs a silence bound."""
ENDS_ALONE = (
    "the oldest and the newest version of each API; a listener before this one differs in TLS alone and has them all"
)


def tried_ahead(broker: Broker, items: Iterable[Item], check: Check) -> Iterator[tuple[Item, Check]]:
    """Yield each item with the check to call for it: the given one, or one that repeats what was found ahead."""
    if not broker.is_shared:
        yield from ((item, check) for item in items)
        return
    left = iter(items)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while batch := list(islice(left, AT_ONCE)):
            yield from zip(batch, list(pool.map(partial(_try, broker, check), batch)), strict=True)


def _try(broker: Broker, check: Check, item: Item) -> Check:
    """Check an item in a thread; return a check that says the same, or the given one if it is to be tried again."""
    apart = broker.apart()
    apart.begin_example()
    try:
        exchange = check(apart, item)
    except UnsatisfiedAssumption as rejected:
        return partial(_reject, rejected)
    except (Problem, Unjudged, HarnessError):
        return check
    return partial(_repeat, exchange, tuple(apart.journal))


def _reject(rejected: UnsatisfiedAssumption, broker: Broker, item: Item) -> Exchange:
    raise rejected


def _repeat(exchange: Exchange, steps: Sequence[Step], broker: Broker, item: Item) -> Exchange:
    broker.journal.extend(steps)
    return exchange


@dataclass(frozen=True, slots=True)
class _Failed:
    item: Item
    problem: Problem
    steps: tuple[Step, ...]


def oldest_and_newest(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the oldest and the newest version of each API, of items in ascending order."""
    for _, same in groupby(items, key=lambda item: item.api_key):
        versions = list(same)
        yield from dict.fromkeys((versions[0], versions[-1]))


class Sweep(NamedTuple):
    """A list that a property checks item by item.

    Attributes:
        items: returns the items that a target has.
        check: checks one of them.
        skipped: returns the names of the APIs that it would have, but that are not requested of the target.
        is_of_ranges: whether the items are versions of APIs in ascending order, of which the ends are enough where a
            listener differs in TLS alone: what is missed is a broker that serves a version in the middle of a range
            otherwise over TLS.
    """

    items: Callable[[Broker], Iterable[Item]]
    check: Check
    skipped: Callable[[Broker], Collection[str]] = skipped_apis
    is_of_ranges: bool = False

    def judge_all(self, judge: Judge, broker: Broker) -> None:
        """Check every item of a target, and pass each result to the judge.

        Raises:
            AssertionError: the first failure, if any failure is binding.
            HarnessError: the sweep could not be completed.
        """
        if self.is_of_ranges and not judge.is_thorough:
            judge.leaves_out(ENDS_ALONE, is_bound=True)
            failed, trouble = self._check_ends(judge, broker)
        else:
            failed, trouble = _check_all(judge, broker, self.items(broker), self.check)
        for alike in _alike(failed, judge.declared):
            message = message_of([each.item for each in alike], alike[0].problem)
            # The smallest item comes last, because only a failure's last example is kept.
            for each in reversed(alike):
                again = partial(check_item, check=self.check)
                example = FailingExample(again, {"broker": broker, "item": each.item})
                kind = TargetEnded if isinstance(each.problem, CrashingItem) else AssertionError
                judge.differs(kind(message), each.steps, example)
        if trouble is not None and failed and isinstance(trouble, OutOfPatience):
            judge.leaves_out(OUT_OF_PATIENCE)
        elif trouble is not None:
            # Everything judged before this point has been recorded.
            raise trouble
        judge.raise_first()

    def _check_ends(self, judge: Judge, broker: Broker) -> tuple[list[_Failed], HarnessError | None]:
        """Check the ends of each range, and all of a range if an end fails.

        The check of the complete range names every item of the API that fails.
        """
        items = tuple(self.items(broker))
        ends = tuple(oldest_and_newest(items))
        failed, trouble = _check_all(judge, broker, ends, self.check)
        apis = {each.item.api_key for each in failed}
        left = [item for item in items if item.api_key in apis and item not in ends]
        if not left or trouble is not None:
            return failed, trouble
        more, trouble = _check_all(judge, broker, left, self.check)
        return sorted([*failed, *more], key=lambda each: items.index(each.item)), trouble

    def judge_again(self, broker: Broker, item: Item) -> None:
        """Check one item alone, if the target has it: tables differ between targets.

        Raises:
            AssertionError: the item fails.
            UnsatisfiedAssumption: the target does not have it.
            HarnessError: the target has it, but it is not requested there.
        """
        if item in self.items(broker):
            check_item(broker, item, self.check)
        elif item.name in self.skipped(broker):
            raise HarnessError(f"{item.name} is not requested, because {why_skipped(broker)}")
        else:
            raise UnsatisfiedAssumption


def _check_all(
    judge: Judge, broker: Broker, items: Iterable[Item], check: Check
) -> tuple[list[_Failed], HarnessError | None]:
    """Check every item; return those that fail, and what ended the sweep before its last item, if anything did."""
    failed: list[_Failed] = []
    silent = 0
    last: list[Item] = []
    for item, check_now in tried_ahead(broker, items, check):
        last = [*last[-1:], item]
        broker.begin_example()
        try:
            problem = _check_one(judge, broker, item, check_now)
            if problem is not None and _is_fresh(judge, broker, item, problem):
                broker.begin_example()
                problem = _check_one(judge, broker, item, check)
        except HarnessError as error:
            elsewhere = judge.elsewhere(error)
            if elsewhere is not None:
                judge.judged_elsewhere(elsewhere)
                continue
            crashing = None
            if isinstance(error, BrokerGone):
                # If the target does not start again, the cause stays unknown; earlier results are kept.
                with suppress(HarnessError):
                    if broker.revives():
                        crashing = _find_crashing_item(broker, last, check)
                    else:
                        error = judge.blame_for_end(error, {"item": item})
            if crashing is None:
                return failed, type(error)(f"requesting {names_of([item])}: {error}")
            failed.append(crashing)
            continue
        if isinstance(problem, Problem):
            failed.append(_Failed(item, problem, tuple(broker.journal)))
        silent += problem is not None and was_silent(broker.journal)
        if silent == SILENT_ITEMS:
            break
    return _still_failing(judge, broker, failed, check), None


def _is_fresh(judge: Judge, broker: Broker, item: Item, problem: Exception) -> bool:
    """Return whether the target was started again after an item did not conform.

    The item is then to be checked again.
    """
    if isinstance(problem, Problem) and broker.was_away():
        return True
    is_rejected = isinstance(problem, UnsatisfiedAssumption)
    return not is_rejected and judge.blame_for_stop({"item": item})


def _check_one(judge: Judge, broker: Broker, item: Item, check: Check) -> Exception | None:
    """Check one item, and pass everything but a violation to the judge; return why the item does not conform."""
    before = broker.patience.now()
    try:
        judge.conforms([check(broker, item)])
    except Unjudged as note:
        judge.notes(Unjudged(f"{names_of([item])}: {note}"), tuple(broker.journal))
    except UnsatisfiedAssumption as rejected:
        return rejected
    except Problem as problem:
        elsewhere = judge.elsewhere(problem.__cause__)
        if elsewhere is not None:
            judge.judged_elsewhere(elsewhere)
        return elsewhere or problem
    else:
        # Silence that was allowed does not count against the target's patience.
        broker.patience.refund(before)
    return None


def _still_failing(judge: Judge, broker: Broker, failed: Sequence[_Failed], check: Check) -> list[_Failed]:
    """Request refused items again; note those that are served now, and return what still fails.

    Seen: 3.4.1 refuses LeaveGroup v0-v2 until its group coordinator has started.
    """
    left = []
    for example in failed:
        if isinstance(example.problem, Refusal):
            broker.begin_example()
            with suppress(Problem, HarnessError):
                check(broker, example.item)
                note = f"{names_of([example.item])}: {example.problem.what}; served when it was requested again"
                judge.notes(Unjudged(note), tuple(broker.journal))
                continue
        left.append(example)
    return left


def _find_crashing_item(broker: Broker, last: Sequence[Item], check: Check) -> _Failed | None:
    """Find out which of the last items ends the target, trying each on a fresh one; restart the target afterwards.

    It is fresh when this begins. The end may be noticed only when the next item is requested.
    """
    crashing = None
    for item in reversed(last):
        if crashing is not None or (item is not last[-1] and not broker.revives()):
            break
        broker.begin_example()
        try:
            with suppress(Problem, Unjudged):
                check(broker, item)
            # After its response or close, a process may take a moment to end.
            broker.await_end()
        except BrokerGone as gone:
            crashing = _Failed(item, CrashingItem(*crash_in_words(str(gone))), tuple(broker.journal))
    if crashing is not None and broker.can_restart:
        broker.restart()
    return crashing


def was_silent(journal: Sequence[Step]) -> bool:
    """Return whether any exchange got neither a response nor a close in time."""
    exchanges = [exchange for step in journal for exchange in step.exchanges]
    return any(exchange.outcome is Outcome.SILENT for exchange in exchanges)


def _alike(failed: Sequence[_Failed], declared: Sequence[str]) -> list[list[_Failed]]:
    """Group failures with equal words, in order of their first occurrence.

    Failures that are declared are apart from the others.

    Args:
        failed: the failures.
        declared: the regular expressions of the declared violations.
    """
    groups: dict[str, list[_Failed]] = {}
    for example in failed:
        groups.setdefault(example.problem.what, []).append(example)
    return [part for alike in groups.values() for part in _parts(alike, declared)]


def _parts(alike: list[_Failed], declared: Sequence[str]) -> Iterator[list[_Failed]]:
    """Yield equal failures, without those that a declaration is about and then these."""
    for match in declared:
        named = named_in(match)
        known = [each for each in alike if (each.item.name, each.item.api_version) in named]
        others = [each for each in alike if each not in known]
        if not known or not others:
            continue
        message = message_of([each.item for each in known], known[0].problem)
        if re.search(match, message, re.DOTALL):
            yield from _parts(others, declared)
            yield known
            return
    yield alike
