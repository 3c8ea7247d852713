"""Whether a feature can be used on every broker of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference_model.profiles.known_apis import Range
from tests.upgrade.api_versions.clusters import broker, cluster
from upgrade.api_versions.features import (
    ANY,
    InvalidFeatureFile,
    NeededApi,
    Usable,
    read_features,
    verdict_on,
)

FETCH = 1


def need(lowest: int = 0, highest: int = ANY, *avoid: int) -> NeededApi:
    """Return a need of Fetch."""
    return NeededApi(api_key=FETCH, range=Range(lowest, highest), avoid=frozenset(avoid))


YES, NO, UNKNOWN = Usable.YES, Usable.NO, Usable.UNKNOWN


def test_example_of_the_text_has_its_verdicts() -> None:
    """KIP-35's two brokers, what they share, and its two features."""
    example = cluster(broker(1, {0: (0, 3), 1: (2, 3)}), broker(2, {0: (1, 2), 1: (0, 3), 2: (0, 0)}))
    assert example.served == {0: (1, 2), 1: (2, 3)}
    also = NeededApi(api_key=1, range=Range(2, 3))
    first = verdict_on("Feature1", [NeededApi(api_key=0, range=Range(3, 3)), also], example)
    assert (first.usable, first.usable_per_broker) == (NO, NO)
    assert first.reasons == ["Produce(0) 3 is missing on broker 2"]
    second = verdict_on("Feature2", [NeededApi(api_key=0, range=Range(0, 1)), also], example)
    assert (second.usable, second.usable_per_broker, second.reasons) == (YES, YES, [])


def test_brokers_that_share_nothing_are_named() -> None:
    """With what is unknown about the others."""
    apart = (broker(1, {FETCH: (0, 1)}), broker(2, {FETCH: (2, 3)}))
    verdict = verdict_on("f", [need(0, 3)], cluster(*apart))
    assert verdict.reasons == ["Fetch(1) 0-3: brokers 1, 2 share no such version"]
    verdict = verdict_on("f", [need(0, 3)], cluster(*apart, broker(3, problem="refused")))
    assert (verdict.usable, verdict.usable_per_broker) == (NO, UNKNOWN)
    assert verdict.reasons[1:] == ["no answer from broker 3"]


def test_what_is_missing_is_named_with_its_brokers() -> None:
    """The reason is short enough for a table."""
    verdict = verdict_on("f", [need(4, 9, 5)], cluster(broker(1, {FETCH: (0, 3)}), broker(2)))
    assert verdict.reasons == ["Fetch(1) 4-9 without 5 is missing on brokers 1, 2"]


@pytest.mark.parametrize(("answered", "usable"), [({FETCH: (0, 9)}, Usable.UNKNOWN), ({}, Usable.NO)])
def test_a_broker_without_an_answer_leaves_it_open(answered: dict[int, tuple[int, int]], usable: Usable) -> None:
    """Unless a broker that answered lacks the feature."""
    brokers = (broker(1, answered), broker(2, problem="connection refused"))
    verdict = verdict_on("f", [need()], cluster(*brokers))
    assert (verdict.usable, verdict.usable_per_broker) == (usable, usable)
    silent = verdict_on("f", [need()], cluster(brokers[1]))
    assert (silent.usable, silent.usable_per_broker) == (UNKNOWN, UNKNOWN)


RANGES = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda two: (min(two), max(two)))


@given(needed=RANGES, avoid=st.frozensets(st.integers(0, 9)), listed=st.lists(RANGES, min_size=1))
# KIP-35's example: version 1 has a severe bug and stays supported; documentation says to avoid it.
@example(needed=(1, 2), avoid=frozenset({1}), listed=[(0, 2), (0, 1)])
# Each broker has some of the versions, and none has those of another.
@example(needed=(0, 3), avoid=frozenset(), listed=[(0, 1), (2, 3)])
# The same, because the versions that they share are to be avoided.
@example(needed=(0, 3), avoid=frozenset({1, 2}), listed=[(0, 2), (1, 3)])
def test_usable_exactly_if_brokers_meet_it(
    needed: tuple[int, int], avoid: frozenset[int], listed: list[tuple[int, int]]
) -> None:
    """KIP-35.feature-usable-on-all-brokers in both readings, version by version."""
    wanted = set(range(needed[0], needed[1] + 1)) - avoid
    own = [set(range(low, high + 1)) for low, high in listed]
    brokers = [broker(node, {FETCH: range_}) for node, range_ in enumerate(listed)]
    verdict = verdict_on("f", [need(*needed, *avoid)], cluster(*brokers))
    assert verdict.usable is (YES if wanted.intersection(*own) else NO)
    assert verdict.usable_per_broker is (YES if all(wanted & each for each in own) else NO)


def test_a_file_names_apis_or_their_keys(tmp_path: Path) -> None:
    """Limits that are not given are the widest."""
    path = tmp_path / "features.toml"
    path.write_text("[f]\nFetch = { min = 4, max = 9, avoid = [5] }\n60 = {}\n")
    assert read_features(path) == {
        "f": [need(4, 9, 5), NeededApi(api_key=60, range=Range(0, ANY))],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no feature"),
        ("f = 1", r"expected \[f\] with one line per API"),
        ("[f]", "with one line per API"),
        ("[f]\nFetsch = {}", "no API of this name"),
        ("[f]\nFetch = 4", "expected a table with min, max and avoid"),
        ("[f]\nFetch = { minimum = 4 }", "expected a table with min, max and avoid"),
        ("[f]\nFetch = { min = -1 }", "min and max are versions"),
        ("[f]\nFetch = { min = true }", "min and max are versions"),
        ('[f]\nFetch = { avoid = "5" }', "avoid is a list of versions"),
        ("[f]\nFetch = { min = 5, max = 4 }", "min 5 is above max 4"),
        ("[f", "features.toml: "),
        pytest.param("f = " + "[" * 10_000, "features.toml: ", id="nested"),
    ],
)
def test_a_file_that_does_not_follow_the_format_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """The message says where the file is wrong, and what is expected."""
    path = tmp_path / "features.toml"
    path.write_text(text)
    with pytest.raises(InvalidFeatureFile, match=message):
        read_features(path)


def test_listed_versions_that_are_refused_meet_no_need() -> None:
    """A broker of 4.x lists Produce v0 to v2 and refuses them."""
    refusing = cluster(broker(1, {0: (0, 13)}, refused={0: Range(0, 2)}))
    verdict = verdict_on("old", [NeededApi(api_key=0, range=Range(0, 2))], refusing)
    assert (verdict.usable, verdict.usable_per_broker) == (NO, NO)
