"""A role in one module, as CONTRIBUTING describes it.

It judges models of brokers that run in this process.

`python -m pytest conformance/ tests/conformance/toy_role/properties.py -p tests.conformance.toy_role` judges with it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from clauses.catalogue import Clause
from conformance.engine.drawing import examples_go_to
from conformance.engine.planning import note_started
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating import FailingExample
from conformance.failures.stored_failures import StoredFailure
from conformance.roles import role_registry
from conformance.roles.role import RoleInRun
from conformance.roles.stored_targets import ReplayOptions
from fixtures.choosing.listeners import with_given_declarations
from fixtures.registry.reference import reference_target
from fixtures.registry.targets import Target
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from fixtures.under_test.judged_target import ChosenTarget
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import PLAINTEXT
from reports.plugin import clauses_of
from reports.repeats import Repeats


@dataclass(frozen=True, slots=True)
class ChosenToy:
    """A model that is judged."""

    target: Target
    listener: str = PLAINTEXT

    @property
    def id(self) -> str:
        """The fixture's part of a test id."""
        return self.target.id


class ToyRole(RoleInRun[InMemoryBroker]):
    """Models of brokers, in this process."""

    name = parameter = "toy"
    folder = Path(__file__).parent

    def choose(self) -> Sequence[ChosenToy]:
        """Return the models that the command line names."""
        targets = [reference_target(name) for name in self.config.getoption("--toy")]
        return [ChosenToy(each) for each in with_given_declarations(self.config, targets)]

    @classmethod
    def property_named(cls, name: str) -> Callable[..., None]:
        """Return a property; their module has no name that is searched."""
        return getattr(import_module(f"{__name__}.properties"), name)  # type: ignore[no-any-return]

    def judges(self, chosen: ChosenTarget) -> bool:
        """Return whether it is a model."""
        return isinstance(chosen, ChosenToy)

    def begin(self, item: pytest.Item, judged: InMemoryBroker) -> None:
        """Record how the model was started."""
        running = judged.running
        note_started(self.recorder, judged.target, running.launcher, running.artefacts)

    @staticmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: InMemoryBroker) -> str | None:
        """Return nothing: every clause applies."""

    def judge(self, item: pytest.Item, judged: InMemoryBroker) -> Generator[None, Any, Any]:
        """Judge a property."""
        test = item.obj  # type: ignore[attr-defined]
        judge = PropertyJudge(self.recorder, judged, clauses_of(item), test.__name__)
        JUDGE.set(judge)
        with examples_go_to(judge.judge, test):
            yield
        judge.raise_first()

    def repeat(self, judged: InMemoryBroker, examples: Sequence[FailingExample]) -> Sequence[Repeats | None]:
        """Repeat nothing: a model does the same each time."""
        return [None] * len(examples)

    @staticmethod
    @contextmanager
    def from_stored(failure: StoredFailure, options: ReplayOptions) -> Iterator[InMemoryBroker]:
        """Yield the model that failed."""
        yield _toy(ChosenToy(reference_target(failure.target), failure.listener))


role_registry.EVERY_ROLE = (ToyRole, *role_registry.EVERY_ROLE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses models."""
    parser.addoption("--toy", action="append", default=[])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every property for each model."""
    if ToyRole.parameter in metafunc.fixturenames:
        chosen = ToyRole(metafunc.config).choose()
        ids = [each.id for each in chosen]
        metafunc.parametrize(ToyRole.parameter, chosen, ids=ids, indirect=True, scope="session")


@pytest.fixture(scope="session")
def toy(request: pytest.FixtureRequest) -> InMemoryBroker:
    """A model of a broker."""
    return _toy(request.param)


def _toy(chosen: ChosenToy) -> InMemoryBroker:
    tampering = DEFECTS[chosen.id.partition("+")[2]].tampering if "+" in chosen.id else None
    return InMemoryBroker(in_memory_target(chosen.target, tampering), chosen.listener)
