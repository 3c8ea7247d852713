"""What becomes of requests from one release to another."""

from __future__ import annotations

import pytest

from reference_model.profiles.version_tables import RequestKind
from reports.release_changes.request_lines import RequestLines, request_lines
from upgrade.planning.release_names import ends_named


def lines_between(before: str, after: str) -> RequestLines:
    """Return what changes between two releases."""
    return request_lines(*ends_named(before, after))


def names(lines: RequestLines, kind: RequestKind) -> dict[str, str]:
    """Return the requests of a kind, each with what it means."""
    return {line.name: line.meaning for line in lines.of(kind)}


def test_who_is_refused_follows_from_the_tables_of_older_releases() -> None:
    """A client of a release knows the versions that its release serves."""
    lines = lines_between("2.3.1", "4.4.0")
    raised = names(lines, RequestKind.RAISED)
    assert raised["OffsetForLeaderEpoch"] == "refused to Java clients up to 2.0"
    assert raised["Fetch"] == "refused to Java clients up to 0.10.2"
    assert raised["OffsetCommit"] == "refused to clients older than 0.10.0"
    assert names(lines, RequestKind.NOT_SERVED) == {"Produce": "refused to Java clients up to 0.10.2"}
    assert names(lines, RequestKind.NO_COMMON) == {"WriteTxnMarkers": "between brokers only"}
    assert lines.of(RequestKind.GONE) == ()
    assert len(lines.lost_by_clients) == 18


def test_what_goes_with_zookeeper_does_not_go_with_the_release() -> None:
    """3.9 with ZooKeeper still lists it; 3.9 with KRaft lists what is new with that."""
    lines = lines_between("2.3.1", "4.4.0")
    moved = {line.name: line.kind for line in lines.with_quorum}
    gone = {name for name, kind in moved.items() if kind is RequestKind.GONE}
    assert gone == {"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"}
    assert moved["DescribeQuorum"] is RequestKind.NEW
    assert "ConsumerGroupHeartbeat" in names(lines, RequestKind.NEW)


def test_neighbours_with_different_quorums_lose_nothing_with_the_release() -> None:
    """3.3.2 was recorded with KRaft, which had no delegation tokens yet; with ZooKeeper it has them."""
    lines = lines_between("3.2.3", "3.3.2")
    assert set(lines.by_kind) == {RequestKind.MORE}
    moved = {line.name for line in lines.with_quorum}
    assert {"CreateDelegationToken", "AlterUserScramCredentials", "LeaderAndIsr"} <= moved


def test_same_quorum_has_no_change_of_it() -> None:
    """From the last release with KRaft next to ZooKeeper on."""
    assert lines_between("3.9.2", "4.4.0").with_quorum == ()
    migration = lines_between("3.9.2-zookeeper", "3.9.2")
    assert migration.by_kind.keys() <= {RequestKind.LISTING}
    assert len(migration.with_quorum) == 12


@pytest.mark.parametrize(
    ("after", "meaning"),
    [("4.1.2", "refused until share.version is enabled"), ("4.2.1", "")],
)
def test_listed_requests_may_need_a_feature(after: str, meaning: str) -> None:
    """4.1 lists those of share groups and does not enable their feature by itself."""
    assert names(lines_between("4.0.2", after), RequestKind.NEW)["ShareFetch"] == meaning


def test_listed_requests_may_be_switched_off() -> None:
    """4.4 answers the description of topologies with UNSUPPORTED_VERSION unless its configuration allows it."""
    new = names(lines_between("4.3.1", "4.4.0"), RequestKind.NEW)
    assert new["StreamsGroupTopologyDescriptionUpdate"] == (
        "refused until the description of topologies is switched on"
    )
