"""Reads failures from a run folder, judges them again, and turns them into corpus entries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Role
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
from conformance.corpus.entries import CorpusEntry
from conformance.engine.repeating import FailingExample, run_again
from conformance.failures.drawn_values import UnreadableValues, read_values
from fixtures.under_test.broker import Broker
from fixtures.under_test.judged_target import JudgedTarget
from proposals import proposals
from reports.records import FACTS_FILE, HEADER_FILE, OPERATION, Verdict
from strategies.hypothesis_adapter import body_of

SUITE = Path(__file__).parents[1]
PROPERTY_FOLDERS = {
    Role.BROKER.value: "brokers",
    Role.CLIENT.value: "clients",
    OPERATION: "operations",
}
"""The folder of the properties that judge a role."""
JUDGES_OPERATIONS = "client_operates"
"""The check that the one property of operations makes of each."""
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
_TEXTS = ("signature", "clause", "property_name", "target", "listener", "message", "example")


class NoStoredFailure(Exception):
    """No failure was found, or it is incomplete."""


class NoLongerApplies(Exception):
    """The stored failure no longer applies: the property rejects its example for this target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFailure:
    """One failure of a run folder.

    Attributes:
        signature: identifies equal failures.
        clause: the violated clause.
        property_name: the test function's name.
        target: the target's id.
        listener: the listener's name.
        message: what was observed.
        example: the drawn values, as text.
        sent: the bytes that were sent, by connection, in order.
        needs_earlier_requests: whether it occurred only after requests of other examples on the same connection; earlier
            versions of the suite shared connections between examples.
        verdict: what its example showed: "violates" or "informational".
        role: what the target was judged as: "broker", "client" or "operation".
        client_command: what a user said about a client that is a command; empty for any other target.
        origin: where a target without a file came from (see `fixtures.launchers.kafka_home.origin_of`).
    """

    signature: str
    clause: str
    property_name: str
    target: str
    listener: str
    message: str
    example: str
    sent: Mapping[int, bytes]
    needs_earlier_requests: bool
    verdict: str = Verdict.VIOLATES.value
    role: str = Role.BROKER.value
    client_command: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def first_line(self) -> str:
        """The message's first line."""
        return self.message.partition("\n")[0]

    def entries(self) -> tuple[CorpusEntry, ...]:
        """Return an entry of the corpus for what was sent on each connection."""
        clause = self.clause.lower().replace(".", "-")
        origin = f"found on {self.target} ({self.listener}): {self.clause}: {self.first_line}"
        return tuple(
            CorpusEntry(name=f"{clause}-{self.signature[:8]}", origin=origin, data=data)
            for data in self.sent.values()
            if data
        )


def read_failure(path: Path) -> StoredFailure:
    """Read a failure from its folder, or from a file in it.

    Raises:
        NoStoredFailure: the folder holds no complete failure.
    """
    folder = path if path.is_dir() else path.parent
    try:
        facts = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
        sent: dict[int, bytes] = {}
        for step in facts.get("sent", []):
            number = int(step["connection"])
            sent[number] = sent.get(number, b"") + bytes.fromhex(step["data"])
        return StoredFailure(
            sent=sent,
            needs_earlier_requests=bool(facts.get("served_before", 0)),
            verdict=str(facts.get("verdict", Verdict.VIOLATES.value)),
            role=_known_role(facts.get("role", Role.BROKER.value)),
            client_command=dict(facts.get("client_command", {})),
            origin={key: str(value) for key, value in facts.get("origin", {}).items()},
            **{name: str(facts[name]) for name in _TEXTS},
        )
    except OSError as error:
        if (folder / HEADER_FILE).is_file():
            raise NoStoredFailure(
                f"{folder} is the folder of a run: give failures of it, such as {folder}/failures/*"
            ) from error
        raise NoStoredFailure(f"{folder} contains no failure: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoStoredFailure(
            f"{folder / FACTS_FILE} does not describe a failure: {error!r}"
        ) from error


def _known_role(role: object) -> str:
    if not isinstance(role, str) or role not in PROPERTY_FOLDERS:
        raise ValueError(f"role is {role!r}, and not one of {', '.join(PROPERTY_FOLDERS)}")
    return role


def property_named(name: str, role: str) -> Callable[..., None]:
    """Return the body of a property, or one of the checks that a property makes of stored input.

    Args:
        name: its name.
        role: the role that it judges.

    Raises:
        NoStoredFailure: there is no longer a property or check of that name.
    """
    for module in _property_modules(PROPERTY_FOLDERS[role]):
        found = getattr(import_module(module), name, None)
        if found is not None:
            return body_of(found)
    raise NoStoredFailure(f"the property {name} no longer exists")


def _property_modules(folder: str) -> Iterator[str]:
    """Yield the names of the modules of properties in a folder, and then of those that proposals have for it."""
    places = {f"conformance.{folder}": SUITE / folder}
    for each in proposals():
        places[f"{each.package}.properties.{folder}"] = each.properties(folder)
    for package, place in places.items():
        for path in sorted(place.glob("test_*.py")):
            yield f"{package}.{path.stem}"


def still_fails(
    failure: StoredFailure, target: JudgedTarget, *, parameter: str
) -> AssertionError | None:
    """Judge the failing example again.

    Args:
        failure: the failure.
        target: the target, of the failure's role.
        parameter: the parameter by which properties of that role get their target.

    Returns:
        The violation; None if the target now conforms.

    Raises:
        Unjudged: a violation is none any more, but no source says how to judge what is seen now.
        NoStoredFailure: the property no longer exists.
        UnreadableValues: the values cannot be read back, or there are none.
        HarnessError: the example could not be judged.
        NoLongerApplies: the property rejects the example for this target.
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
    body = _body_for(failure, values)
    example = FailingExample(body, {parameter: target, **values})
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


def _body_for(failure: StoredFailure, values: Mapping[str, Any]) -> Callable[..., None]:
    """Return the function that judges a failure's values: its property, or the check that it makes of each item."""
    if failure.role == OPERATION:
        return property_named(JUDGES_OPERATIONS, OPERATION)
    if SWEPT_ITEM in values and failure.property_name in SWEEPS:
        items, check = SWEEPS[failure.property_name]
        return partial(_check_if_among, items=items, check=check)
    stored = next((body for name, body in STORED_INPUT_CHECKS.items() if name in values), None)
    return property_named(stored or failure.property_name, failure.role)


def _check_if_among(broker: Broker, item: Item, *, items: _Items, check: Check) -> None:
    """Check an item alone if the sweep has it for this target; tables differ between targets."""
    if item not in items(broker):
        raise UnsatisfiedAssumption
    check_item(broker, item, check)
