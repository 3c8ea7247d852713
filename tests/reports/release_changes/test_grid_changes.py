"""What becomes of requests, clients and rules from one release to another."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_model.profiles.version_tables import RequestKind
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from reports.release_changes.grid_changes import RuleKind, client_changes, rule_changes
from reports.release_changes.request_lines import RequestLines, request_lines
from reports.release_changes.upgrade import ends_named
from tests.reports.release_changes.grids import grid_of_two_releases
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables

ENDS = ends_named("2.3.1", "4.4.0")


def test_operations_count_if_they_were_tried_with_both(tmp_path: Path) -> None:
    """What was tried with one release only says nothing about an upgrade."""
    grid = grid_of_two_releases(
        tmp_path,
        operations={
            "one-1.0.produce": ("conforms", "conforms"),
            "one-1.0.fetch": ("conforms", "violates"),
            "one-1.0.share": ("informational", "conforms"),
            "one-1.0.acls": ("inconclusive", "conforms"),
            "one-1.0.other": ("conforms", ""),
            "two-2.0.produce": ("", "conforms"),
        },
    )
    (change,) = client_changes(grid, *ENDS)
    assert change.client == "one-1.0"
    assert (change.lost, change.gained, change.unclear) == (("fetch",), ("share",), ("acls",))
    assert change.before == "2 work, 1 unsupported, 1 not judged"
    assert change.after == "3 work, 1 fail"
    assert change.result == "✕ breaks: fetch; new: share; not judged: acls"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("conforms", "violates", RuleKind.WORSE),
        ("conforms", "known_violation", RuleKind.WORSE),
        ("not_applicable", "violates", RuleKind.WORSE),
        ("violates", "conforms", RuleKind.BETTER),
        ("not_applicable", "conforms", RuleKind.APPLIES),
        ("conforms", "not_applicable", RuleKind.ENDS),
        ("conforms", "informational", RuleKind.OTHER),
    ],
)
def test_rules_differ_in_a_kind(before: str, after: str, kind: RuleKind, tmp_path: Path) -> None:
    """Over the listeners that both have: the controller of the newer one, which violates the rule, does not count."""
    grid = grid_of_two_releases(tmp_path, rules={"KIP-1.rule": (before, after)})
    (change,) = rule_changes(grid, *ENDS).changes
    assert (change.kind, change.before, change.after) == (kind, Verdict(before), Verdict(after))
    assert change.why == f"why {before if kind is RuleKind.BETTER else after}"


def test_rules_that_could_not_be_judged_do_not_differ(tmp_path: Path) -> None:
    rules = {"A.same": ("conforms", "conforms"), "A.unclear": ("conforms", "inconclusive")}
    found = rule_changes(grid_of_two_releases(tmp_path, rules=rules), *ENDS)
    assert (found.changes, found.compared, found.unclear) == ((), 1, 1)


def test_a_release_that_the_grid_does_not_have_is_named(tmp_path: Path) -> None:
    """Nothing is compared then."""
    grid = grid_of_two_releases(tmp_path, rules={"A.same": ("conforms", "conforms")})
    found = rule_changes(grid, *ends_named("2.3.1", "4.3.1"))
    assert found.absent == ("apache-kafka-4.3.1",)
    only_operations = grid_of_two_releases(tmp_path / "other", operations={"one-1.0.produce": ("conforms", "conforms")})
    assert rule_changes(only_operations, *ENDS).absent == (
        "apache-kafka-2.3.1",
        "apache-kafka-4.4.0",
    )


def test_what_differs_with_kraft_differs_not_with_the_release(tmp_path: Path) -> None:
    """If 3.9.2 with ZooKeeper and with KRaft differ in the same way."""
    verdicts = {
        "A.with-kraft": ("not_applicable", "conforms", "not_applicable", "conforms"),
        "A.with-release": ("not_applicable", "conforms", "conforms", "conforms"),
    }
    targets = ("apache-kafka-2.3.1", "apache-kafka-4.4.0")
    last = ("apache-kafka-3.9.2-zookeeper", "apache-kafka-3.9.2")
    write_tables(
        tmp_path,
        targets=[target_row(target, implementation="apache-kafka") for target in (*targets, *last)],
        clauses=[clause_row(clause, index) for index, clause in enumerate(verdicts)],
        cells=[
            cell_row(clause, target, verdict)
            for clause, of_clause in verdicts.items()
            for target, verdict in zip((*targets, *last), of_clause, strict=True)
        ],
        failures=[],
    )
    found = rule_changes(FoldedGrid(read_grid(tmp_path)), *ENDS)
    assert [each.clause.clause for each in found.changes] == ["A.with-release"]
    assert [each.clause.clause for each in found.with_quorum] == ["A.with-kraft"]
    assert not found.is_quorum_mixed


def test_what_differs_with_kraft_may_be_unknown(tmp_path: Path) -> None:
    """A grid without both of 3.9.2 does not show it."""
    grid = grid_of_two_releases(tmp_path, rules={"A.rule": ("not_applicable", "conforms")})
    assert rule_changes(grid, *ENDS).is_quorum_mixed


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
