"""Tests of the mutation score's figures and of every problem that it finds.

They also cover the tails that runs reach, and defects between two releases.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from clauses.catalogue import catalogue
from conformance.commands.mutation import with_model
from conformance.mutation.dimensions import Pipeline, values_of
from conformance.mutation.in_memory import InMemoryResult
from conformance.mutation.properties import Property, Values, all_properties
from conformance.mutation.reached_tails import Reach
from conformance.mutation.releases import CLAUSE, measure
from conformance.mutation.score import Blame, Kill, Score, mutation_report, rows, summary, tail_rows
from conformance.mutation.subjects import OLDER_MODELS
from conformance.mutation.tails import DIMENSIONS
from reference_model.clients.model.negotiation import MODEL
from reference_model.faults.broker import DEFECTS
from reports.document.markdown_form import markdown
from reports.wording.escaping import markdown_text
from strategies.api_versions import UnservedRequest, build_request
from strategies.broken_requests import build_with_compact_client_id, build_with_old_header
from strategies.cluster_ids import Ids
from strategies.conversations import PlainToken, Reconnect, Say
from strategies.field_values import Software
from strategies.odd_frames import build_cut_short
from wire.primitives import TaggedField

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
def test_figures_of_a_kill(examples: tuple[int | None, ...], median: float, percentile_95: float) -> None:
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
    text = markdown(mutation_report(made, {"a change": "a reason"}))
    assert f"| {ECHOED.id} | one | 3 | 100 | &gt; 100 | &gt; 100 | no | SURVIVED 2 of 3 seeds |" in text
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
    text = markdown(mutation_report(made, {}))
    assert f"| client id | null | yes | 3 of 3 seeds | {markdown_text(names)} |" in text
    (row,) = tail_rows(made, max_properties=2)
    assert row[-1] == "test_c (pinned), test_b (2 of 3), 1 more"
    assert "Tails" not in markdown(mutation_report(score(), {}))


TAG = TaggedField(2**31, bytes(128))
CUT = build_cut_short(build_request(version=0), 12)
LIBRDKAFKA = Software("librdkafka", "2.16.0")


@pytest.mark.parametrize(
    ("example", "found"),
    [
        ({"sent": build_request(version=-3)}, ("version", -3)),
        ({"sent": build_request(version=0, correlation_id=-1)}, ("correlation id", -1)),
        ({"sent": build_request(version=0, client_id=None)}, ("client id", None)),
        ({"sent": build_request(version=3, software=LIBRDKAFKA)}, ("software", LIBRDKAFKA)),
        ({"sent": build_request(version=3, header_tags=(TAG,))}, ("tag in the header", TAG)),
        ({"sent": build_request(version=3, body_tags=(TAG,))}, ("tag in the body", TAG)),
        ({"sent": build_request(version=5, node_id=256)}, ("node id", 256)),
        ({"sent": build_request(version=3, trailing=b"abc")}, ("trailing bytes", 3)),
        ({"sent": build_with_compact_client_id(3, "a")}, ("compact client id", "a")),
        ({"refused": Software("a b", "1")}, ("software", Software("a b", "1"))),
        ({"ids": Ids("a", 7)}, ("node id", 7)),
        (
            {"drawn": UnservedRequest(distance=256)},
            ("distance above the highest version", 256),
        ),
        ({"variant": "empty", "offset": 0}, ("cluster id", "empty")),
        ({"variant": "another", "offset": 257}, ("node id", 257)),
        ({"versions": [3, 99]}, ("version", 99)),
        ({"client_id": "a", "version": 3}, ("client id", "a")),
        ({"versions": [0, 3], "ids": 1}, ("pipeline", Pipeline(2, 1))),
        ({"versions": [0, 3]}, ("requests of a connection", 2)),
        ({"version": 3, "pauses_ms": [310]}, ("pause in ms", 310)),
        ({"unused": 30, "unfinished": 0, "served": 0}, ("other connections", 30)),
        ({"versions": [], "part": None, "resets": True}, ("reset", True)),
        ({"sent": CUT}, ("cut request", CUT.data)),
        (
            {"conversation": (Say(messages=(CUT, PlainToken())),)},
            ("write", (CUT, PlainToken())),
        ),
        (
            {"conversation": (Reconnect(), Say(messages=(build_request(version=7),)))},
            ("version", 7),
        ),
    ],
)
def test_values_are_found_in_examples(example: Values, found: tuple[str, Any]) -> None:
    """Requests in lists and conversations have values, and parameters of which a property makes requests."""
    assert found in list(values_of(example))
    assert {dimension for dimension, _ in values_of(example)} <= set(DIMENSIONS)


@pytest.mark.parametrize(
    ("example", "missing"),
    [
        ({"sent": build_request(version=2, software=LIBRDKAFKA)}, "software"),
        ({"sent": build_request(version=2, header_tags=(TAG,))}, "tag in the header"),
        ({"sent": build_request(version=2, body_tags=(TAG,))}, "tag in the body"),
        ({"sent": build_request(version=4, node_id=256)}, "node id"),
        ({"sent": build_with_old_header(3)}, "client id"),
        ({"kept": 300}, "version"),
    ],
)
def test_what_a_request_does_not_carry_does_not_count(example: Values, missing: str) -> None:
    """A version has no more than its fields, and the bytes of a malformed request are not what is meant."""
    assert missing not in [dimension for dimension, _ in values_of(example)]


@pytest.mark.parametrize("judged", all_properties().values(), ids=lambda each: each.name)
def test_every_value_of_a_property_has_a_dimension_that_fits(judged: Property) -> None:
    """The conditions of the tails can be asked of all values of its pinned and drawn examples."""
    examples = [*judged.pinned]
    judged.draw(examples.append, seed=1, count=2)
    for example in examples:
        for dimension, value in values_of(example):
            assert {holds(value) for holds in DIMENSIONS[dimension].values()} <= {True, False}


def test_a_tail_is_certain_if_every_run_reaches_it() -> None:
    """Several properties make up for each other's seeds, and a pinned example for all."""
    assert reach(first={1, 2}, second={3}).is_certain
    assert reach(first={1, 2}, second={2}).reached_seeds == 2
    assert not reach(first={1, 2}, second={2}).is_certain
    assert not reach().is_certain
    assert reach(pinned=("first",)).is_certain


OTHER = "tags-descend"


def test_a_difference_that_is_not_seen_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of the clause that `changes` does not report has survived."""
    monkeypatch.setitem(DEFECTS, OTHER, replace(DEFECTS[OTHER], breaks=(CLAUSE,)))
    unseen = measure([OTHER])
    score = Score(
        clauses=[catalogue()[CLAUSE]],
        reference=unseen.reference,
        kills=unseen.kills,
        blames=unseen.blames,
        seeds=1,
        complete=False,
    )
    assert score.findings == [
        f"{OTHER} SURVIVED {CLAUSE} between releases",
        f"{OTHER} SURVIVED {CLAUSE} for 300 examples in 1 of 1 seeds",
    ]


@pytest.mark.parametrize(
    ("model", "gap"),
    [
        pytest.param(OLDER_MODELS[0], "", id="older-level"),
        pytest.param(MODEL, "test_b KILLS NOTHING", id="another-model"),
    ],
)
def test_a_reference_broker_at_an_older_level_adds_to_the_plain_one(model: str, gap: str) -> None:
    """What a property kills of the plain one stays, and what it cannot kill of the older one is no gap."""
    plain = score(complete=True, kills_of_property={"test_a": 2})
    result = InMemoryResult(
        reference=PLAIN,
        blames=[blame(f"{model}+one")],
        kills=[],
        kills_of_property={"test_a": 0, "test_b": 0},
    )
    made = with_model(plain, model, result)
    assert made.kills_of_property["test_a"] == 2
    assert [each for each in made.findings if "KILLS NOTHING" in each] == [gap] * bool(gap)
    assert {each.id for each in made.clauses} >= {ECHOED.id}
    assert (len(made.clauses) == 2) == (not gap)
