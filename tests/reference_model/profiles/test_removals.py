"""Lists of removals, and what they leave of a table."""

from __future__ import annotations

import pytest

from reference_model.profiles.known_apis import Range
from reference_model.profiles.removals import (
    InvalidTable,
    Removal,
    check_ranges,
    check_served,
    removals_in,
    without,
)
from wire.api_keys import API_VERSIONS_KEY, DESCRIBE_CLUSTER_KEY, FETCH_KEY, JOIN_GROUP_KEY, PRODUCE_KEY

SERVED = {
    FETCH_KEY: Range(4, 18),
    JOIN_GROUP_KEY: Range(0, 9),
    API_VERSIONS_KEY: Range(0, 5),
    DESCRIBE_CLUSTER_KEY: Range(0, 2),
}


def test_list_is_read_and_written_in_one_form() -> None:
    removals = removals_in("JoinGroup 5+, Fetch v4 - 12\nno describecluster")
    assert removals == (
        Removal(JOIN_GROUP_KEY, 5),
        Removal(FETCH_KEY, 4, 12),
        Removal(DESCRIBE_CLUSTER_KEY, is_complete=True),
    )
    assert [*map(str, removals)] == ["JoinGroup 5+", "Fetch 4-12", "no DescribeCluster"]


def test_one_version_can_be_left() -> None:
    assert removals_in("JoinGroup 5") == (Removal(JOIN_GROUP_KEY, 5, 5),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the list of removals is empty; write for example"),
        ("JoinGroup -1+", "'JoinGroup -1+' is no removal; write for example"),
        ("JoinGroup 999999+", "'JoinGroup 999999+' is no removal"),
        ("JoinGroup", "'JoinGroup' is no removal"),
        ("JoinGroup 9-5", "'JoinGroup 9-5' has a reversed range: write JoinGroup 5-9"),
        ("JoinGruop 5+", "'JoinGruop' is no API of Kafka"),
        ("no ApiVersions", "ApiVersions itself cannot be removed"),
        ("JoinGroup 5+, joingroup 6+", "JoinGroup is in the list twice"),
    ],
)
def test_wrong_list_is_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(InvalidTable) as raised:
        removals_in(text)
    assert str(raised.value).startswith(message)


def test_rest_of_a_table_is_what_was_not_removed() -> None:
    left = without(SERVED, removals_in("JoinGroup 5+, Fetch 4-12, no DescribeCluster"))
    assert left == {FETCH_KEY: (4, 12), JOIN_GROUP_KEY: (5, 9), API_VERSIONS_KEY: (0, 5)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JoinGroup 10+", "JoinGroup 10+ leaves nothing of JoinGroup 0-9; write 'no JoinGroup' to remove it"),
        ("Fetch 4-19", "Fetch 4-19 lists what is not served: write versions of Fetch 4-18"),
        ("Fetch 0-9", "Fetch 0-9 lists what is not served: write versions of Fetch 4-18"),
        ("Produce 3+", "Produce 3+ cannot be tried: the table does not have Produce"),
    ],
)
def test_removal_that_does_not_fit_the_table_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidTable) as raised:
        without(SERVED, removals_in(text))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({30_000: Range(0, 1)}, "the table has an API with the key 30000"),
        ({FETCH_KEY: Range(5, 4)}, "the table has the versions 5 to 4 of Fetch"),
        ({FETCH_KEY: Range(-1, 4)}, "the table has the versions -1 to 4 of Fetch"),
        ({FETCH_KEY: Range(0, 4)}, "the table does not have ApiVersions"),
    ],
)
def test_table_that_no_broker_can_have_is_refused(ranges: dict[int, Range], message: str) -> None:
    with pytest.raises(InvalidTable) as raised:
        check_ranges(ranges)
    assert str(raised.value).startswith(message)


def test_table_can_only_have_what_the_broker_serves() -> None:
    check_ranges(SERVED)
    # The broker itself answers requests for the table.
    check_served({JOIN_GROUP_KEY: Range(5, 9), API_VERSIONS_KEY: Range(0, 9)}, SERVED, "the broker")
    more = {FETCH_KEY: Range(4, 5), JOIN_GROUP_KEY: Range(5, 10), PRODUCE_KEY: Range(3, 4)}
    with pytest.raises(InvalidTable, match="lists what the broker does not serve: JoinGroup 5-10, Produce 3-4"):
        check_served(more, SERVED, "the broker")
