"""How many examples Hypothesis draws for a property on a listener, both in runs and for the mutation score."""

from __future__ import annotations

from clauses.tiers import Tier

SHARE_ON_FURTHER_LISTENERS = 20
"""One example in this many runs on listeners after a target's first.

Their code differs only in its first steps. With one in ten, a complete run took 1.17 times as long.
"""


def examples_on(listener: str, listeners: tuple[str, ...], max_examples: int) -> int:
    """Return how many examples are drawn on one of a target's listeners (all come in the order of its file), besides the pinned ones."""
    if listener == listeners[0]:
        return max_examples
    return max(1, max_examples // SHARE_ON_FURTHER_LISTENERS)


CLIENT_EXAMPLES = 6
"""Examples that a property draws for a client. Each starts a process and may wait for seconds, so there are few; the
pinned examples have the main cases of every clause."""
MORE_IN_DEEP_RUNS = 10


def client_examples(max_examples: int, tier: Tier = Tier.STANDARD) -> int:
    """Return how many examples are drawn for a client in a tier, not counting the pinned ones.

    Args:
        max_examples: the property's own number of examples, which may be lower than the usual one.
        tier: the tier.
    """
    usual = min(max_examples, CLIENT_EXAMPLES)
    return usual * MORE_IN_DEEP_RUNS if tier is Tier.DEEP else usual
