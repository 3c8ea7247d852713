"""Tests of what an upgrade changes: first sentence, steps and sections."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from reports.document.blocks import BulletList, Section
from reports.document.terminal_form import show
from reports.records import Verdict
from reports.release_changes.sections import sections_of, upgrade_report
from reports.release_changes.steps import feature_changes
from reports.release_changes.upgrade import Upgrade, upgrade_between
from tests.reports.release_changes.grids import grid_of_two_releases
from upgrade.planning.release_names import ends_named


def between(before: str, after: str) -> Upgrade:
    """Return what changes, without a grid."""
    return upgrade_between(*ends_named(before, after))


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            "2.3.1",
            "4.4.0",
            "In short: Kafka does not support clients older than 2.1 any more; you have to leave ZooKeeper first; "
            "18 requests of clients lose old versions; 30 requests are new; "
            "10 requests come or go with KRaft, not with the release.",
        ),
        (
            "3.9.2",
            "4.0.2",
            "In short: Kafka does not support clients older than 2.1 any more; 18 requests of clients lose old versions.",
        ),
        ("4.3.1", "4.4.0", "In short: no request of clients loses a version; 2 requests are new."),
        ("2.3.1", "3.9.2", "In short: no request of clients loses a version; 16 requests are new."),
        (
            "3.2.3",
            "3.3.2",
            "In short: 6 requests of clients are gone with ZooKeeper; 14 requests come or go with KRaft, not with the release.",
        ),
    ],
)
def test_sentence_follows_from_the_tables(before: str, after: str, sentence: str) -> None:
    """Without a grid it says nothing about clients that were tried."""
    assert between(before, after).in_short == sentence


@pytest.mark.parametrize(
    ("operations", "rules", "part"),
    [
        (
            {"one-1.0.produce": ("conforms", "conforms")},
            {},
            "In short: nothing breaks for the 1 client that was tried with both; ",
        ),
        (
            {
                "one-1.0.produce": ("conforms", "violates"),
                "two-1.0.produce": ("conforms", "conforms"),
            },
            {},
            "In short: operations break for one-1.0 (1 of 2 tried with both); ",
        ),
        (
            {f"{name}-1.0.produce": ("conforms", "violates") for name in "abcde"},
            {},
            "In short: operations break for a-1.0, b-1.0, c-1.0, 2 more (5 of 5 tried with both); ",
        ),
        ({}, {"A.rule": ("conforms", "violates")}, "; 1 rule is broken that was not."),
    ],
)
def test_sentence_follows_from_the_grid(
    operations: dict[str, tuple[str, str]],
    rules: dict[str, tuple[str, str]],
    part: str,
    tmp_path: Path,
) -> None:
    """Clients first, rules last."""
    grid = grid_of_two_releases(tmp_path, operations=operations, rules=rules)
    assert part in upgrade_between(*ends_named("2.3.1", "4.4.0"), grid).in_short


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        (
            "2.3.1",
            "4.4.0",
            [
                ("2.3.1", "3.9.2-zookeeper"),
                ("3.9.2-zookeeper", "3.9.2"),
                ("3.9.2", "4.4.0"),
                None,
            ],
        ),
        ("3.9.2-zookeeper", "4.4.0", [("3.9.2-zookeeper", "3.9.2"), ("3.9.2", "4.4.0"), None]),
        ("3.9.2", "4.4.0", [None, None]),
        ("4.3.1", "4.4.0", [None]),
        ("2.3.1", "3.9.2", []),
        ("3.2.3", "3.3.2", [("3.2.3", "3.9.2-zookeeper")]),
        ("3.9.2-zookeeper", "3.9.2", [None]),
    ],
)
def test_zookeeper_is_left_on_the_way(before: str, after: str, ends: list[tuple[str, str] | None]) -> None:
    """Up to 3.9 with it, from 4.0 on without; each of these steps has a comparison of its own."""
    found = [step.ends and tuple(end.short for end in step.ends) for step in between(before, after).steps]
    assert found == ends


def test_oldest_metadata_version_is_that_of_the_recorded_features() -> None:
    """4.0 starts only in clusters that have finalized 7, which is that of 3.3."""
    first, second = between("3.3.2", "4.0.2").steps
    assert "finalized at 7 or higher, as on a fresh cluster of 3.3.2" in first.text
    assert second.text.endswith("kafka-features.sh upgrade --release-version 4.0")
    (only,) = between("3.3.2", "3.8.1").steps
    assert only.text.endswith("kafka-features.sh upgrade --metadata 3.8")


def test_features_that_differ_have_versions_and_levels() -> None:
    """A level of 0 is not set."""
    found = {each.name: (each.before, each.after) for each in feature_changes(*ends_named("4.0.2", "4.1.2"))}
    assert found["share.version"] == ("", "0-1, not set")
    assert found["metadata.version"] == ("7-25, level 25", "7-27, level 27")
    assert "group.version" not in found


def test_sections_without_content_are_left_out() -> None:
    """Nothing is gone between the two newest releases, and no grid was given."""
    report = upgrade_report(between("4.3.1", "4.4.0"))
    assert [block.title for block in report.blocks if isinstance(block, Section)] == [
        "Who will fail",
        "Java clients that Kafka supports",
        "Requests: new (2)",
        "Requests: further versions (5)",
        "Features of the cluster",
        "If you upgrade the brokers and do not finalize",
        "If you finalize",
        "On the way",
    ]


def test_entries_about_violations_have_their_verdict(tmp_path: Path) -> None:
    """A page shows them in its colour."""
    grid = grid_of_two_releases(
        tmp_path,
        operations={"one-1.0.produce": ("conforms", "violates"), "two-1.0.produce": ("conforms", "conforms")},
        rules={"KIP-1.worse": ("conforms", "violates"), "KIP-1.other": ("conforms", "informational")},
    )
    violated = [
        item.label
        for section in sections_of(upgrade_between(*ends_named("2.3.1", "4.4.0"), grid))
        for block in section.blocks
        if isinstance(block, BulletList)
        for item in block.items
        if item.verdict is Verdict.VIOLATES
    ]
    assert violated == ["one-1.0", "one-1.0", "KIP-1.worse"]


def lines_about_who_fails(before: str, after: str) -> list[str]:
    """Return the lines of the first section of a report."""
    section = sections_of(between(before, after))[0]
    assert section.title == "Who will fail"
    console = Console(width=1000, file=StringIO(), record=True)
    show(console, section)
    return console.export_text().splitlines()[2:]


def test_report_begins_with_who_fails() -> None:
    """Each request is named for the newest clients that know none of its versions; `watch` shows one's own."""
    lines = lines_about_who_fails("2.3.1", "4.4.0")
    assert lines[0] == "Java clients up to 2.0: fail if they send OffsetForLeaderEpoch"
    assert any("up to 0.10.2: fail if they send Produce, Fetch" in line for line in lines)
    assert "watch --bootstrap-server HOST:PORT --for apache-kafka-4.4.0" in lines[-1]


def test_what_is_gone_with_zookeeper_fails_too() -> None:
    """3.3.2 with KRaft serves no delegation tokens, so whoever sends these requests fails."""
    assert lines_about_who_fails("3.2.3", "3.3.2")[0] == (
        "All clients: fail if they send CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, "
        "DescribeDelegationToken, DescribeUserScramCredentials, AlterUserScramCredentials: gone with ZooKeeper"
    )


def test_nobody_fails_if_no_version_is_lost() -> None:
    """The report says so."""
    assert lines_about_who_fails("4.3.1", "4.4.0")[0].startswith("No client, by the recorded tables")
