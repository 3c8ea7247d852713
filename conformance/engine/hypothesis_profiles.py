"""Hypothesis's settings: profiles by environment and tier, and example counts.

A tier adjusts the profile. The counts depend on the listener or client.

`KAFKA_CONFORMANCE_PROFILE` names the profile. Without it, the profile is `ci` if `CI` is set, else `dev`.
`explore` draws different examples every time; `unshrunk` finds failures without shrinking them.
"""

from __future__ import annotations

import os
import secrets

from hypothesis import HealthCheck, Phase, settings

from clauses.tiers import Tier

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
"""All but `explain`, which traces every line of a failing example and cannot explain bytes."""
EXAMPLES_PER_PROPERTY = 100
DEEP_EXAMPLES_PER_PROPERTY = 1000

_COMMON = settings(
    deadline=None,
    report_multiple_bugs=False,
    print_blob=True,
    max_examples=EXAMPLES_PER_PROPERTY,
    phases=PHASES,
    # Versions are drawn from all existing ones; a release that serves only one of six rejects five of six examples.
    suppress_health_check=[HealthCheck.filter_too_much],
)


UNSHRUNK = "unshrunk"
"""The profile that only finds failures, without shrinking them."""
RANDOM_SEEDS = 2**31


SHARE_ON_FURTHER_LISTENERS = 20
"""One example in this many runs on listeners after a target's first.

Their code differs only in its first steps. With one in ten, a complete run took 1.17 times as long.
"""
CLIENT_EXAMPLES = 6
"""Examples that a property draws for a client. Each starts a process and may wait for seconds, so there are few; the
pinned examples have the main cases of every clause."""
MORE_IN_DEEP_RUNS = 10


def profile_name() -> str:
    """Return the name of the profile that the environment selects."""
    return os.environ.get("KAFKA_CONFORMANCE_PROFILE") or ("ci" if os.environ.get("CI") else "dev")


def recorded_seed() -> int | None:
    """Choose a seed for a run without one, so that its records say how to draw the same examples again.

    A derandomized profile needs no seed. `explore` keeps a database, which Hypothesis uses only without a seed.
    """
    return secrets.randbelow(RANDOM_SEEDS) if profile_name() == "dev" else None


def own_seed(property_name: str, seed: int) -> str:
    """Return the seed of one property of brokers in a run with a seed.

    With one seed for all, properties with the same strategy would send the same requests.
    """
    return f"{seed} {property_name}"


def load_profile(tier: Tier, *, seed: int | None = None) -> None:
    """Register the profiles, and load the one for this environment with the tier's changes.

    Args:
        tier: `SMOKE` runs the pinned examples alone; `DEEP` draws 1000 examples instead of 100 for each property that
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
    chosen = settings.get_profile(profile_name())
    if seed is not None:
        chosen = settings(chosen, derandomize=False, database=None)
    if tier is Tier.SMOKE:
        chosen = settings(chosen, phases=(Phase.explicit,))
    elif tier is Tier.DEEP:
        chosen = settings(chosen, max_examples=DEEP_EXAMPLES_PER_PROPERTY)
    settings.register_profile("kafka-conformance", parent=chosen)
    settings.load_profile("kafka-conformance")


def examples_on(listener: str, listeners: tuple[str, ...], max_examples: int) -> int:
    """Return how many examples are drawn on one of a target's listeners.

    Pinned examples do not count. `listeners` has all listeners in the order of the target's file.
    """
    if listener == listeners[0]:
        return max_examples
    return max(1, max_examples // SHARE_ON_FURTHER_LISTENERS)


def client_examples(max_examples: int, tier: Tier = Tier.STANDARD) -> int:
    """Return how many examples are drawn for a client in a tier, not counting the pinned ones.

    Args:
        max_examples: the property's own number of examples, which may be lower than the usual one.
        tier: the tier.
    """
    usual = min(max_examples, CLIENT_EXAMPLES)
    return usual * MORE_IN_DEEP_RUNS if tier is Tier.DEEP else usual
