"""Tests of version tables: served versions, intersections and differences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_model.profiles.java_requests import has_ranges, is_sent_by_clients, ranges_of_client
from reference_model.profiles.known_apis import KnownApi, Range, known_apis, label_of, name_of
from reference_model.profiles.release_tables import (
    missing_feature,
    recorded_release,
    recorded_releases,
)
from reference_model.profiles.version_tables import (
    RequestChange,
    RequestKind,
    Support,
    intersection,
    request_changes,
    served_ranges,
    table_of,
)

PRODUCE, LEADER_AND_ISR, WRITE_TXN_MARKERS, ENVELOPE = 0, 4, 27, 58
RANGES = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda two: Range(min(two), max(two)))
TABLES = st.dictionaries(st.integers(0, 5), RANGES)


@given(st.lists(TABLES))
def test_intersection_has_exactly_what_every_table_has(tables: list[dict[int, Range]]) -> None:
    """Version by version."""
    found = intersection(tables)
    for key in range(6):
        shared = [
            version
            for version in range(6)
            if tables and all(key in table and table[key].lowest <= version <= table[key].highest for table in tables)
        ]
        assert found.get(key) == (Range(shared[0], shared[-1]) if shared else None)
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("before", "after", "kind", "words"),
    [
        (None, Support(Range(0, 2)), RequestKind.NEW, "new"),
        (Support(Range(0, 2)), None, RequestKind.GONE, "gone"),
        (Support(Range(0, 2)), Support(Range(0, 3)), RequestKind.MORE, "up to v3"),
        (Support(Range(0, 3)), Support(Range(0, 2)), RequestKind.LOWERED, "down to v2"),
        (Support(Range(0, 2)), Support(Range(1, 2)), RequestKind.RAISED, "from v1 on"),
        (Support(Range(0, 2)), Support(Range(4, 9)), RequestKind.NO_COMMON, "up to v9, from v4 on, no common version"),
        (Support(Range(0, 7)), Support(Range(0, 13), Range(0, 2)), RequestKind.NOT_SERVED, "up to v13, from v3 on"),
        (Support(Range(0, 0)), Support(Range(0, 0), Range(0, 0)), RequestKind.NOT_SERVED, "listed, refused"),
        (Support(Range(3, 9)), Support(Range(0, 9), Range(0, 2)), RequestKind.LISTING, "only the list differs"),
        (Support(Range(0, 9), Range(0, 2)), Support(Range(0, 11), Range(0, 2)), RequestKind.MORE, "up to v11"),
        (Support(Range(0, 0), Range(0, 0)), None, RequestKind.LISTING, "only the list differs"),
    ],
)  # fmt: skip
def test_a_change_is_about_what_is_served(
    before: Support | None, after: Support | None, kind: RequestKind, words: str
) -> None:
    """A version that is listed and refused is not counted as served."""
    (change,) = request_changes({} if before is None else {1: before}, {} if after is None else {1: after})
    assert (change.kind, change.words) == (kind, words)


@given(TABLES, TABLES)
def test_only_what_differs_is_reported(first: dict[int, Range], second: dict[int, Range]) -> None:
    """Each API once, by key ascending."""
    found = request_changes(table_of(first, {}), table_of(second, {}))
    differing = [key for key in range(6) if first.get(key) != second.get(key)]
    assert [each.api_key for each in found] == differing


def test_text_shows_what_is_listed_and_what_of_it_is_refused() -> None:
    """The same words in the terminal and, with another hyphen, on pages."""
    assert str(Support(Range(0, 13), Range(0, 2))) == "0-13 (0-2 listed, refused)"
    assert str(Support(Range(4, 18))) == "4-18"
    assert Support(Range(0, 13), Range(0, 2)).in_words(between="–") == "0–13 (0–2 listed, refused)"


def test_recorded_releases_serve_less_than_they_list() -> None:
    """Since 4.0 Produce v0 to v2 are refused; a refusal of what is not listed is none of a table."""
    newest = recorded_release("4.4.0").table()
    assert newest[PRODUCE] == Support(Range(0, 13), Range(0, 2))
    assert served_ranges(newest)[PRODUCE] == Range(3, 13)
    assert recorded_release("3.9.2").table()[PRODUCE].refused is None
    assert recorded_release("2.3.1").table()[PRODUCE].served == Range(0, 7)


def test_release_with_both_quorums_has_two_names() -> None:
    found = {each.target: each for each in recorded_releases()}
    zookeeper, kraft = found["apache-kafka-3.9.2-zookeeper"], found["apache-kafka-3.9.2"]
    assert (zookeeper.title, kraft.title) == ("3.9.2 (ZooKeeper)", "3.9.2 (KRaft)")
    assert recorded_release("3.9.2") == kraft
    assert zookeeper.table()[ENVELOPE].served is None
    assert found["apache-kafka-2.3.1"].title == "2.3.1"
    assert list(recorded_releases()) == sorted(recorded_releases(), key=lambda each: each.order)


def test_change_of_the_same_support_has_no_new_refusal() -> None:
    """4.3 and 4.4 refuse the same versions of Produce."""
    same = Support(Range(0, 13), Range(0, 2))
    assert not RequestChange(api_key=PRODUCE, before=same, after=same).is_refusal_new


@pytest.mark.parametrize(
    ("api_key", "until", "sent"),
    [
        (PRODUCE, "", True),
        (LEADER_AND_ISR, "", False),
        (WRITE_TXN_MARKERS, "2.3.1", False),
        (WRITE_TXN_MARKERS, "", True),
    ],
)
def test_what_no_client_builds_is_sent_by_brokers(api_key: int, until: str, sent: bool) -> None:
    """Admin clients have sent WriteTxnMarkers since 3.0 only."""
    assert is_sent_by_clients(api_key, until=until) is sent


def test_apis_have_names_and_the_versions_of_clients() -> None:
    """An API that 4.4.0 removed has a name and no versions."""
    assert known_apis()[18] == KnownApi("ApiVersions", Range(0, 5), for_brokers=True)
    assert known_apis()[4] == KnownApi("LeaderAndIsr", None, for_brokers=False)


def test_an_unknown_api_has_its_key() -> None:
    """Kafka's own tool says UNKNOWN; reports name the key."""
    assert (name_of(18), name_of(999)) == ("ApiVersions", "UNKNOWN")
    assert (label_of(18), label_of(999)) == ("ApiVersions", "API 999")


@pytest.mark.parametrize(
    ("range_", "text"),
    [(Range(0, 3), "0-3"), (Range(2, 2), "2"), (Range(-1, 2), "-1 to 2")],
)
def test_ranges_are_read_at_a_glance(range_: Range, text: str) -> None:
    assert str(range_) == text


@pytest.mark.parametrize(
    ("refused", "left"),
    [
        (None, Range(2, 9)),
        (Range(0, 4), Range(5, 9)),
        (Range(7, 12), Range(2, 6)),
        (Range(0, 9), None),
    ],
)
def test_what_is_refused_is_taken_from_an_end(refused: Range | None, left: Range | None) -> None:
    """Nothing is left of a range that is refused as a whole."""
    assert Range(2, 9).without(refused) == left


def test_java_clients_send_what_their_release_builds() -> None:
    """Versions are those that the release can parse; 0.11 and older were not recorded."""
    assert ranges_of_client("3.9.2")[1] == Range(0, 17)
    assert 4 not in ranges_of_client("3.9.2"), "LeaderAndIsr: only brokers send it"
    assert has_ranges("1.0.2")
    assert not has_ranges("0.11.0.3")
    assert ranges_of_client("0.11.0.3") == {}


def test_an_api_may_need_a_feature_that_a_release_leaves_off() -> None:
    """ConsumerGroupHeartbeat needs group.version, which is off in 3.9 and on in 4.4; Produce needs none."""
    older, newer = (recorded_release(each).profile() for each in ("3.9.2", "4.4.0"))
    assert missing_feature(older, 68) == "group.version"
    assert (missing_feature(newer, 68), missing_feature(newer, 0)) == ("", "")


def test_zookeeper_becomes_kraft_and_not_the_other_way_round() -> None:
    """A release that was recorded with both can be migrated."""
    zookeeper, kraft = (each for each in recorded_releases() if each.release == "3.9.2")
    assert zookeeper.can_become(kraft)
    assert not kraft.can_become(zookeeper)
