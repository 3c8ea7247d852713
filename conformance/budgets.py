"""How many examples Hypothesis draws for a property on a listener, in a run and in the mutation score alike."""

from __future__ import annotations

SHARE_ON_FURTHER_LISTENERS = 10
"""One example in so many runs on the listeners behind a target's first: the code behind them is the same but
for its first steps, and a whole run has a minute."""
SETTINGS_OF_A_TEST = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test."""


def examples_on(listener: str, listeners: tuple[str, ...], *, max_examples: int) -> int:
    """Return how many examples are drawn on one of a target's listeners, beside the pinned ones.

    Args:
        listener: the listener.
        listeners: all of the target's, in the order of its file.
        max_examples: the property's own number.
    """
    if listener == listeners[0]:
        return max_examples
    return max(1, max_examples // SHARE_ON_FURTHER_LISTENERS)
