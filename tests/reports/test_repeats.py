"""What repeats of a failure show, and how certain that is."""

from __future__ import annotations

import pytest

from reports.repeats import (
    FailureClass,
    Repeats,
    Tally,
    rate_of,
    repeat_facts,
    settled,
    stored_leave_open,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("failed", "repeats", "low", "high"),
    # Computed with another implementation of Wilson's interval without continuity correction.
    [
        (0, 10, 0.0, 0.2775),
        (3, 10, 0.1078, 0.6032),
        (10, 10, 0.7225, 1.0),
        (12, 40, 0.1807, 0.4543),
    ],
)
def test_interval_is_wilsons(failed: int, repeats: int, low: float, high: float) -> None:
    """The 95 % interval holds for few repeats and at both ends."""
    assert wilson_interval(failed, repeats) == pytest.approx((low, high), abs=1e-4)


def test_no_repeat_says_nothing() -> None:
    """Without repeats every rate is possible."""
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert rate_of(()).repeats == 0


ALL, NONE, SOME = Tally(10, 10), Tally(0, 40), Tally(12, 40)


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [
        (Repeats(used=ALL), FailureClass.DETERMINISTIC),
        (Repeats(used=ALL, fresh=ALL), FailureClass.DETERMINISTIC),
        (Repeats(used=ALL, fresh=NONE), FailureClass.ORDER),
        (Repeats(used=ALL, fresh=SOME), FailureClass.FLAKY),
        (Repeats(used=SOME), FailureClass.FLAKY),
        (Repeats(used=NONE, fresh=NONE, loaded=SOME), FailureClass.LOAD),
        (Repeats(used=NONE, fresh=NONE, loaded=NONE), FailureClass.FLAKY),
        (Repeats(used=NONE, fresh=SOME), FailureClass.FLAKY),
        (Repeats(used=ALL, trouble="gone"), FailureClass.ENVIRONMENT),
        (Repeats(used=ALL, too_slow="busy"), FailureClass.TOO_SLOW),
        (Repeats(used=NONE, too_slow="busy"), FailureClass.TOO_SLOW),
    ],
    ids=str,
)
def test_class_follows_from_the_tallies(repeats: Repeats, expected: FailureClass) -> None:
    """Each combination of outcomes has one class, and the sentence names it."""
    assert repeats.failure_class is expected
    assert str(repeats).startswith(expected.value)
    assert repeat_facts(repeats)["class"] == expected.value


@pytest.mark.parametrize(
    ("repeats", "sentence"),
    [
        (Repeats(used=Tally(1, 1)), "fails again in its only repeat: failed 1 of 1 again"),
        (Repeats(used=Tally(2, 2)), "deterministic (fails every time): failed 2 of 2 again"),
        (
            Repeats(used=Tally(1, 1), fresh=Tally(1, 1)),
            "deterministic (fails every time): failed 1 of 1 again, 1 of 1 on a fresh broker",
        ),
    ],
)
def test_one_repeat_is_not_every_time(repeats: Repeats, sentence: str) -> None:
    """The sentence says how many repeats there were."""
    assert str(repeats) == sentence


def test_rate_is_of_both_brokers() -> None:
    """The rate counts only repeats, on the used broker and on the fresh one."""
    rate = Repeats(used=SOME, fresh=SOME, loaded=ALL).rate
    assert (rate.failed, rate.repeats, rate.rate) == (24, 80, 0.3)


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [
        (Repeats(used=NONE), "it recurred in none of 40 repeats"),
        (Repeats(used=NONE, fresh=NONE, loaded=NONE), "it recurred in none of 80 repeats"),
        (Repeats(used=NONE, fresh=NONE, loaded=SOME), ""),
        (Repeats(used=ALL, too_slow="busy"), "busy"),
        (Repeats(used=SOME), ""),
        (Repeats(used=ALL), ""),
        (Repeats(used=NONE, trouble="gone"), ""),
    ],
    ids=str,
)
def test_only_two_classes_leave_open_who_is_at_fault(repeats: Repeats, expected: str) -> None:
    """A failure that recurs at all counts, unless a control was too slow; the stored form says the same."""
    assert repeats.leaves_open == expected
    assert stored_leave_open(repeat_facts(repeats)) is bool(expected)


GONE, AGAIN, BUSY = (
    ("gone", Repeats(used=NONE)),
    ("again", Repeats(used=SOME)),
    ("busy", Repeats(used=ALL, too_slow="too busy")),
)
UNPROVEN = "gone: it recurred in none of 40 repeats; busy: too busy"


@pytest.mark.parametrize(
    ("violations", "is_flaky", "unproven"),
    [
        ([GONE, BUSY], False, UNPROVEN),
        ([AGAIN], True, ""),
        ([GONE, AGAIN], True, ""),
        ([BUSY, AGAIN], True, ""),
        ([GONE, ("always", Repeats(used=ALL))], False, ""),
        ([GONE, ("not repeated", None)], False, ""),
        ([AGAIN, ("not repeated", None)], False, ""),
    ],
)
def test_one_violation_that_counts_settles_a_cell(
    violations: list[tuple[str, Repeats | None]], is_flaky: bool, unproven: str
) -> None:
    """Only if each violation of a cell leaves open who is at fault, nothing is proven."""
    found = settled(violations)
    assert (found["flaky"] is not None, found["unproven"]) == (is_flaky, unproven)
