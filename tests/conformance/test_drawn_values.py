"""Values that properties draw are read back from the text of a stored failure."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

import pytest
from hypothesis import Phase, given, settings

import conformance.clients
from conformance.assertions.items import Item
from conformance.engine.planning import checks_of
from conformance.failures.drawn_values import KNOWN, UnreadableValues, read_values
from conformance.mutation import properties as mutation_properties
from conformance.mutation.properties import Property, all_properties, properties_of, proxy_properties
from conformance.roles.role_registry import roles_named
from proposals import proposals
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import strategies_of
from wire.plain_header import PLAIN_CLIENT_ID
from wire.primitives import TaggedField


def test_drawn_values_come_back() -> None:
    """Requests and plain values are read back as they were written."""
    sent = build_request(version=3, body_tags=(TaggedField(tag=-0, data=b"\xff"),), client_id=None)
    values = {"sent": sent, "cuts": [1, -2], "every": range(3), "client_id": PLAIN_CLIENT_ID}
    assert read_values(repr(values)) == values


@pytest.mark.parametrize("earlier", ["Token", "Entry"])
def test_values_of_older_runs_come_back(earlier: str) -> None:
    """Two kinds had other names in run folders of before; they are still those that are drawn."""
    assert earlier in KNOWN
    assert KNOWN[earlier] is KNOWN[{"Token": "PlainToken", "Entry": "CorpusEntry"}[earlier]]


def client_properties() -> Iterator[Property]:
    """Yield every property of clients."""
    for module in pkgutil.iter_modules(conformance.clients.__path__):
        members = vars(import_module(f"{conformance.clients.__name__}.{module.name}"))
        yield from (Property(name, member) for name, member in members.items() if name.startswith("test_"))


def proposed_properties() -> Iterator[tuple[str, Property]]:
    """Yield every property that a proposal brings, after the role that it judges."""
    for proposal in proposals():
        yield from (("broker", each) for each in properties_of(proposal).values())
    suites_own = {each.name for each in client_properties()}
    for name, each in mutation_properties.client_properties().items():
        if name not in suites_own:
            yield "client", each


@pytest.mark.parametrize(("role", "judged"), [pytest.param(*each, id=each[1].name) for each in proposed_properties()])
def test_property_of_a_proposal_is_found_again(role: str, judged: Property) -> None:
    """`replay` searches the folders of proposals as well."""
    assert roles_named(role)[0].property_named(judged.name) is judged.function


@pytest.mark.parametrize("judged", list(client_properties()), ids=lambda each: each.name)
def test_what_a_property_of_clients_draws_can_be_replayed(judged: Property) -> None:
    """Pinned and drawn scripts of every property of clients are read back, and are equal."""
    examples = list(judged.pinned)

    @settings(max_examples=10, phases=[Phase.generate], database=None, derandomize=True)
    @given(**strategies_of(judged.function))
    def collect(**values: Any) -> None:
        examples.append(values)

    if judged.is_drawn:
        collect()
    assert examples
    for values in examples:
        assert read_values(repr(dict(values))) == values


@pytest.mark.parametrize(
    "judged",
    [
        *all_properties().values(),
        *proxy_properties().values(),
        *(each for proposal in proposals() for each in properties_of(proposal).values()),
    ],
    ids=lambda each: each.name,
)
def test_what_a_property_draws_can_be_replayed(judged: Property) -> None:
    """Pinned and drawn values of every property are read back: a new type has to be added to `drawn_values.KNOWN`,
    or to those of its proposal."""
    examples = list(judged.pinned)

    def take(values: Mapping[str, Any]) -> None:
        # A property that is not drawn sweeps a list; its items are stored instead.
        examples.append(values or {"item": Item("Produce", 0, 3)})

    judged.draw(take, seed=1, count=5)
    assert examples
    for values in examples:
        assert repr(read_values(repr(dict(values)))) == repr(dict(values))


@pytest.mark.parametrize(
    "judged",
    [each for each in all_properties().values() if not each.is_drawn],
    ids=lambda each: each.name,
)
def test_property_that_is_not_drawn_names_its_checks(judged: Property) -> None:
    """`replay` finds by its marks what judges one item of its list alone: the target, and what is stored with a
    failure."""
    checks = checks_of(judged.marks)
    assert checks
    for check in checks:
        target, *stored = signature(check).parameters
        assert target == "broker"
        assert stored


@pytest.mark.parametrize("text", ["__import__('os')", "{'a': open('x')}", "1", "{", "{'a': b.c}"])
def test_nothing_else_is_read(text: str) -> None:
    """Text that is not a mapping of known values is refused, and nothing in it is executed."""
    with pytest.raises(UnreadableValues):
        read_values(text)
