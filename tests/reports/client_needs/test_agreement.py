"""What two measurements do not agree on is unclear, and never a need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reports.client_needs.agreement import NotComparable, agreement_of, check_comparable
from reports.client_needs.needs import ApiNeeds, ClientNeeds, Edge, OperationNeeds, Probe, ProbeOutcome
from reports.client_needs.needs_document import needs_document
from reports.document.markdown_form import markdown
from tests.reports.client_needs.measured import FETCH, HUNGRY, JOIN_GROUP, METADATA, MODEST, PRODUCE, UNSTABLE

assert PRODUCE.minimum is not None
assert PRODUCE.minimum.failure is not None
REMOVED = replace(PRODUCE.removed, detail="another error, at 10:15")
OTHER_WORDS = replace(PRODUCE, removed=REMOVED)


def produce(*apis: ApiNeeds, unclear: Sequence[Probe] = (), inconclusive: str = "") -> ClientNeeds:
    """Return needs of the operation produce."""
    operation = OperationNeeds(operation="produce", apis=apis, unclear=tuple(unclear), inconclusive=inconclusive)
    return replace(MODEST, operations=(operation,))


def test_two_measurements_that_agree_are_one_that_counts_twice() -> None:
    agreement = agreement_of(HUNGRY, HUNGRY)
    assert agreement.needs == replace(HUNGRY, measurements=2)
    assert (agreement.agreeing, agreement.differing) == (5, 0)


def test_other_words_of_an_error_are_no_difference() -> None:
    agreement = agreement_of(produce(PRODUCE), produce(OTHER_WORDS))
    assert (agreement.agreeing, agreement.differing) == (1, 0)
    assert [each.what for each in agreement.needs.hidden] == ["Produce v0"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(None, id="it is not there"),
        pytest.param(replace(PRODUCE, used=(9, 10)), id="sends another version"),
        pytest.param(replace(PRODUCE, minimum=replace(PRODUCE.minimum, version=3)), id="another version is the last"),
        pytest.param(
            replace(PRODUCE, minimum=replace(PRODUCE.minimum, is_monotone=not PRODUCE.minimum.is_monotone)), id="gaps"
        ),
        pytest.param(replace(PRODUCE, minimum=Edge(version=0)), id="no limit"),
        pytest.param(
            replace(
                PRODUCE,
                minimum=replace(PRODUCE.minimum, failure=replace(PRODUCE.minimum.failure, outcome=ProbeOutcome.BREAKS)),
            ),
            id="another outcome beyond the last",
        ),
        pytest.param(replace(PRODUCE, maximum=Edge(version=3)), id="another maximum"),
        pytest.param(
            replace(PRODUCE, removed=replace(REMOVED, outcome=ProbeOutcome.WORKS)), id="works without the API"
        ),
    ],
)
def test_row_that_differs_is_unstable_and_no_need(other: ApiNeeds | None) -> None:
    row = (other,) if other else ()
    for earlier, later in (((PRODUCE,), row), (row, (PRODUCE,))):
        agreement = agreement_of(produce(METADATA, *earlier), produce(METADATA, *later))
        (operation,) = agreement.needs.operations
        assert (operation.apis, agreement.agreeing, agreement.differing) == ((METADATA,), 1, 1)
        assert not agreement.needs.hidden
        (unclear,) = operation.unclear
        assert (unclear.removed, unclear.outcome) == ("versions of Produce taken away", ProbeOutcome.UNSTABLE)


def test_difference_has_the_words_of_both_measurements() -> None:
    agreement = agreement_of(produce(PRODUCE, JOIN_GROUP), produce(JOIN_GROUP, FETCH))
    assert [each.detail for each in agreement.needs.operations[0].unclear] == [
        "measurements differ: it neither sends nor needs it; it never sends it, works with a minimum of at most v17, "
        "without the API: breaks",
        "measurements differ: it sends v10, works with a minimum of at most v0 (with gaps), works with a maximum of at "
        "least v0, without the API: breaks; it neither sends nor needs it",
    ]
    text = markdown(needs_document([agreement.needs]))
    assert "2 measurements agree on this. What differs is unstable, and no need." in text
    assert "produce: with versions of Produce taken away unstable: measurements differ: it sends v10" in text


def test_what_was_unclear_once_stays_unclear() -> None:
    other = replace(UNSTABLE, removed="no SyncGroup")
    agreement = agreement_of(produce(METADATA, unclear=[UNSTABLE]), produce(METADATA, unclear=[other]))
    assert agreement.needs.operations[0].unclear == (UNSTABLE, other)


def test_row_that_differed_is_no_need_after_a_third_measurement() -> None:
    twice = agreement_of(produce(PRODUCE), produce()).needs
    thrice = agreement_of(twice, produce(PRODUCE)).needs
    assert (thrice.measurements, thrice.hidden) == (3, ())


@pytest.mark.parametrize("first", [True, False])
def test_operation_that_was_inconclusive_once_is_inconclusive(first: bool) -> None:
    measurements = [produce(inconclusive="it works in 2 of 3 runs"), produce(PRODUCE)]
    earlier, later = measurements if first else reversed(measurements)
    (operation,) = agreement_of(earlier, later).needs.operations
    assert operation == OperationNeeds(operation="produce", inconclusive="it works in 2 of 3 runs")


def test_only_operations_that_are_measured_again_are_compared() -> None:
    assert agreement_of(HUNGRY, MODEST).needs.operations == MODEST.operations


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        pytest.param(None, "nothing was measured of modest", id="other client"),
        pytest.param(
            replace(MODEST, release="apache-kafka-4.4.0"),
            "modest was measured with apache-kafka-4.4.0, not with scripted broker",
            id="other release",
        ),
        pytest.param(
            replace(MODEST, operations=(OperationNeeds(operation="consume"),)),
            "modest was measured in consume, but not in metadata",
            id="other operation",
        ),
    ],
)
def test_measurement_of_something_else_is_not_compared(earlier: ClientNeeds | None, message: str) -> None:
    with pytest.raises(NotComparable) as raised:
        check_comparable("modest", "scripted broker", ["metadata"], earlier)
    assert str(raised.value) == message
