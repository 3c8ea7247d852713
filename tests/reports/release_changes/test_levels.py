"""What an upgrade leaves undone until its features are finalized."""

from __future__ import annotations

import pytest

from reports.document.blocks import BulletList
from reports.release_changes.levels import Levels, levels_between
from reports.release_changes.sections import sections_of
from reports.release_changes.upgrade import upgrade_between
from upgrade.planning.json_document import upgrade_document
from upgrade.planning.release_names import ends_named


def levels(before: str, after: str) -> Levels | None:
    return levels_between(*ends_named(before, after))


def section(before: str, after: str, title: str) -> dict[str, str]:
    """Return the texts of a section by their labels."""
    sections = sections_of(upgrade_between(*ends_named(before, after)))
    (found,) = next(each for each in sections if each.title == title).blocks
    assert isinstance(found, BulletList)
    return {item.label: str(item.text) for item in found.items}


def test_new_brokers_at_old_levels_refuse_what_they_list() -> None:
    """At the levels of 3.9, a broker of 4.4 lists the requests of three features, and finalizes none of them."""
    found = levels("3.9.2", "4.4.0")
    assert found is not None
    assert found.unfinalized.target == "apache-kafka-4.4.0-at-3.9"
    assert {name: len(names) for name, names in found.refused.items()} == {
        "group.version": 2,
        "share.version": 7,
        "streams.version": 2,
    }
    assert found.rising["metadata.version"] == (21, 33)
    assert found.rising["transaction.version"] == (0, 2)
    assert found.limits_transactions


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [
        ("2.3.1", "4.4.0", "3.9"),
        ("3.3.2", "3.8.1", "3.3"),
        ("4.3.1", "4.4.0", "4.3"),
        ("4.0.0", "4.0.2", ""),
        ("2.3.1", "3.2.3", ""),
        ("2.3.1", "3.8.1", ""),
        ("3.9.2-zookeeper", "3.9.2", ""),
        ("3.9.2", "4.4.0-at-3.9", ""),
        ("4.4.0-at-3.9", "4.4.0", ""),
    ],
)
def test_the_levels_are_those_of_the_line_before(before: str, after: str, level: str) -> None:
    """With ZooKeeper the way leads over 3.9; within a line, without KRaft and without finalizing there are none."""
    found = levels(before, after)
    assert (found.unfinalized.level if found else "") == level


def test_both_questions_of_an_operator_are_answered() -> None:
    """What if I do not finalize, and can I go back once I did?"""
    undone = section("3.9.2", "4.4.0", "If you upgrade the brokers and do not finalize")
    assert undone["Refused until group.version is finalized"] == "ConsumerGroupHeartbeat, ConsumerGroupDescribe"
    assert "no newer version than Produce v11, TxnOffsetCommit v4 in a transaction" in undone["In transactions"]
    assert undone["Can I go back"].startswith("yes, as long as nothing is finalized")
    from_zookeeper = section("2.8.2", "4.4.0", "If you upgrade the brokers and do not finalize")
    assert from_zookeeper["Can I go back"].startswith("to 3.9, and no further, as long as nothing is finalized")
    done = section("3.9.2", "4.4.0", "If you finalize")
    assert "metadata.version 21 → 33" in done["Levels"]
    assert "do not support the new levels of eligible.leader.replicas.version, group.version" in done["Can I go back"]
    later = section("4.3.1", "4.4.0", "If you finalize")["Can I go back"]
    assert "the new levels of metadata.version, share.version, so you cannot go back" in later


def test_finalizing_is_an_upgrade_of_its_own() -> None:
    """From old to new levels of the same brokers only features change."""
    upgrade = upgrade_between(*ends_named("apache-kafka-4.4.0-at-3.9", "4.4.0"))
    assert upgrade.title == "Apache Kafka 4.4.0 at the levels of 3.9 → 4.4.0"
    assert not upgrade.requests.by_kind
    assert [step.text for step in upgrade.steps] == [
        "When all brokers run the new release, finalize its features: kafka-features.sh upgrade --release-version 4.4"
    ]
    assert (
        upgrade_between(*ends_named("3.9.2", "4.4.0-at-3.9")).steps[-1:]
        == upgrade_between(*ends_named("3.9.2", "4.4.0")).steps[:-1]
    )


def test_json_has_the_levels() -> None:
    document = upgrade_document(upgrade_between(*ends_named("3.9.2", "4.4.0")))
    assert document["levels"]["rising"]["group.version"] == {"from": None, "to": 1}
    assert document["levels"]["can_return_once_finalized"] is False
    assert upgrade_document(upgrade_between(*ends_named("4.0.0", "4.0.2")))["levels"] is None
