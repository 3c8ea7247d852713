"""Tests of the verdict of a cell against literals.

They also check cells with a single failure, and numbers as readers see them.
"""

from __future__ import annotations

import pytest

from reports.records import Verdict, cell_verdict, failure_verdict
from reports.wording.verdict_labels import BROKER_DOUBT, percent, with_doubts

CONFORMS, VIOLATES = Verdict.CONFORMS, Verdict.VIOLATES
NOTE, DOUBT = Verdict.INFORMATIONAL, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("verdicts", "plain", "declared"),
    [
        pytest.param(set(), Verdict.NOT_RUN, Verdict.NOT_RUN, id="none"),
        pytest.param({CONFORMS}, CONFORMS, Verdict.UNEXPECTED_PASS, id="conforms"),
        pytest.param({CONFORMS, NOTE}, NOTE, Verdict.UNEXPECTED_PASS, id="note"),
        pytest.param({CONFORMS, NOTE, DOUBT}, DOUBT, DOUBT, id="doubt"),
        pytest.param({CONFORMS, VIOLATES}, VIOLATES, Verdict.KNOWN_VIOLATION, id="violates"),
        pytest.param({VIOLATES, NOTE, DOUBT}, VIOLATES, DOUBT, id="violates-with-doubt"),
    ],
)
def test_the_worst_verdict_counts(verdicts: set[Verdict], plain: Verdict, declared: Verdict) -> None:
    """A declared violation does not hide that something could not be judged."""
    assert cell_verdict(verdicts, applicable=True, known_violation=False) is plain
    assert cell_verdict(verdicts, applicable=True, known_violation=True) is declared
    left_out = cell_verdict(verdicts, applicable=False, known_violation=False)
    assert left_out is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("verdicts", "known_violation", "expected"),
    [
        pytest.param({VIOLATES}, False, Verdict.FLAKY, id="violates"),
        pytest.param({VIOLATES}, True, Verdict.KNOWN_VIOLATION, id="declared"),
        pytest.param({CONFORMS}, False, CONFORMS, id="conforms"),
    ],
)
def test_only_an_undeclared_violation_is_flaky(
    verdicts: set[Verdict], known_violation: bool, expected: Verdict
) -> None:
    verdict = cell_verdict(verdicts, applicable=True, known_violation=known_violation, flaky=True)
    assert verdict is expected


@pytest.mark.parametrize("flaky", [True, False])
@pytest.mark.parametrize(
    ("verdicts", "known_violation", "expected"),
    [
        pytest.param({VIOLATES, CONFORMS}, False, DOUBT, id="violates"),
        pytest.param({VIOLATES}, True, Verdict.KNOWN_VIOLATION, id="declared"),
        pytest.param({CONFORMS}, False, CONFORMS, id="conforms"),
    ],
)
def test_violation_that_repeats_leave_open_is_inconclusive(
    verdicts: set[Verdict], known_violation: bool, expected: Verdict, flaky: bool
) -> None:
    verdict = cell_verdict(verdicts, applicable=True, known_violation=known_violation, flaky=flaky, unproven=True)
    assert verdict is expected


def test_failure_of_an_unproven_cell_is_inconclusive() -> None:
    """The page of a failure says the same as its cell."""
    verdict = failure_verdict(VIOLATES, known_violation=False, flaky=False, unproven=True)
    assert verdict is DOUBT
    note = failure_verdict(NOTE, known_violation=False, flaky=False, unproven=True)
    assert note is NOTE


@pytest.mark.parametrize(
    ("verdict", "known_violation", "flaky", "expected"),
    [
        pytest.param(VIOLATES, False, False, VIOLATES, id="violates"),
        pytest.param(VIOLATES, False, True, Verdict.FLAKY, id="flaky"),
        pytest.param(VIOLATES, True, False, Verdict.KNOWN_VIOLATION, id="declared"),
        pytest.param(NOTE, True, False, NOTE, id="note-in-a-declared-cell"),
    ],
)
def test_a_declaration_covers_only_what_violates(
    verdict: Verdict, known_violation: bool, flaky: bool, expected: Verdict
) -> None:
    """An informational failure remains one, whatever the registry declares."""
    assert failure_verdict(verdict, known_violation=known_violation, flaky=flaky) is expected


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        pytest.param(0.0, "0%", id="never"),
        pytest.param(0.004, "<1%", id="rare"),
        pytest.param(0.01, "1%", id="one"),
        pytest.param(0.15, "15%", id="sometimes"),
        pytest.param(1.0, "100%", id="always"),
    ],
)
def test_rare_is_not_never(rate: float, text: str) -> None:
    """A rate is shown in whole percent, but a small one is never 0 %."""
    assert percent(rate) == text


def test_doubts_follow_the_first_line() -> None:
    """A message without doubts is shown by its first line alone."""
    doubt = f"{BROKER_DOUBT}it lies"
    assert with_doubts(f"it hangs\n{doubt}\nthe play") == f"it hangs; {doubt}"
    assert with_doubts("it hangs\nthe play") == "it hangs"
    assert with_doubts("") == ""
