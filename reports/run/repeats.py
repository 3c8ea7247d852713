"""What repeating a failure alone shows: whether it always recurs and, if not, how often.

Nothing is excused here. Every class but `FLAKY` leaves a cell violated, and a flaky cell fails the run as well. The
class says where to look for the cause: the target's bytes, its state, the machine, or chance.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

from reports.records import FlakeRate

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class FailureClass(enum.StrEnum):
    """Why a failure may or may not recur."""

    DETERMINISTIC = "deterministic"
    ORDER = "order"
    LOAD = "load"
    ENVIRONMENT = "environment"
    FLAKY = "flaky"


MEANINGS = {
    FailureClass.DETERMINISTIC: "fails every time",
    FailureClass.ORDER: "fails on the broker that was judged, but not on a fresh one",
    FailureClass.LOAD: "does not fail alone, but fails together with parallel requests",
    FailureClass.ENVIRONMENT: "could not be repeated: the target or the connection to it failed",
    FailureClass.FLAKY: "fails only sometimes",
}


@dataclass(frozen=True, slots=True)
class Tally:
    """The repeats under one condition.

    Attributes:
        failed: how many failed.
        repeats: how many were made.
    """

    failed: int
    repeats: int

    @property
    def always(self) -> bool:
        """Whether there were repeats, and all failed."""
        return 0 < self.repeats == self.failed

    def __str__(self) -> str:
        return f"{self.failed} of {self.repeats}"


def wilson_interval(failed: int, repeats: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate by Wilson's formula, valid also for few repeats and rates near 0."""
    if repeats == 0:
        return 0.0, 1.0
    rate, weight = failed / repeats, _Z * _Z / repeats
    middle = (rate + weight / 2) / (1 + weight)
    half = (weight * (rate * (1 - rate) + weight / 4)) ** 0.5 / (1 + weight)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def rate_of(tallies: Collection[Tally]) -> FlakeRate:
    """Return the rate of all repeats together, with its interval."""
    failed = sum(tally.failed for tally in tallies)
    repeats = sum(tally.repeats for tally in tallies)
    low, high = wilson_interval(failed, repeats)
    rate = failed / repeats if repeats else 0.0
    return FlakeRate(
        failed=failed,
        repeats=repeats,
        rate=round(rate, 4),
        low=round(low, 4),
        high=round(high, 4),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often one failure recurred.

    Attributes:
        used: on the judged broker, alone.
        fresh: on a broker started for the repeats, alone; None if the suite did not start the target.
        loaded: on the judged broker, with other requests in parallel; None if not tried.
        trouble: what prevented the repeats; empty if nothing did.
    """

    used: Tally
    fresh: Tally | None = None
    loaded: Tally | None = None
    trouble: str = ""

    @property
    def failure_class(self) -> FailureClass:
        """The class that the repeats imply; the surest evidence is checked first."""
        if self.trouble:
            return FailureClass.ENVIRONMENT
        if self.used.always:
            if self.fresh is None or self.fresh.always:
                return FailureClass.DETERMINISTIC
            if self.fresh.failed == 0:
                return FailureClass.ORDER
        calm = self.used.failed == 0 and (self.fresh is None or self.fresh.failed == 0)
        if calm and self.loaded is not None and self.loaded.failed:
            return FailureClass.LOAD
        return FailureClass.FLAKY

    @property
    def rate(self) -> FlakeRate:
        """How often it failed alone, on either broker."""
        return rate_of(self.alone)

    @property
    def alone(self) -> tuple[Tally, ...]:
        """The tallies of repeats without parallel requests."""
        return (self.used,) if self.fresh is None else (self.used, self.fresh)

    def __str__(self) -> str:
        named = {"again": self.used, "on a fresh broker": self.fresh, "under load": self.loaded}
        seen = ", ".join(f"{tally} {name}" for name, tally in named.items() if tally is not None)
        kind = self.failure_class
        text = f"{kind.value} ({MEANINGS[kind]}): failed {seen}"
        if kind is FailureClass.FLAKY:
            rate = self.rate
            text += f"; rate {rate.rate:.2f}, 95 % interval {rate.low:.2f} to {rate.high:.2f}"
        return f"{text}; {self.trouble}" if self.trouble else text


def repeat_facts(repeats: Repeats) -> Mapping[str, Any]:
    """Return the stored form of repeats: their class, the tallies, the rate, and a sentence."""
    return {
        "class": repeats.failure_class.value,
        **asdict(repeats),
        **{"rate": asdict(repeats.rate), "sentence": str(repeats)},
    }
