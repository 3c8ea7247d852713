"""Finds the scripts that properties will draw for a client, so that their plays can begin before they are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pytest

from clauses.tiers import Tier
from conformance.engine.budgets import client_examples
from conformance.engine.overlapping import JUDGE_EXAMPLE
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.scripts.script import Script
from strategies.hypothesis_adapter import max_examples_changed


def scripts_of(
    items: Iterable[pytest.Item], client: ClientUnderTest, *, tier: Tier
) -> tuple[Script, ...]:
    """Return the scripts that properties draw, in the order in which they will be judged, each once.

    Every property is run once with a body that only collects. Its seed is the same when it is judged, so Hypothesis
    draws the same examples again, until one of them fails; what is drawn after that is played when it is drawn.
    """
    found: dict[Script, None] = {}

    def collect(body: Callable[..., None], values: Mapping[str, Any]) -> None:
        found.update((value, None) for value in values.values() if isinstance(value, Script))

    token = JUDGE_EXAMPLE.set(collect)
    try:
        for item in items:
            test = item.obj  # type: ignore[attr-defined]
            with max_examples_changed(test, partial(client_examples, tier=tier)):
                test(client=client)
    finally:
        JUDGE_EXAMPLE.reset(token)
    return tuple(found)
