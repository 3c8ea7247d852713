"""Hypothesis' settings: a profile for each place, and what a tier changes of it.

The profile is chosen by `KAFKA_CONFORMANCE_PROFILE`, else it is `ci` where `CI` is set, else `dev`.
`explore` draws otherwise every time; `unshrunk` asks only whether a failure is found.
"""

from __future__ import annotations

import os
import secrets

from hypothesis import HealthCheck, Phase, settings

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
"""All but `explain`, which traces every line of a failing example and says nothing about bytes."""
EXAMPLES_PER_PROPERTY = 100
DEEP_EXAMPLES_PER_PROPERTY = 1000

_COMMON = settings(
    deadline=None,
    report_multiple_bugs=False,
    print_blob=True,
    max_examples=EXAMPLES_PER_PROPERTY,
    phases=PHASES,
    # Versions are drawn from all that exist; a release that serves one of six rejects five.
    suppress_health_check=[HealthCheck.filter_too_much],
)


UNSHRUNK = "unshrunk"
"""The profile that asks only whether a failure is found."""
RANDOM_SEEDS = 2**31


def place_of_run() -> str:
    """Return the name of the profile that the environment chooses."""
    return os.environ.get("KAFKA_CONFORMANCE_PROFILE") or ("ci" if os.environ.get("CI") else "dev")


def seed_for_place() -> int | None:
    """Choose a seed for a run that was given none, so that its records say how to draw the same again.

    A derandomized profile needs none, and `explore` keeps a database, which Hypothesis uses without a seed alone.
    """
    return secrets.randbelow(RANDOM_SEEDS) if place_of_run() == "dev" else None


def load_profile(tier: str, *, seed: int | None = None) -> None:
    """Register the profiles and load the one for this place, changed as the tier asks.

    Args:
        tier: "smoke" runs the pinned examples alone; "deep" draws 1000 examples instead of 100 for each property that
            does not set a number of its own.
        seed: where one is given, it decides what is drawn, whatever the profile says.
    """
    settings.register_profile("dev", parent=_COMMON)
    settings.register_profile("ci", parent=_COMMON, derandomize=True, database=None)
    settings.register_profile("explore", parent=_COMMON, derandomize=False)
    settings.register_profile(
        UNSHRUNK,
        parent=_COMMON,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
    )
    chosen = settings.get_profile(place_of_run())
    if seed is not None:
        chosen = settings(chosen, derandomize=False, database=None)
    if tier == "smoke":
        chosen = settings(chosen, phases=(Phase.explicit,))
    elif tier == "deep":
        chosen = settings(chosen, max_examples=DEEP_EXAMPLES_PER_PROPERTY)
    settings.register_profile("kafka-conformance", parent=chosen)
    settings.load_profile("kafka-conformance")
