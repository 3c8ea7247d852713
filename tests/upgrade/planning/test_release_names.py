"""A name means one release, and a bad name is an error that helps."""

from __future__ import annotations

import pytest

from upgrade.planning.release_names import UnknownRelease, ends_named, stand_in_notes


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        ("2.3.1", "4.4.0", ("2.3.1", "4.4.0")),
        ("2.3", "4.4", ("2.3.1", "4.4.0")),
        # A line is its newest recorded release, and 4.0.0 has a table of its own.
        ("3.9.2", "4.0", ("3.9.2", "4.0.2")),
        ("3.9.2", "4.0.0", ("3.9.2", "4.0.0")),
        ("4.0.0", "4.0.2", ("4.0.0", "4.0.2")),
        # Patch releases that were not recorded, published and not.
        ("2.3.0", "4.0.1", ("2.3.1", "4.0.2")),
        ("2.3.11", "4.4.9", ("2.3.1", "4.4.0")),
        ("3.9.1-zookeeper", "4.4.0", ("3.9.2-zookeeper", "4.4.0")),
        # New brokers at old levels, and levels that are finalized.
        ("3.9.2", "4.4.0-at-3.9", ("3.9.2", "4.4.0-at-3.9")),
        ("apache-kafka-4.4.0-at-3.9", "4.4", ("4.4.0-at-3.9", "4.4.0")),
        ("4.4.0-at-3.9", "4.4.0-at-4.1", ("4.4.0-at-3.9", "4.4.0-at-4.1")),
        ("0.11", "4.4", ("0.11.0.3", "4.4.0")),
        ("apache-kafka-2.3.1", "apache-kafka-4.4.0", ("2.3.1", "4.4.0")),
        ("2.3.1", "3.9.2", ("2.3.1", "3.9.2-zookeeper")),
        ("3.8.1", "3.9.2", ("3.8.1", "3.9.2")),
        ("3.9.2", "4.4.0", ("3.9.2", "4.4.0")),
        ("3.9.2-zookeeper", "4.4.0", ("3.9.2-zookeeper", "4.4.0")),
        ("3.9.2-zookeeper", "3.9.2", ("3.9.2-zookeeper", "3.9.2")),
        ("3.2.3", "3.3.2", ("3.2.3", "3.3.2")),
    ],
)
def test_names_mean_two_releases(before: str, after: str, ends: tuple[str, str]) -> None:
    old, new = ends_named(before, after)
    assert (old.short, new.short) == ends


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "4.1.0",
            "4.1.1",
            r"4\.1\.0 and 4\.1\.1 cannot be compared\. 4\.1\.0 was not recorded; its .* as those of 4\.1\.2",
        ),
        ("2.3.1", "4.40", "near: .*4.4.0"),
        ("²", "4.0", "no table of '²' was recorded; recorded are 0.10.0.1, .*4.4.0"),
        ("3.x", "4.0", "no table of '3.x' was recorded; near: 3.0.2, .*3.9.2"),
        ("3.9.2.1", "4.0", "no table of '3.9.2.1' was recorded; near: 3.9.2"),
        ("0.10", "4.4.0", "'0.10' may be one of 0.10.0.1, 0.10.1.1, 0.10.2.2"),
        ("2.3.1", "foo", "recorded are 0.10.0.1, .*4.4.0"),
        ("2.3.1-kraft", "4.4.0", "no table of '2.3.1-kraft' was recorded; near: 2.3.1"),
        ("4.4.0", "2.3.1", "2.3.1 is older than 4.4.0: name the older release first"),
        ("4.4.0", "4.4.0", "4.4.0 and 4.4.0 are the same release"),
        ("3.3.2", "3.9.2-zookeeper", r"no cluster goes from 3.3.2 to 3.9.2 \(ZooKeeper\)"),
        ("3.9.2-kraft", "3.9.2-zookeeper", "no cluster goes from"),
        ("4.3.1", "4.4.0-at-3.9", "no cluster goes from 4.3.1 to 4.4.0 at the levels of 3.9"),
        ("3.9.2", "4.4.0-at-2.8", r"4\.4\.0 cannot run at level '2\.8'; it can at 3\.3, 3\.4"),
        ("2.3.1", "2.8.2-at-2.7", "cannot run at an older level: that needs a release with KRaft"),
    ],
)
def test_a_bad_name_is_an_error_that_helps(before: str, after: str, message: str) -> None:
    """Near names are listed, and which order is meant."""
    with pytest.raises(UnknownRelease, match=message):
        ends_named(before, after)


def test_whoever_names_a_patch_release_learns_whose_table_is_shown() -> None:
    """A published one lists the same by its schemas; of any other only the line is known."""
    assert stand_in_notes("3.9.2", "apache-kafka-4.0.0", "4.0") == ()
    assert stand_in_notes("4.0.1", "4.4.9") == (
        "4.0.1 was not recorded; its message schemas list the same versions as those of 4.0.2.",
        "4.4.9 was not recorded; 4.4.0, the newest recorded release of its line, stands for it.",
    )
