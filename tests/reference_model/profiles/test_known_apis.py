"""What Kafka knows: the names of APIs, ranges in words, the requests of Java clients and the features that APIs need."""

from __future__ import annotations

import pytest

from reference_model.profiles.java_requests import has_ranges, ranges_of_client
from reference_model.profiles.known_apis import KnownApi, Range, known_apis, label_of, name_of
from reference_model.profiles.release_tables import (
    missing_feature,
    recorded_release,
    recorded_releases,
)


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
    """One version stands alone, and no hyphen stands next to a minus sign."""
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
