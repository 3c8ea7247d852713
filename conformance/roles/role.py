"""Base of every role: how its targets are chosen, judged and repeated.

It covers runs and replays of stored failures.

A run has one role. `conformance.roles.plugin` calls its methods in this order:

    choose ──► for each property of a target: begin ──► why_not_applicable ──► judge ──► repeat
                after its last property: leave

`replay` calls `from_stored`, which yields the same kind of target, and judges the stored example by the same property.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pytest

from clauses.catalogue import Clause
from conformance.engine.repeating import FailingExample
from conformance.failures.stored_failures import NoStoredFailure, StoredFailure
from conformance.roles.stored_targets import ReplayOptions
from conformance.runs.run_identity import SUITE
from fixtures.registry.targets import Target
from fixtures.under_test.judged_target import ChosenTarget, JudgedTarget
from proposals import proposals, provided, united
from reports.plugin import RECORDER
from reports.repeats import Repeats
from reports.run.recorder import RunRecorder

FAILED_ELSEWHERE = pytest.StashKey[Collection[str]]()
"""Clauses that an example of the property violated, other than the property's own."""
PARTLY = pytest.StashKey[bool]()
"""Set if the run leaves out more than its tier does."""

Judged = TypeVar("Judged", bound=JudgedTarget)
T = TypeVar("T")


class Need(NamedTuple, Generic[T]):
    """Something that not every target provides.

    Attributes:
        is_met: returns whether a target provides it.
        otherwise: why a clause does not apply if the target does not provide it.
        is_of_suite: whether it is for the suite to have it, from its user or by the way it started the target.
    """

    is_met: Callable[[T], bool]
    otherwise: str
    is_of_suite: bool = False


def with_proposed_needs(folder: str, needs: Mapping[str, Need[Any]]) -> dict[str, Need[Any]]:
    """Return what properties may need, those of proposals as well, by name.

    Args:
        folder: the name of the folder of the properties, such as "brokers".
        needs: those of the suite.

    Raises:
        ValueError: a proposal has a need with the name of another one.
    """
    united_needs = united("needs", (needs, *(proposed.get(folder, {}) for proposed in provided("needs"))))
    return {name: Need(*need) for name, need in united_needs.items()}


def unmet_by_suite(needs: Mapping[str, Need[Any]]) -> frozenset[str]:
    """Return the reasons of the needs that are for the suite to have."""
    return frozenset(need.otherwise for need in needs.values() if need.is_of_suite)


class RoleInRun(ABC, Generic[Judged]):
    """One role, for one run.

    Attributes:
        name: the role in the records.
        parameter: the parameter, and fixture, by which its properties get their target.
        folder: the folder of its properties.
        reasons_of_suite: the reasons why clauses are not applicable that are about what the suite was given, or sees of
            a target: they leave open whether the target conforms.
        shares_examples: whether properties draw with the same seed, because what several of them draw costs only once.
    """

    name: ClassVar[str]
    parameter: ClassVar[str]
    folder: ClassVar[Path]
    reasons_of_suite: ClassVar[Collection[str]] = frozenset()
    shares_examples: ClassVar[bool] = False

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @property
    def recorder(self) -> RunRecorder:
        """The recorder of the run, once its cells are planned."""
        return self.config.stash[RECORDER]

    @classmethod
    def folders(cls) -> tuple[Path, ...]:
        """Return the folder of the role's properties, and those of proposals that have some."""
        proposed = (each.properties(cls.folder.name) for each in proposals())
        return (cls.folder, *(folder for folder in proposed if folder.is_dir()))

    @classmethod
    def property_named(cls, name: str) -> Callable[..., None]:
        """Return a property of the role with its marks, as pytest collects it.

        Raises:
            NoStoredFailure: there is no longer a property of that name.
        """
        for folder in cls.folders():
            for module in property_modules(folder):
                function = getattr(import_module(module), name, None)
                if function is not None:
                    return function  # type: ignore[no-any-return]
        raise NoStoredFailure(f"the property {name} no longer exists")

    @abstractmethod
    def choose(self) -> Sequence[ChosenTarget]:
        """Return what the command line asks to be judged in this role, in order; empty if that is another role's.

        `registry.EVERY_ROLE` has an order, and the first role that chooses anything is that of the run.
        """

    @abstractmethod
    def judges(self, chosen: ChosenTarget) -> bool:
        """Return whether something that a command line chose is judged in this role."""

    @classmethod
    def is_role_of(cls, target: Target) -> bool:
        """Return whether a stored failure's target is judged in this role.

        Several roles can have the same name in the records: proxies have the name of brokers.
        """
        return True

    def refuse(self) -> None:
        """Refuse a command line before anything is collected.

        Raises:
            pytest.UsageError: something that it asks for cannot be judged in this role.
        """

    @abstractmethod
    def begin(self, item: pytest.Item, judged: Judged) -> None:
        """Begin a property; before the first one of a target, also record how the target was started.

        Raises:
            HarnessError: the target cannot be judged.
        """

    @staticmethod
    @abstractmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: Judged) -> str | None:
        """Return why a clause does not apply to a target; None if it does.

        Raises:
            KeyError: a need has no such name.
            HarnessError: the target cannot be asked.
        """

    @abstractmethod
    def judge(self, item: pytest.Item, judged: Judged) -> Generator[None, Any, Any]:
        """Judge a property: `yield` runs its test, as in a wrapper of `pytest_runtest_call`."""

    @abstractmethod
    def repeat(self, judged: Judged, examples: Sequence[FailingExample]) -> Sequence[Repeats | None]:
        """Repeat failing examples; return how often each failed again, None for one that cannot be repeated."""

    def leave(self, item: pytest.Item) -> None:
        """Leave a target after its last property."""

    def close(self) -> None:
        """End what is still running at the end of the run."""

    @staticmethod
    @abstractmethod
    def from_stored(failure: StoredFailure, options: ReplayOptions) -> AbstractContextManager[JudgedTarget]:
        """Return a context manager with a target on which a stored failure can be judged again."""


def property_modules(folder: Path) -> Iterator[str]:
    """Yield the import names of a folder's property modules.

    Yield none if the folder does not exist.
    """
    for path in sorted(folder.glob("test_*.py")):
        yield ".".join(path.resolve().relative_to(SUITE.parent).with_suffix("").parts)
