"""Planted faults: a subclass of a correct model overrides one decision.

They show that the suite detects such behaviour.

A fault is a class. It inherits everything else from the model, and `super()` makes the right decision. It names the
clauses that it breaks: exactly those must fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A planted fault.

    Attributes:
        name: its name, unique among the faults of a model.
        breaks: ids of the clauses that it violates.
        breaks_rarely: ids of further clauses that it violates, by requests too rare to count on: no property has to
            find it for them, and none that does is wrong.
        description: what the model does wrong, in one sentence.
        model: the subclass of the model that does it.
    """

    name: str
    breaks: tuple[str, ...]
    description: str
    model: type[Any]
    breaks_rarely: tuple[str, ...] = ()


class Faults(dict[str, Fault]):
    """The planted faults of a model, by name."""

    def planting(self, *breaks: str, breaks_rarely: tuple[str, ...] = ()) -> Callable[[type[Model]], type[Model]]:
        """Return a decorator that registers a subclass of the model as a fault against these clauses.

        The first line of the subclass's docstring becomes the description.

        Args:
            breaks: ids of the clauses that it violates.
            breaks_rarely: see `Fault`.
        """

        def register(model: type[Model]) -> type[Model]:
            name = "-".join(re.findall(r"V\d+|[A-Z][a-z]*|\d+", model.__name__)).lower()
            self[name] = Fault(
                name=name,
                breaks=breaks,
                breaks_rarely=breaks_rarely,
                description=(model.__doc__ or "").partition("\n")[0],
                model=model,
            )
            return model

        return register

    def model(self, name: str, correct: type[Model]) -> type[Model]:
        """Return a subclass of the correct model with a fault, or the correct model for an empty name.

        Args:
            name: the fault.
            correct: the class in whose subclasses faults were planted, or one that follows a proposal besides.
        """
        if not name:
            return correct
        faulty = self[name].model
        return faulty if issubclass(faulty, correct) else type(name, (faulty, correct), {})
