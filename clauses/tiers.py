"""The three tiers, by which a run sends less or more."""

from __future__ import annotations

import enum


class Tier(enum.StrEnum):
    """How much a run sends.

    `SMOKE` runs the pinned examples alone, `STANDARD` also generated ones, and `DEEP` ten times as many of them.
    """

    SMOKE = "smoke"
    STANDARD = "standard"
    DEEP = "deep"
