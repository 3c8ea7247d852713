"""What repeating a failure alone shows: whether it always recurs, and how often.

The class says where to look for the cause: the target's bytes, its state, the machine, or chance. A failure counts as a
violation in every class, with two exceptions, which leave open whether the target is at fault (`Repeats.leaves_open`):
it recurred in no repeat at all, or only time shows it, and a control that the machine or the broker was too slow to
judge by.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, TypedDict

from reports.records import FlakeRate

ONLY_ONE = "fails again in its only repeat"
"""Said in place of `deterministic`, which one repeat does not show."""
CONFIDENCE = 0.95
"""Share of the interval of a rate, by Wilson's formula: valid also for few repeats and for rates near 0."""
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class ShownBy(enum.StrEnum):
    """What shows a failure: bytes that came, or time in which something did not come.

    Bytes are the same on every machine.
    """

    BYTES = "bytes"
    TIME = "time"


class FailureClass(enum.StrEnum):
    """Why a failure may or may not recur."""

    DETERMINISTIC = "deterministic"
    ORDER = "order"
    LOAD = "load"
    ENVIRONMENT = "environment"
    TOO_SLOW = "too slow"
    FLAKY = "flaky"


MEANINGS = {
    FailureClass.DETERMINISTIC: "fails every time",
    FailureClass.ORDER: "fails on the broker that was judged, but not on a fresh one",
    FailureClass.LOAD: "does not fail alone, but fails together with parallel requests",
    FailureClass.ENVIRONMENT: "could not be repeated: the target, the connection to it or the machine failed",
    FailureClass.TOO_SLOW: "says nothing about the target: what it depends on was too slow",
    FailureClass.FLAKY: "fails only sometimes",
}


@dataclass(frozen=True, slots=True)
class Tally:
    """The repeats under one condition."""

    failed: int
    repeats: int

    @property
    def always(self) -> bool:
        """Whether there were repeats, and all failed."""
        return 0 < self.repeats == self.failed

    def __str__(self) -> str:
        return f"{self.failed} of {self.repeats}"


def middle_and_half(failed: Any, repeats: Any) -> tuple[Any, Any]:
    """Return the middle of the interval, and half its width.

    Args:
        failed: how many repeats failed: a number or a column of Spark.
        repeats: how many there were, more than 0: of the same type.
    """
    rate, weight = failed / repeats, _Z * _Z / repeats
    half = (weight * (rate * (1 - rate) + weight / 4)) ** 0.5 / (1 + weight)
    return (rate + weight / 2) / (1 + weight), half


def wilson_interval(failed: int, repeats: int) -> tuple[float, float]:
    """Return both ends of the interval, within 0 and 1; it is all of them if nothing was repeated."""
    if repeats == 0:
        return 0.0, 1.0
    middle, half = middle_and_half(failed, repeats)
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
        too_slow: what a control showed to be too slow next to a repeat; empty if it was fast enough.
    """

    used: Tally
    fresh: Tally | None = None
    loaded: Tally | None = None
    trouble: str = ""
    too_slow: str = ""

    @property
    def failure_class(self) -> FailureClass:
        """The class that the repeats imply; the surest evidence is checked first."""
        if self.trouble:
            return FailureClass.ENVIRONMENT
        if self.too_slow:
            return FailureClass.TOO_SLOW
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
    def leaves_open(self) -> str:
        """Why the failure is no evidence against the target; empty if it is."""
        if self.failure_class is FailureClass.TOO_SLOW:
            return self.too_slow
        if self.failure_class is FailureClass.FLAKY and not self.rate.failed:
            return f"it recurred in none of {self.rate.repeats} repeats"
        return ""

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
        if kind is FailureClass.DETERMINISTIC and sum(each.repeats for each in self.alone) == 1:
            text = f"{ONLY_ONE}: failed {seen}"
        if kind is FailureClass.FLAKY:
            rate = self.rate
            text += f"; rate {rate.rate:.2f}, 95 % interval {rate.low:.2f} to {rate.high:.2f}"
        return "; ".join(part for part in (text, self.trouble, self.too_slow) if part)


class Settled(TypedDict):
    """What the repeats of all violations of a cell say about it; see `PlannedCell`."""

    flaky: FlakeRate | None
    unproven: str


def settled(violations: Collection[tuple[str, Repeats | None]]) -> Settled:
    """Return what follows for a cell from the repeats of its violations.

    If all its violations are flaky, so is the cell. If the repeats of each leave open whether the target is at fault,
    nothing is proven; one violation that was not repeated counts.

    Args:
        violations: the first line of each, and its repeats; None if it was not repeated.
    """
    known = [(line, repeats) for line, repeats in violations if repeats is not None]
    flaky = [each for _, each in known if each.failure_class is FailureClass.FLAKY]
    doubts = {f"{line}: {each.leaves_open}": None for line, each in known if each.leaves_open}
    if len(known) < len(violations):
        return Settled(flaky=None, unproven="")
    if all(each.leaves_open for _, each in known):
        return Settled(flaky=None, unproven="; ".join(doubts))
    is_flaky = all(each in flaky or each.leaves_open for _, each in known)
    rate = rate_of([tally for each in flaky for tally in each.alone])
    return Settled(flaky=rate if is_flaky else None, unproven="")


def repeat_facts(repeats: Repeats) -> Mapping[str, Any]:
    """Return the stored form of repeats: their class, the tallies, the rate, and a sentence."""
    return {
        "class": repeats.failure_class.value,
        **asdict(repeats),
        **{"rate": asdict(repeats.rate), "sentence": str(repeats)},
    }


def stored_leave_open(repeats: Mapping[str, Any] | None) -> bool:
    """Return whether stored repeats leave open whether the target is at fault, as `Repeats.leaves_open` says.

    Args:
        repeats: what `repeat_facts` returned; None or empty if the failure was not repeated.
    """
    if not repeats:
        return False
    is_gone = not (repeats.get("rate") or {}).get("failed", 1)
    kind = repeats.get("class")
    return kind == FailureClass.TOO_SLOW or (kind == FailureClass.FLAKY and is_gone)
