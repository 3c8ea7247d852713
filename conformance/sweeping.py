"""Judges a whole list, item by item: every item gets its record, and what fails alike becomes one failure.

A property over drawn items would leave some of the list out, and stop at its first failure. A sweep asks every
item once, on a connection of its own, and only then says what failed, with all items of one failure in its
first line: "Produce v0-v2: the target closed the connection instead of answering".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from conformance.examples import OUT_OF_PATIENCE, PropertyJudge
from conformance.judging import TargetEnded, crash_in_words
from conformance.repeating import FailingExample
from fixtures.broker import Broker
from fixtures.errors import BrokerGone, HarnessError, OutOfPatience
from wire.exchange import Exchange, Outcome, Step

SILENT_ITEMS = 8
"""A target that was silent so often is asked no further: the sweep has failed, and each costs a silence bound."""


class Item(NamedTuple):
    """One API in one version: what a sweep asks for.

    Attributes:
        name: the API's name.
        api_key: its key.
        api_version: the version that is asked for.
    """

    name: str
    api_key: int
    api_version: int


class Problem(AssertionError):
    """What is wrong with one item.

    Attributes:
        what: in words that are the same for every item that fails alike.
        details: what is known of this one besides; empty for nothing.
    """

    def __init__(self, what: str, details: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.details = details


class Deadly(Problem):
    """An item that ends the target."""


Check = Callable[[Broker, Item], Exchange]
"""Asks one item, returns the exchange, and raises `Problem` where something is wrong."""


@dataclass(frozen=True, slots=True)
class _Failed:
    item: Item
    problem: Problem
    steps: tuple[Step, ...]


def check_item(broker: Broker, item: Item, check: Check) -> None:
    """Check one item again, alone.

    Raises:
        AssertionError: it fails.
    """
    try:
        check(broker, item)
    except Problem as problem:
        raise AssertionError(_message([item], problem)) from problem


def sweep(judge: PropertyJudge, broker: Broker, items: Iterable[Item], check: Check) -> None:
    """Check every item and hand each to the judge.

    Raises:
        AssertionError: the first failure, where any is binding.
        HarnessError: we could not tell.
    """
    failed: list[_Failed] = []
    trouble: HarnessError | None = None
    silent = 0
    last: list[Item] = []
    for item in items:
        last = [*last[-1:], item]
        broker.forget()
        before = broker.patience.now()
        try:
            judge.conforms([check(broker, item)])
            # Silence that was right is no reason to lose patience.
            broker.patience.forgive(before)
        except Problem as problem:
            failed.append(_Failed(item, problem, tuple(broker.journal)))
            silent += was_silent(broker.journal)
        except OutOfPatience as error:
            if failed:
                judge.leaves_out(OUT_OF_PATIENCE)
            else:
                trouble = type(error)(f"asked for {names_of([item])}: {error}")
            break
        except HarnessError as error:
            trouble = type(error)(f"asked for {names_of([item])}: {error}")
            deadly = None
            if isinstance(error, BrokerGone):
                # A target that does not come back leaves the doubt, and what was found before.
                with suppress(HarnessError):
                    deadly = _find_deadly(broker, last, check)
            if deadly is None:
                break
            failed.append(deadly)
            trouble = None
        if silent == SILENT_ITEMS:
            break
    for alike in _alike(failed):
        message = _message([each.item for each in alike], alike[0].problem)
        # The smallest item comes last, since a failure's last example is the one that is kept.
        for each in reversed(alike):
            again = partial(check_item, check=check)
            example = FailingExample(again, {"broker": broker, "item": each.item})
            kind = TargetEnded if isinstance(each.problem, Deadly) else AssertionError
            judge.differs(kind(message), each.steps, example)
    if trouble is not None:
        # What was judged before counts all the same.
        raise trouble
    judge.raise_first()


def _find_deadly(broker: Broker, last: Sequence[Item], check: Check) -> _Failed | None:
    """Find out which of the last items ends the target, each on a fresh one; the target runs again afterwards.

    The end may show only when the next item is asked.
    """
    deadly = None
    for item in reversed(last):
        if deadly is not None or not broker.can_restart:
            break
        broker.restart()
        broker.forget()
        try:
            with suppress(Problem):
                check(broker, item)
            # A process takes a moment to end of what it has answered or closed already.
            broker.await_end()
        except BrokerGone as gone:
            deadly = _Failed(item, Deadly(*crash_in_words(str(gone))), tuple(broker.journal))
    if deadly is not None and broker.can_restart:
        broker.restart()
    return deadly


def was_silent(journal: Sequence[Step]) -> bool:
    """Tell whether the target left us waiting for an answer."""
    exchanges = [exchange for step in journal for exchange in step.exchanges]
    return any(exchange.outcome is Outcome.SILENT for exchange in exchanges)


def _alike(failed: Sequence[_Failed]) -> list[list[_Failed]]:
    """Put together what failed in the same words, in the order of the first of each."""
    groups: dict[str, list[_Failed]] = {}
    for each in failed:
        groups.setdefault(each.problem.what, []).append(each)
    return list(groups.values())


def _message(items: Sequence[Item], problem: Problem) -> str:
    first_line = f"{names_of(items)}: {problem.what}"
    return f"{first_line}\n{problem.details}" if problem.details else first_line


def names_of(items: Iterable[Item]) -> str:
    """Name items by API, each with its versions drawn together: "Produce v0-v2, Envelope v0"."""
    return ", ".join(
        f"{name} {ranges([item.api_version for item in same])}"
        for name, same in groupby(items, key=lambda item: item.name)
    )


def ranges(versions: Sequence[int]) -> str:
    """Name ascending versions: "v0-v2, v5"."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and version == runs[-1][-1] + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(f"v{run[0]}" if len(run) == 1 else f"v{run[0]}-v{run[-1]}" for run in runs)
