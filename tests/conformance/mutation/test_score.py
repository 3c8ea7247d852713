"""The mutation score: its figures, and every problem that it finds."""

from __future__ import annotations

import json
import math

import pytest

from clauses.catalogue import catalogue
from conformance.mutation.score import Blame, Kill, Score
from conformance.mutation.tables import markdown, rows, summary, tail_rows
from conformance.mutation.tails import Reach

ECHOED = catalogue()["PROTOCOL.correlation-id-echoed"]
PINNED = catalogue()["KIP-35.trailing-bytes"]
PLAIN = Blame(defect="", breaks=(), violated=(), transport="in memory")


def blame(defect: str, breaks: str = ECHOED.id, violated: tuple[str, ...] = (ECHOED.id,)) -> Blame:
    """Return a defect of one clause."""
    return Blame(defect=defect, breaks=(breaks,), violated=violated, transport="in memory")


def kill(*examples: int | None, defect: str = "one", pinned: bool = False) -> Kill:
    """Return how the clause caught a defect."""
    return Kill(clause=ECHOED.id, defect=defect, examples=examples, pinned=pinned, cap=100)


def reach(*, pinned: tuple[str, ...] = (), **drawn: set[int]) -> Reach:
    """How a standard run reaches a tail with three seeds."""
    seeds = {name: frozenset(each) for name, each in drawn.items()}
    return Reach(dimension="client id", tail="null", pinned=pinned, drawn=seeds, seeds=3)


def score(*blames: Blame, kills: tuple[Kill, ...] = (), **changes: object) -> Score:
    """Return a score of the given values."""
    values = {
        "clauses": [ECHOED],
        "reference": PLAIN,
        "kills": kills,
        "blames": blames,
        "seeds": 3,
        "complete": False,
        **changes,
    }
    return Score(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("examples", "median", "percentile_95"),
    [
        ((4,), 4, 4),
        (tuple(range(1, 31)), 15, 29),
        ((1, 2, 3, None), 2, math.inf),
        ((1, None, None), math.inf, math.inf),
    ],
)
def test_figures_of_a_kill(
    examples: tuple[int | None, ...], median: float, percentile_95: float
) -> None:
    """Median and 95th percentile are observed numbers of examples; a survived seed counts as infinite."""
    assert kill(*examples).median == median
    assert kill(*examples).percentile_95 == percentile_95


def test_a_pinned_kill_may_be_left_uncounted() -> None:
    """A quick measurement counts no examples of a defect that a pinned one catches; it has not survived."""
    made = score(blame("one"), kills=(kill(pinned=True),))
    assert made.findings == []
    (row,) = rows(made)
    assert row[2:] == ("0", "100", "not counted", "not counted", "yes", "caught")
    (entry,) = made.as_json()["kills"]
    assert (entry["median"], entry["examples"]) == (None, [])


def test_exact_blame_finds_nothing() -> None:
    """A defect caught by its clause, and also by the model, has no findings."""
    good = blame("one", violated=(ECHOED.id, "MODEL.agrees-with-reference"))
    assert score(good, kills=(kill(1, 2, 3),)).findings == []


def test_pinned_example_makes_up_for_unlucky_seeds() -> None:
    """A pinned example catches the defect in every run, however rarely it is drawn."""
    made = score(blame("one", violated=(ECHOED.id,)), kills=(kill(1, None, 3, pinned=True),))
    assert made.findings == []


@pytest.mark.parametrize(
    ("made", "finding"),
    [
        (score(blame("one", violated=())), f"one SURVIVED {ECHOED.id} in memory"),
        (
            score(blame("one", violated=(ECHOED.id, PINNED.id))),
            f"one ALSO TURNED RED {PINNED.id} in memory",
        ),
        (
            score(blame("one"), kills=(kill(1, None, 3),)),
            f"one SURVIVED {ECHOED.id} for 100 examples in 1 of 3 seeds",
        ),
        (
            score(blame("one"), blame("two"), complete=True),
            f"{ECHOED.id} HAS TOO FEW DEFECTS: 2 of 3",
        ),
        (
            score(clauses=[PINNED], complete=True),
            f"{PINNED.id} HAS TOO FEW DEFECTS: 0 of 1",
        ),
        (
            score(
                blame("one", PINNED.id, (PINNED.id,)),
                clauses=[PINNED],
                complete=True,
                kills_of_property={"test_a": 1, "test_b": 0},
            ),
            "test_b KILLS NOTHING",
        ),
        (
            score(reaches=[reach(test_a={1, 3})]),
            "client id: null IS NOT REACHED in 1 of 3 seeds",
        ),
        (
            score(reference=blame("", violated=("MODEL.agrees-with-reference",))),
            "the reference broker without a defect VIOLATES MODEL.agrees-with-reference",
        ),
    ],
)
def test_what_is_wrong_is_found(made: Score, finding: str) -> None:
    """Survivors, wrong blame, gaps, idle properties, missed tails and an unsound reference are findings."""
    assert finding in made.findings


def test_score_is_written_for_machines_and_people() -> None:
    """JSON has every figure, with null for infinite; Markdown has the table, findings and equivalents."""
    made = score(blame("one"), kills=(kill(1, None, None),))
    content = json.loads(json.dumps(made.as_json()))
    assert content["kills"][0]["median"] is None
    assert content["kills"][0]["examples"] == [1, None, None]
    assert content["kills"][0]["seeds"] == 3
    text = markdown(made, {"a change": "a reason"})
    assert f"| {ECHOED.id} | one | 3 | 100 | > 100 | > 100 | no | SURVIVED 2 of 3 seeds |" in text
    assert "- **a change**: a reason" in text
    assert summary(made).startswith("mutation score: 0 of 1 planted defects")


def test_rows_follow_the_catalogue() -> None:
    """Rows are in the catalogue's order of clauses, and by defect within a clause."""
    other = Kill(clause=PINNED.id, defect="a", examples=(1,), pinned=False, cap=100)
    made = score(clauses=[ECHOED, PINNED], kills=(other, kill(2, defect="z"), kill(2, defect="b")))
    assert [row[:2] for row in rows(made)] == [
        (ECHOED.id, "b"),
        (ECHOED.id, "z"),
        (PINNED.id, "a"),
    ]


def test_tails_are_written_for_machines_and_people() -> None:
    """Each tail names its properties, the pinned ones and the frequent ones first; the terminal names a few."""
    reached = reach(pinned=("test_c",), test_a={1}, test_b={1, 2}, test_c={3})
    made = score(reaches=[reached])
    assert made.findings == []
    assert made.as_json()["tails"] == [
        {
            "dimension": "client id",
            "tail": "null",
            "pinned": ["test_c"],
            "drawn": {"test_a": 1, "test_b": 2, "test_c": 1},
            "seeds": 3,
            "reached_seeds": 3,
        }
    ]
    names = "test_c (pinned), test_b (2 of 3), test_a (1 of 3)"
    assert f"| client id | null | yes | 3 of 3 seeds | {names} |" in markdown(made, {})
    (row,) = tail_rows(made, most=2)
    assert row[-1] == "test_c (pinned), test_b (2 of 3), 1 more"
    assert "Tails" not in markdown(score(), {})
