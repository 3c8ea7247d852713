"""What commands are asked to do: the tasks, and what shows that one was done."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clauses.command_operations import TASKS, TaskValues
from clauses.operations import OPERATIONS

VALUES = TaskValues(topic="t-1", group="g-1", record="r-1")


def test_every_operation_that_is_not_rerouted_has_a_task() -> None:
    asked = [name for name, each in OPERATIONS.items() if not each.is_rerouted and not each.is_about_all]
    assert [name for name in TASKS if not OPERATIONS[name].is_rerouted] == asked


def test_rerouted_operation_has_a_task_if_drivers_have_a_name_for_it() -> None:
    """All other rerouted ones fetch metadata again and again."""
    named = {each.driver for each in OPERATIONS.values() if each.driver}
    assert {name for name in TASKS if OPERATIONS[name].is_rerouted} == named


@pytest.mark.parametrize("name", TASKS)
def test_success_shows_in_the_traffic_of_what_an_operation_needs(name: str) -> None:
    """What is printed is a trace too, or follows from the operation's own API."""
    needs = OPERATIONS[name].needs
    for trace in TASKS[name].traces:
        assert not needs.keys().isdisjoint(trace.api_keys), trace
        assert trace.is_record is ("RECORD" in trace.what)
    for line in TASKS[name].prints:
        _, value = line.split(" ", 1)
        if value.startswith("RECORD"):
            assert value in [each.what for each in TASKS[name].traces if each.is_in_response]


def test_values_are_in_the_environment_and_fill_the_texts_of_tasks() -> None:
    assert VALUES.environment == {
        "CONFORMANCE_TOPIC": "t-1",
        "CONFORMANCE_GROUP": "g-1",
        "CONFORMANCE_RECORD": "r-1",
    }
    assert VALUES.fill("record RECORD-0 of TOPIC for GROUP") == "record r-1-0 of t-1 for g-1"


@pytest.mark.parametrize(
    ("name", "line", "is_result"),
    [
        pytest.param("consume", "record r-1", True, id="right"),
        pytest.param("consume", "record another", True, id="wrong"),
        pytest.param("consume", "record", True, id="nothing-after-the-word"),
        pytest.param("consume", "recorded r-1", False, id="another-word"),
        pytest.param("consume", "offset 0", False, id="word-of-another-task"),
        pytest.param("list-topics", "topic t-1", True, id="own-topic"),
        pytest.param("list-topics", "topic of somebody", False, id="another-topic"),
        pytest.param("metadata", "metadata", False, id="nothing-to-print"),
    ],
)
def test_lines_about_the_result_begin_with_a_word_of_the_task(name: str, line: str, is_result: bool) -> None:
    """A command may print anything else; of a long list only what the suite made counts."""
    assert TASKS[name].is_result(line, VALUES) is is_result


@pytest.mark.parametrize(
    ("name", "printed", "wrong"),
    [
        pytest.param("metadata", [], "", id="nothing-to-print"),
        pytest.param("consume", ["record r-1"], "", id="right"),
        pytest.param("consume", [], 'the command does not print "record r-1"', id="nothing"),
        pytest.param(
            "consume", ["record x"], 'the command prints "record x", and not "record r-1"', id="another-record"
        ),
        pytest.param(
            "consume", ["record r-1"] * 2, 'prints "record r-1", "record r-1", and not "record r-1"', id="twice"
        ),
        pytest.param("list-topics", ["topic t-1", "topic t-1"], "", id="listed"),
        pytest.param("list-topics", [], 'the command does not print "topic t-1"', id="not-listed"),
        pytest.param("headers", ["header r-1-header", "record r-1"], "and not", id="wrong-order"),
    ],
)
def test_printed_lines_are_those_of_the_task(name: str, printed: Sequence[str], wrong: str) -> None:
    found = TASKS[name].wrong_lines(printed, VALUES)
    assert wrong in found
    assert bool(wrong) is bool(found)
