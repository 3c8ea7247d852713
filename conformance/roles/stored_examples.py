"""Judges the example of a stored failure again, by the property of its role that it failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from inspect import signature
from typing import Any

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses import marks
from clauses.catalogue import CatalogueError
from clauses.operations import clause_or_row
from conformance.assertions.judging import NotSeen, Unjudged
from conformance.engine.planning import checks_of
from conformance.engine.repeating import FailingExample, run_again
from conformance.failures.drawn_values import UnreadableValues, read_values
from conformance.failures.stored_failures import NoStoredFailure, StoredFailure
from conformance.roles.registry import roles_named
from conformance.roles.role import RoleInRun
from fixtures.errors import HarnessError
from fixtures.registry.targets import Target
from fixtures.under_test.judged_target import JudgedTarget
from reports.records import Verdict
from strategies.hypothesis_adapter import body_of


class NoLongerApplies(Exception):
    """The stored failure does not apply: this target lacks what the property needs, or the property rejects its example."""


def role_of_failure(failure: StoredFailure, target: Target) -> type[RoleInRun[Any]]:
    """Return the role in which a run judges a target that may have a stored failure.

    Raises:
        NoStoredFailure: there is no such role.
    """
    return next(role for role in roles_named(failure.role) if role.is_role_of(target))


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
    role = role_of_failure(failure, target.target)
    judged = role.property_named(failure.property_name)
    body = _body_for(judged, role.parameter, values)
    _check_applies(failure, judged, role, target)
    example = FailingExample(body, {role.parameter: target, **values})
    try:
        run_again(target, example)
    except Unjudged as note:
        if failure.verdict == Verdict.VIOLATES:
            raise
        return note
    except AssertionError as error:
        return error
    except NotSeen as error:
        raise HarnessError(
            f"{failure.property_name} cannot judge this input here: the suite lacks something for it, or what it compares "
            "the target with does not answer"
        ) from error
    except UnsatisfiedAssumption as error:
        raise NoLongerApplies(
            f"{failure.property_name} does not apply to this input on this target"
        ) from error
    return None


def _check_applies(
    failure: StoredFailure,
    judged: Callable[..., None],
    role: type[RoleInRun[Any]],
    target: JudgedTarget,
) -> None:
    """Check that a run would judge a failure's property on a target.

    Raises:
        NoStoredFailure: its clause no longer exists.
        NoLongerApplies: the clause does not apply to the target.
        HarnessError: the suite lacks something to judge it by.
    """
    try:
        clause = clause_or_row(failure.clause)
    except CatalogueError as error:
        raise NoStoredFailure(f"the clause {failure.clause} no longer exists") from error
    needs = [need for mark in _marks_of(judged) if mark.name == marks.NEEDS for need in mark.args]
    reason = role.why_not_applicable(clause, needs, target)
    if reason in role.reasons_of_suite:
        raise HarnessError(f"{failure.clause} cannot be judged on {target.target.id}: {reason}")
    if reason is not None:
        raise NoLongerApplies(reason)


def _body_for(
    judged: Callable[..., None], parameter: str, values: Collection[str]
) -> Callable[..., None]:
    """Return the function that judges stored values: a property, or the check of it that takes them.

    Raises:
        UnreadableValues: neither takes these values.
    """
    for body in (*checks_of(_marks_of(judged)), body_of(judged)):
        if signature(body).parameters.keys() == {parameter, *values}:
            return body
    raise UnreadableValues(f"{judged.__name__} no longer takes {', '.join(values)}")


def _marks_of(judged: Callable[..., None]) -> Sequence[pytest.Mark]:
    return getattr(judged, "pytestmark", ())
