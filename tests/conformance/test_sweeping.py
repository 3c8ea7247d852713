"""Each item of a sweep has a record, and items with one problem are one failure.

Of items that are tried at the same time, what conforms is taken, and all else is tried again alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.errors import JudgedElsewhere, Unjudged
from conformance.assertions.items import Item, Problem, Refusal, named_in, names_of, ranges
from conformance.engine.sweeping import AT_ONCE, ENDS_ALONE, SILENT_ITEMS, Sweep, tried_ahead
from fixtures.errors import BrokerGone, HarnessError, OutOfPatience
from tests.clauses.properties import properties_in
from tests.conformance.judged_properties import JudgedBroker
from wire.exchange import Exchange, Outcome, Request, Step
from wire.headers import RequestHeader

ITEMS = [Item("Produce", 0, version) for version in range(4)] + [Item("Fetch", 1, 2)]
HEADER = RequestHeader(request_api_key=0, request_api_version=0, correlation_id=7)


@dataclass
class SweptBroker(JudgedBroker):
    """The part of a broker that a sweep uses, which answers as a test says."""

    def apart(self) -> SweptBroker:
        """Return another one, for a thread."""
        return SweptBroker()

    def note(self, outcome: Outcome) -> Exchange:
        """Write one exchange into the journal."""
        exchange = Exchange(request=Request(data=b"", header=HEADER), outcome=outcome)
        self.journal.append(Step(connection=0, exchanges=(exchange,)))
        return exchange


class RecordingJudge:
    """Replaces a judge and records its calls."""

    is_thorough = False

    def __init__(self, *declared: str) -> None:
        self.declared = list(declared)
        self.conforming = 0
        self.noted: list[str] = []
        self.failures: list[tuple[str, Item]] = []
        self.left_out: list[str] = []
        self.not_judged: list[str] = []
        self.ended: BrokerGone | None = None

    def conforms(self, exchanges: Sequence[Exchange]) -> None:
        """Count the exchanges."""
        self.conforming += len(exchanges)

    def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
        """Keep one."""
        assert steps
        self.noted.append(str(error))

    def differs(self, error: AssertionError, steps: tuple[Step, ...], example: Any) -> None:
        """Record the failure."""
        assert steps
        self.failures.append((str(error), example.values["item"]))

    def blame_for_stop(self, values: Any) -> bool:
        """Take every target for one that still serves."""
        return False

    def elsewhere(self, error: BaseException | None) -> JudgedElsewhere | None:
        """Return a reason for causes that begin with "elsewhere"."""
        return JudgedElsewhere(str(error)) if str(error).startswith("elsewhere") else None

    def judged_elsewhere(self, reason: JudgedElsewhere) -> None:
        """Keep the reason."""
        self.not_judged.append(str(reason))

    def leaves_out(self, what: str, *, is_bound: bool = False) -> None:
        """Keep it."""
        self.left_out.append(what)

    def blame_for_end(self, gone: BrokerGone, values: object) -> BrokerGone:
        """Keep how the target ended."""
        self.ended = gone
        return gone

    def raise_first(self) -> None:
        """Raise an error if anything failed."""
        assert not self.failures


def run(
    outcomes: dict[Item, str], items: Sequence[Item] = ITEMS, *, declared: Sequence[str] = ()
) -> tuple[RecordingJudge, str]:
    """Sweep items, some of which fail with the given text or end the broker; return the judge and the error."""
    judge, broker = RecordingJudge(*declared), SweptBroker()
    refused: list[Item] = []

    def check(_: object, item: Item) -> Exchange:
        what = outcomes.get(item, "")
        exchange = broker.note(Outcome.SILENT if what == "silent" else Outcome.ANSWER)
        if what == "gone":
            raise BrokerGone("it ended")
        if what.startswith("noted"):
            raise Unjudged(what)
        if what.startswith("refused"):
            refused.append(item)
            if refused.count(item) > 1 and "at first" in what:
                return exchange
            raise Refusal(what)
        if what == "late":
            raise OutOfPatience("used up")
        if what == "not about it":
            raise UnsatisfiedAssumption
        if what:
            raise Problem(what, "details") from ValueError(what)
        return exchange

    try:
        Sweep(lambda _: items, check).judge_all(judge, broker)  # type: ignore[arg-type]
    except (AssertionError, HarnessError) as error:
        return judge, type(error).__name__ + f": {error}"
    return judge, ""


def test_items_that_hold_are_recorded_one_by_one() -> None:
    """A sweep without failures records each item and raises nothing."""
    judge, ended = run({})
    assert (judge.conforming, judge.failures, ended) == (len(ITEMS), [], "")


@pytest.mark.parametrize("is_thorough", [True, False])
def test_ends_of_ranges_are_enough_where_only_tls_differs(is_thorough: bool) -> None:
    """A sweep of ranges then checks one version of an API that has only one, else two, and says so."""
    judge, broker = RecordingJudge(), SweptBroker()
    judge.is_thorough = is_thorough
    checked: list[Item] = []

    def check(_: object, item: Item) -> Exchange:
        checked.append(item)
        return broker.note(Outcome.ANSWER)

    Sweep(lambda _: ITEMS, check, is_of_ranges=True).judge_all(judge, broker)  # type: ignore[arg-type]
    ends = [ITEMS[0], ITEMS[3], ITEMS[4]]
    assert (checked, judge.left_out) == ((ITEMS, []) if is_thorough else (ends, [ENDS_ALONE]))


def test_all_that_fail_are_named_although_ends_are_enough() -> None:
    """If an end fails, the whole range of its API is checked, and the failure has the words that it has elsewhere."""
    judge, broker = RecordingJudge(), SweptBroker()

    def check(_: object, item: Item) -> Exchange:
        exchange = broker.note(Outcome.CLOSED)
        if item in ITEMS[:3]:
            raise Problem("closed", "details")
        return exchange

    sweep = Sweep(lambda _: ITEMS, check, is_of_ranges=True)
    with pytest.raises(AssertionError):
        sweep.judge_all(judge, broker)  # type: ignore[arg-type]
    assert {message for message, _ in judge.failures} == {"Produce v0-v2: closed\ndetails"}


def test_what_another_clause_judges_is_neither_red_nor_green() -> None:
    judge, ended = run({ITEMS[0]: "not about it", ITEMS[1]: "elsewhere", ITEMS[2]: "closed"})
    assert judge.not_judged == ["elsewhere"]
    assert [item for _, item in judge.failures] == [ITEMS[2]]
    assert judge.conforming == len(ITEMS) - 3
    assert ended.startswith("AssertionError")


def test_what_fails_alike_is_one_failure_of_all_its_items() -> None:
    """Items with the same problem share a first line, and the smallest of them comes last."""
    judge, ended = run({ITEMS[0]: "closed", ITEMS[1]: "closed", ITEMS[4]: "cut", ITEMS[3]: "closed"})
    message = "Produce v0-v1, v3: closed\ndetails"
    assert judge.failures == [
        (message, ITEMS[3]),
        (message, ITEMS[1]),
        (message, ITEMS[0]),
        ("Fetch v2: cut\ndetails", ITEMS[4]),
    ]
    assert judge.conforming == 1
    assert ended.startswith("AssertionError")


@pytest.mark.parametrize(
    ("declared", "lines"),
    [
        pytest.param((), ["Produce v0-v2, Fetch v2"], id="nothing"),
        pytest.param(("^Produce v0-v1: closed\n",), ["Produce v2, Fetch v2", "Produce v0-v1"], id="versions"),
        pytest.param(("^Fetch v2: closed\n",), ["Produce v0-v2", "Fetch v2"], id="an API"),
        pytest.param(
            ("^Fetch v2: closed\n", "^Produce v0: closed\n"),
            ["Produce v1-v2", "Produce v0", "Fetch v2"],
            id="two declarations",
        ),
        pytest.param(("^Produce v0-v1: cut\n",), ["Produce v0-v2, Fetch v2"], id="another fault"),
        pytest.param(("^Produce v0-v3: closed\n",), ["Produce v0-v2, Fetch v2"], id="more versions"),
        pytest.param(("^Produce v0-v2, Fetch v2: closed\n",), ["Produce v0-v2, Fetch v2"], id="all"),
    ],
)
def test_what_is_declared_has_a_line_of_its_own(declared: tuple[str, ...], lines: list[str]) -> None:
    """An item that fails like declared ones is another failure, so that one more version hides in no declaration."""
    closed = dict.fromkeys((*ITEMS[:3], ITEMS[4]), "closed")
    judge, _ = run(closed, declared=declared)
    messages = dict.fromkeys(message.partition(":")[0] for message, _ in judge.failures)
    assert list(messages) == lines


def test_a_refusal_that_ends_is_noted() -> None:
    """A refused item is requested again after all others: if it is served then, that is no failure."""
    judge, ended = run({ITEMS[0]: "refused at first", ITEMS[1]: "refused always"})
    assert judge.noted == ["Produce v0: refused at first; served when it was requested again"]
    assert judge.failures == [("Produce v1: refused always", ITEMS[1])]
    assert judge.conforming == len(ITEMS) - 2
    assert ended.startswith("AssertionError")


def test_what_is_noted_is_no_failure() -> None:
    """The note names its item, and all other items are judged."""
    judge, ended = run({ITEMS[1]: "noted: served late"})
    assert judge.noted == ["Produce v1: noted: served late"]
    assert (judge.conforming, judge.failures, ended) == (len(ITEMS) - 1, [], "")


def test_target_that_is_silent_is_not_asked_for_ever() -> None:
    """A sweep ends after a few silent items, which are enough to prove the failure."""
    items = [Item("Produce", 0, version) for version in range(100)]
    judge, _ = run(dict.fromkeys(items, "silent"), items)
    assert len(judge.failures) == SILENT_ITEMS


def test_failures_before_the_end_of_a_broker_count() -> None:
    """If the broker ends, earlier failures are recorded, and the error names the item that ended it."""
    judge, ended = run({ITEMS[0]: "closed", ITEMS[2]: "gone"})
    assert [item for _, item in judge.failures] == [ITEMS[0]]
    assert ended == "BrokerGone: requesting Produce v2: it ended"


def test_failures_stand_when_patience_ends() -> None:
    """The sweep says what it leaves out; one that has found nothing yet is a doubt."""
    judge, ended = run({ITEMS[0]: "silent", ITEMS[2]: "late"})
    assert [item for _, item in judge.failures] == [ITEMS[0]]
    assert len(judge.left_out) == 1
    assert ended.startswith("AssertionError")
    judge, ended = run({ITEMS[2]: "late"})
    assert (judge.conforming, ended) == (2, "OutOfPatience: requesting Produce v2: used up")


def test_the_end_of_a_target_that_is_not_ours_ends_the_sweep() -> None:
    """The judge gets to know of it, and says why nothing more can be asked."""
    judge, ended = run({ITEMS[2]: "gone"})
    assert (judge.conforming, str(judge.ended)) == (2, "it ended")
    assert ended == "BrokerGone: requesting Produce v2: it ended"


def test_an_item_is_checked_again_if_the_target_was_away() -> None:
    """Something in front of it closed the connection; what the target does when it is back counts."""
    judge, broker = RecordingJudge(), SweptBroker()
    broker.is_away = True

    def check(_: object, item: Item) -> Exchange:
        exchange = broker.note(Outcome.ANSWER)
        if broker.is_away:
            raise Problem("closed", "details") from ValueError("closed")
        return exchange

    Sweep(lambda _: ITEMS, check).judge_all(judge, broker)  # type: ignore[arg-type]
    assert (judge.conforming, judge.failures) == (len(ITEMS), [])


def test_an_end_that_comes_a_moment_after_the_answer_is_a_crash() -> None:
    """The item that ended the target is found again on a fresh one, and the sweep continues."""
    judge, broker = RecordingJudge(), SweptBroker(revivals=5)

    def check(_: object, item: Item) -> Exchange:
        broker.check_alive()
        broker.is_alive = item != ITEMS[1]
        return broker.note(Outcome.ANSWER)

    with pytest.raises(AssertionError):
        Sweep(lambda _: ITEMS, check).judge_all(judge, broker)  # type: ignore[arg-type]
    message = "Produce v1: this request crashes the target: it ended\nit ended"
    assert judge.failures == [(message, ITEMS[1])]


@pytest.mark.parametrize(
    ("versions", "named"),
    [([], ""), ([0], "v0"), ([0, 1, 2], "v0-v2"), ([-2, -1, 3, 7, 8], "v-2-v-1, v3, v7-v8")],
)
def test_versions_in_a_row_are_drawn_together(versions: list[int], named: str) -> None:
    """Consecutive versions become one range."""
    assert ranges(versions) == named


def test_items_are_named_by_api() -> None:
    """Each API is named once, with all its versions."""
    assert names_of(ITEMS) == "Produce v0-v3, Fetch v2"


def test_names_of_items_can_be_read() -> None:
    """The text of a message or of a declaration names the same items, negative versions included."""
    items = [*ITEMS, Item("Vote", 52, -1), Item("Vote", 52, 0), Item("key 9000", 9000, 3)]
    text = f"^{names_of(items)}: closed$"
    assert named_in(text) == {(item.name, item.api_version) for item in items}


def test_swept_properties_are_there() -> None:
    """Properties that sweep are found with the others."""
    assert "test_every_advertised_version_is_served" in {each.name for each in properties_in()}


TOGETHER = [Item("Produce", 0, version) for version in range(AT_ONCE + 2)]
REJECTED, WRONG, ILL_FATED = TOGETHER[1], TOGETHER[2], TOGETHER[3]


def test_near_target_is_tried_item_by_item() -> None:
    """Nothing is sent before the item's turn, and its check is the given one."""

    def check(*_: object) -> Exchange:
        raise AssertionError("too early")

    found = list(tried_ahead(SweptBroker(), TOGETHER, check))  # type: ignore[arg-type]
    assert found == [(item, check) for item in TOGETHER]


def test_only_what_conforms_is_taken_from_what_was_tried_together() -> None:
    """A whole batch waits at the same time; an item that fails, always or then only, is tried again on the broker
    itself."""
    broker = SweptBroker()
    broker.is_shared = True
    together = threading.Barrier(AT_ONCE)
    alone: list[Item] = []

    def check(used: Any, item: Item) -> Exchange:
        if used is broker:
            alone.append(item)
        elif item in TOGETHER[:AT_ONCE]:
            together.wait(60)
        if item == REJECTED:
            raise UnsatisfiedAssumption
        if item == WRONG or (item == ILL_FATED and used is not broker):
            raise Problem("wrong", "")
        return used.note(Outcome.ANSWER)  # type: ignore[no-any-return]

    for item, check_now in tried_ahead(broker, TOGETHER, check):  # type: ignore[arg-type]
        broker.begin_example()
        if item in (REJECTED, WRONG):
            with pytest.raises(UnsatisfiedAssumption if item == REJECTED else Problem):
                check_now(broker, item)  # type: ignore[arg-type]
        else:
            exchange = check_now(broker, item)  # type: ignore[arg-type]
            assert broker.journal[-1].exchanges == (exchange,)
    assert alone == [WRONG, ILL_FATED]
