"""The registry of planted faults of the model client.

A fault is one function. It stands in for one decision of `ModelClient`, and names the clauses that it breaks.
`--client model+<name>` runs the model client with the fault, and exactly those clauses must fail.

The function gets the client, the decision that it replaces (`decide`), and the decision's own arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reference_model.clients.model_client import ModelClient

Act = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A planted fault.

    Attributes:
        name: the name after `model+`.
        breaks: ids of the clauses that it violates.
        description: what the client does wrong, in one sentence.
        decision: the method of `ModelClient` that it replaces.
        act: what replaces it.
    """

    name: str
    breaks: tuple[str, ...]
    description: str
    decision: str
    act: Act


FAULTS: dict[str, Fault] = {}
"""Every planted fault, by name."""


def fault(decision: Callable[..., Any], *breaks: str) -> Callable[[Act], Act]:
    """Register the decorated function as a fault; its docstring becomes the description.

    Args:
        decision: the method of `ModelClient` that it replaces.
        breaks: ids of the clauses that it violates.
    """

    def register(act: Act) -> Act:
        name = act.__name__.replace("_", "-")
        FAULTS[name] = Fault(
            name=name,
            breaks=breaks,
            description=(act.__doc__ or "").strip().partition("\n")[0],
            decision=decision.__name__,
            act=act,
        )
        return act

    return register


def plant(client: ModelClient, planted: Fault) -> None:
    """Give a client a fault."""
    decide = getattr(client, planted.decision)
    setattr(client, planted.decision, functools.partial(planted.act, client, decide))
