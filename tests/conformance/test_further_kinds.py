"""A client property finds and shrinks every kind of failure, pinned or drawn.

The scripts that are played ahead are those that the properties then draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import example, given, seed, settings
from hypothesis import strategies as st

from clauses.tiers import Tier
from conformance.engine.drawing import examples_go_to
from conformance.engine.failing_examples import MAX_ROUNDS, FurtherKinds
from conformance.engine.hypothesis_profiles import CLIENT_EXAMPLES, client_examples
from conformance.roles import client
from conformance.roles.client import scripts_of
from fixtures.errors import HarnessError
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory_client import in_memory_client
from reference_model.clients.scripts.script import Script
from reports.records import Verdict
from strategies.hypothesis_adapter import max_examples_changed
from strategies.nonsense_scripts import brokers_that_talk_nonsense, without_answer
from tests.conformance.judged_properties import Judged, JudgedBroker, judged

KINDS = ("aborts", "hangs", "floods", "forgets", "lies")
UNSHRUNK_EXAMPLES = 60


@dataclass
class FakeItem:
    """The part of a test item that runs the property again."""

    runtest: Callable[[], None]


def fail_by_kind(value: int) -> None:
    """Fail in another way for each ten numbers above 9."""
    if value >= 10:
        raise AssertionError(f"the client {KINDS[value // 10 - 1]}")


def run_to_the_end(case: Judged, pinned: tuple[int, ...], largest: int) -> None:
    """Judge a property as the plugin does."""

    def body(value: int) -> None:
        case.run(fail_by_kind, value)

    for each in reversed(pinned):
        body = example(value=each)(body)
    drawn = settings(max_examples=UNSHRUNK_EXAMPLES, database=None, derandomize=True)(
        given(value=st.integers(0, largest))(body)
    )
    try:
        drawn()
    except AssertionError as error:
        client._draw_on(cast(Any, FakeItem(drawn)), case.judge, error)
    case.judge.raise_first()


def case_with(tmp_path: Path, *, pinned: int) -> Judged:
    """Return a judge that finds further kinds."""
    further = FurtherKinds(pinned=pinned)
    return judged(tmp_path, JudgedBroker(), pinned=pinned, further_kinds=further)


def failures(case: Judged) -> dict[str, str]:
    """Return the drawn values of each failure by its message."""
    kept = case.recorder.cells[case.key].failures.values()
    return {each.message: each.example for each in kept}


def test_every_pinned_kind_is_found(tmp_path: Path) -> None:
    """The first failing pin hides no other one, and is what the property fails with."""
    case = case_with(tmp_path, pinned=4)
    with pytest.raises(AssertionError, match="the client hangs"):
        run_to_the_end(case, (3, 25, 11, 28), 9)
    assert case.verdict is Verdict.VIOLATES
    assert set(failures(case)) == {"the client hangs", "the client aborts"}


def test_every_drawn_kind_is_found_and_shrunk(tmp_path: Path) -> None:
    """After a drawn failure the rest is drawn as well, and a kind that is known from a pin ends no round."""
    case = case_with(tmp_path, pinned=1)
    with pytest.raises(AssertionError, match="the client floods"):
        run_to_the_end(case, (39,), 39)
    found = failures(case)
    assert set(found) == {"the client floods", "the client aborts", "the client hangs"}
    assert found["the client aborts"] == "{'value': 10}"
    assert found["the client hangs"] == "{'value': 20}"


def test_no_example_is_judged_in_two_rounds(tmp_path: Path) -> None:
    """A play is judged once, whatever fails after it."""
    case = case_with(tmp_path, pinned=1)
    with pytest.raises(AssertionError, match="aborts"):
        run_to_the_end(case, (3,), 19)
    assert case.ran.count(3) == 1


def test_rounds_have_an_end(tmp_path: Path) -> None:
    """Not every kind is waited for if each round ends with a new one."""
    case = case_with(tmp_path, pinned=0)
    with pytest.raises(AssertionError):
        run_to_the_end(case, (), 59)
    shrunk = [each for each in case.ran if each in range(10, 60, 10)]
    assert len(set(shrunk)) >= MAX_ROUNDS
    assert not case.judge.draws_on(AssertionError())


def test_property_that_holds_is_judged_once(tmp_path: Path) -> None:
    """Without a failure there is one round."""
    case = case_with(tmp_path, pinned=1)
    run_to_the_end(case, (3,), 9)
    assert case.verdict is Verdict.CONFORMS
    assert not FurtherKinds(pinned=0).begin_round()


def test_fault_of_ours_after_a_violation_hides_nothing(tmp_path: Path) -> None:
    """The cell keeps the violation, and says what was not judged; without one the fault is raised."""

    def lose(value: int) -> None:
        raise HarnessError("no play")

    case = case_with(tmp_path, pinned=3)
    case.run(fail_by_kind, 11)
    case.run(lose, 1)
    with pytest.raises(AssertionError, match="aborts"):
        case.judge.raise_first()
    assert case.recorder.cells[case.key].planned.reason == ("not judged after the first failures: no play")
    with pytest.raises(HarnessError):
        case_with(tmp_path / "other", pinned=1).run(lose, 1)


PINNED = without_answer("close")


class PytestItem(NamedTuple):
    """The part of a pytest item that is used."""

    obj: Any


def property_that(body: Callable[..., None]) -> Any:
    """Return a property of this body."""
    drawn = given(script=brokers_that_talk_nonsense())(body)
    return seed(5)(settings(database=None)(example(script=PINNED)(drawn)))


def play(client: ClientUnderTest, script: Script) -> None:
    """Play the script."""
    client.play(script)


def test_same_scripts_are_drawn_when_they_are_judged() -> None:
    """Nothing is played while scripts are collected; each is there once, although two properties draw it."""
    client, tier = in_memory_client(), Tier.STANDARD
    property_ = property_that(play)
    items: Any = [PytestItem(property_), PytestItem(property_that(play))]
    ahead = scripts_of(items, client, tier=tier)
    assert client.script is None

    judged: dict[Script, None] = {}

    def take(_: object, values: Mapping[str, Script]) -> None:
        judged[values["script"]] = None

    with max_examples_changed(property_, client_examples), examples_go_to(take, property_):
        property_(client=client)
    assert tuple(judged) == ahead
    assert ahead[0] == PINNED
    assert 2 < len(ahead) <= 1 + CLIENT_EXAMPLES
