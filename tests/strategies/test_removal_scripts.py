"""Brokers that lack the oldest or the newest versions of APIs, and no others."""

from __future__ import annotations

from hypothesis import given

from reference_model.clients.scripts.script import Script, healthy_ranges
from strategies.removal_scripts import (
    broker_a_version_behind,
    broker_with_minimums_of,
    brokers_with_maximums,
    brokers_with_minimums,
)
from wire.api_keys import API_VERSIONS_KEY, FETCH_KEY, JOIN_GROUP_KEY, PRODUCE_KEY

HEALTHY = {key: (lowest, highest) for key, lowest, highest in healthy_ranges()}


def changed(script: Script) -> dict[int, tuple[int, int]]:
    """Return the ranges of a script's table that are not those of a healthy broker."""
    (answer,) = script.answers
    ranges = {key: (lowest, highest) for key, lowest, highest in answer.table.entries}
    assert ranges.keys() == HEALTHY.keys()
    return {key: ranges[key] for key in ranges if ranges[key] != HEALTHY[key]}


@given(script=brokers_with_minimums())
def test_newest_version_is_always_left(script: Script) -> None:
    for key, (lowest, highest) in changed(script).items():
        assert key != API_VERSIONS_KEY
        assert HEALTHY[key][0] < lowest <= highest == HEALTHY[key][1]


@given(script=brokers_with_maximums())
def test_oldest_version_is_always_left(script: Script) -> None:
    for key, (lowest, highest) in changed(script).items():
        assert key != API_VERSIONS_KEY
        assert HEALTHY[key][0] == lowest <= highest < HEALTHY[key][1]


def test_minimums_of_releases_are_those_that_were_recorded() -> None:
    """4.0.0 dropped JoinGroup v0 and v1, which 4.0.1 has again."""
    of_4_0_0, of_4_0_2 = (changed(broker_with_minimums_of(release)) for release in ("4.0.0", "4.0.2"))
    assert (of_4_0_0[JOIN_GROUP_KEY][0], of_4_0_0[FETCH_KEY][0]) == (2, 4)
    assert of_4_0_0.keys() - of_4_0_2.keys() == {JOIN_GROUP_KEY}
    assert PRODUCE_KEY not in of_4_0_0


def test_broker_can_lack_the_newest_version_of_everything() -> None:
    behind = changed(broker_a_version_behind())
    assert all(HEALTHY[key][1] - highest == 1 for key, (_, highest) in behind.items())
    assert len(behind) > len(HEALTHY) // 2
