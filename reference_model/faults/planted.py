"""Planted faults: one decision of a correct model is replaced by a wrong one, to show that the suite catches it.

A fault is one function. It gets the model, the decision that it replaces (`decide`), and the decision's own arguments,
and it names the clauses that it breaks: exactly those must fail.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Act = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A planted fault.

    Attributes:
        name: its name, unique among the faults of a model.
        breaks: ids of the clauses that it violates.
        description: what the model does wrong, in one sentence.
        decision: the method of the model that it replaces.
        act: what replaces it.
    """

    name: str
    breaks: tuple[str, ...]
    description: str
    decision: str
    act: Act


def planting(
    faults: MutableMapping[str, Fault], decision: Callable[..., Any], *breaks: str
) -> Callable[[Act], Act]:
    """Return a decorator that adds a function to the faults of a model; its docstring becomes the description.

    Args:
        faults: the faults of the model, by name.
        decision: the method of the model that the function replaces.
        breaks: ids of the clauses that it violates.
    """

    def register(act: Act) -> Act:
        name = act.__name__.replace("_", "-")
        faults[name] = Fault(
            name=name,
            breaks=breaks,
            description=(act.__doc__ or "").strip().partition("\n")[0],
            decision=decision.__name__,
            act=act,
        )
        return act

    return register


def plant(model: object, planted: Fault) -> None:
    """Give a model a fault."""
    decide = getattr(model, planted.decision)
    setattr(model, planted.decision, functools.partial(planted.act, model, decide))
