"""Judges the example of a stored failure again, by the property of its role that it failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from clauses import marks
from clauses.catalogue import catalogue
from conformance.assertions.items import Check, Item, check_item
from conformance.assertions.judging import Unjudged
from conformance.assertions.other_apis import (
    advertised_items,
    check_not_served,
    check_served,
    check_supported,
    neighbouring_items,
    other_items,
)
from conformance.engine.repeating import FailingExample, run_again
from conformance.failures.drawn_values import UnreadableValues, read_values
from conformance.failures.stored_failures import NoStoredFailure, StoredFailure
from conformance.roles.registry import ROLES
from conformance.roles.role import RoleInRun
from fixtures.under_test.broker import Broker
from fixtures.under_test.judged_target import JudgedTarget
from reports.records import Verdict
from strategies.hypothesis_adapter import body_of

STORED_INPUT_CHECKS = {
    "entry": "answered_alone",
    "entries": "answered_after_others",
    "word": "word_agrees",
}
"""The checks that properties make of input that is not drawn, by the name of the value they take."""
SWEPT_ITEM = "item"
"""Name of the value that a sweep checks."""
_Items = Callable[[Broker], Iterable[Item]]
SWEEPS: Mapping[str, tuple[_Items, Check]] = MappingProxyType(
    {
        "test_every_advertised_version_is_served": (advertised_items, check_served),
        "test_no_advertised_version_is_unsupported": (other_items, check_supported),
        "test_neighbours_of_a_range_are_not_served": (neighbouring_items, check_not_served),
    }
)
"""Each sweep's items for a target and its check, by the sweep's name."""


class NoLongerApplies(Exception):
    """The stored failure does not apply: this target lacks what the property needs, or the property rejects its example."""


def role_of_failure(failure: StoredFailure) -> type[RoleInRun[Any]]:
    """Return the role in which a failure was found.

    Raises:
        NoStoredFailure: there is no such role.
    """
    if failure.role not in ROLES:
        raise NoStoredFailure(f"role is {failure.role!r}, and not one of {', '.join(ROLES)}")
    return ROLES[failure.role]


def still_fails(failure: StoredFailure, target: JudgedTarget) -> AssertionError | None:
    """Judge the failing example again.

    Returns:
        The violation; None if the target now conforms.

    Raises:
        Unjudged: a violation is none any more, but no source says how to judge what is seen now.
        NoStoredFailure: the role is unknown, or the property no longer exists.
        UnreadableValues: the values cannot be read back, or there are none.
        HarnessError: the example could not be judged.
        NoLongerApplies: a run would not judge the property on this target, or not with this example.
    """
    if not failure.example:
        raise UnreadableValues(
            f"this failure is about {failure.property_name} itself, not about one input: judge the target again with "
            f"pytest conformance/ -k {failure.property_name}"
        )
    if failure.needs_earlier_requests:
        raise UnreadableValues(
            "it occurred only after requests of other examples on the same connection; examples no longer share "
            "connections, so run its reproducer.py instead"
        )
    values: dict[str, Any] = dict(read_values(failure.example))
    role = role_of_failure(failure)
    body = _body_for(failure, values, role)
    reason = _why_not_applicable(failure, role, target)
    if reason is not None:
        raise NoLongerApplies(reason)
    example = FailingExample(body, {role.parameter: target, **values})
    try:
        run_again(target, example)
    except Unjudged as note:
        if failure.verdict == Verdict.VIOLATES:
            raise
        return note
    except AssertionError as error:
        return error
    except UnsatisfiedAssumption as error:
        raise NoLongerApplies(
            f"{failure.property_name} does not apply to this input on this target"
        ) from error
    return None


def _why_not_applicable(
    failure: StoredFailure, role: type[RoleInRun[Any]], target: JudgedTarget
) -> str | None:
    """Return why a run would not judge a failure's property on a target; None if it would."""
    if role.only_check:
        # An operation is no clause; `from_stored` refuses one that cannot be tried.
        return None
    if failure.clause not in catalogue():
        raise NoStoredFailure(f"the clause {failure.clause} no longer exists")
    marked = getattr(role.property_named(failure.property_name), "pytestmark", ())
    needs = [need for mark in marked if mark.name == marks.NEEDS for need in mark.args]
    return role.why_not_applicable(catalogue()[failure.clause], needs, target)


def _body_for(
    failure: StoredFailure, values: Mapping[str, Any], role: type[RoleInRun[Any]]
) -> Callable[..., None]:
    """Return the function that judges a failure's values: its property, or the check that it makes of each item."""
    if SWEPT_ITEM in values and failure.property_name in SWEEPS:
        items, check = SWEEPS[failure.property_name]
        return partial(_check_if_among, items=items, check=check)
    stored = (check for name, check in STORED_INPUT_CHECKS.items() if name in values)
    return body_of(role.property_named(next(stored, role.only_check or failure.property_name)))


def _check_if_among(broker: Broker, item: Item, *, items: _Items, check: Check) -> None:
    """Check an item alone if the sweep has it for this target; tables differ between targets."""
    if item not in items(broker):
        raise UnsatisfiedAssumption
    check_item(broker, item, check)
