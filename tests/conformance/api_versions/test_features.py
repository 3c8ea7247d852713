"""Whether a feature can be used on every broker of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.api_versions.features import (
    ANY,
    InvalidFeatureFile,
    Need,
    Usable,
    read_features,
    verdict_on,
)
from conformance.api_versions.known_apis import Range
from tests.conformance.api_versions.clusters import broker, cluster

FETCH = 1


def need(lowest: int = 0, highest: int = ANY, *avoid: int) -> Need:
    """Return a need of Fetch."""
    return Need(api_key=FETCH, range=Range(lowest, highest), avoid=frozenset(avoid))


@pytest.mark.parametrize(
    ("needed", "listed", "usable"),
    [
        # KIP-35's example: version 1 has a severe bug and stays supported; documentation says to avoid it.
        (need(0, 2, 1), [(0, 0)], Usable.YES),
        (need(1, 2, 1), [(0, 1)], Usable.NO),
        (need(1, 2, 1), [(0, 2)], Usable.YES),
        (need(1, 2, 1), [(0, 2), (0, 1)], Usable.NO),
        (need(4), [(4, 18), (0, 4)], Usable.YES),
        (need(4), [(4, 18), (0, 3)], Usable.NO),
        (need(0, 3), [(4, 18)], Usable.NO),
    ],
)
def test_every_broker_has_to_list_a_usable_version(
    needed: Need, listed: list[tuple[int, int]], usable: Usable
) -> None:
    """It is enough if each has one of its own: versions are chosen for each connection."""
    brokers = [broker(node, {FETCH: range_}) for node, range_ in enumerate(listed)]
    assert verdict_on("feature", [needed], cluster(*brokers)).usable is usable


def test_what_is_missing_is_named_with_its_brokers() -> None:
    """The reason is short enough for a table."""
    verdict = verdict_on("f", [need(4, 9, 5)], cluster(broker(1, {FETCH: (0, 3)}), broker(2)))
    assert verdict.reasons == ["Fetch(1) 4-9 without 5 is missing on brokers 1, 2"]


@pytest.mark.parametrize(
    ("answered", "usable"), [({FETCH: (0, 9)}, Usable.UNKNOWN), ({}, Usable.NO)]
)
def test_a_broker_without_an_answer_leaves_it_open(
    answered: dict[int, tuple[int, int]], usable: Usable
) -> None:
    """Unless a broker that answered lacks the feature."""
    brokers = (broker(1, answered), broker(2, problem="connection refused"))
    assert verdict_on("f", [need()], cluster(*brokers)).usable is usable


RANGES = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda two: (min(two), max(two)))


@given(needed=RANGES, avoid=st.frozensets(st.integers(0, 9)), listed=st.lists(RANGES, min_size=1))
def test_usable_exactly_if_each_broker_meets_it(
    needed: tuple[int, int], avoid: frozenset[int], listed: list[tuple[int, int]]
) -> None:
    """KIP-35.feature-usable-on-all-brokers, version by version."""
    wanted = set(range(needed[0], needed[1] + 1)) - avoid
    expected = all(wanted & set(range(low, high + 1)) for low, high in listed)
    brokers = [broker(node, {FETCH: range_}) for node, range_ in enumerate(listed)]
    verdict = verdict_on("f", [need(*needed, *avoid)], cluster(*brokers))
    assert verdict.usable is (Usable.YES if expected else Usable.NO)


def test_a_file_names_apis_or_their_keys(tmp_path: Path) -> None:
    """Limits that are not given are the widest."""
    path = tmp_path / "features.toml"
    path.write_text("[f]\nFetch = { min = 4, max = 9, avoid = [5] }\n60 = {}\n")
    assert read_features(path) == {
        "f": [need(4, 9, 5), Need(api_key=60, range=Range(0, ANY))],
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
    ],
)
def test_a_file_that_does_not_follow_the_format_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    """The message names the place and what is expected."""
    path = tmp_path / "features.toml"
    path.write_text(text)
    with pytest.raises(InvalidFeatureFile, match=message):
        read_features(path)
