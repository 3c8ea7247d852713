"""Releases, their levels, and the recorded ones that stand for others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.profiles.known_apis import Range
from reference_model.profiles.profile import KRAFT, RECORDED_RELEASES, ZOOKEEPER, level_in, line_of
from reference_model.profiles.release_tables import level_refusal, patch_releases, recorded_release, stand_in


def test_each_compared_release_stands_for_a_recorded_one_of_its_line() -> None:
    """The file has every published patch release that was not recorded, and nothing else."""
    assert patch_releases()["4.0.1"] == "4.0.2"
    for release, same in patch_releases().items():
        assert same in RECORDED_RELEASES
        assert release not in RECORDED_RELEASES
        assert line_of(release) == line_of(same)


@pytest.mark.parametrize(
    ("asked", "release", "sentence"),
    [
        ("4.0.0", "4.0.0", ""),
        ("4.0", "4.0.2", ""),
        ("0.10.2", "0.10.2.2", ""),
        ("4.0.1", "4.0.2", "4.0.1 was not recorded; its message schemas list the same versions as those of 4.0.2."),
        ("4.0.9", "4.0.2", "4.0.9 was not recorded; 4.0.2, the newest recorded release of its line, stands for it."),
        ("99.0", "", ""),
        ("", "", ""),
        ("4", "", ""),
        ("²", "", ""),
        ("٣.9", "", ""),
        ("3.x", "", ""),
        ("3.", "", ""),
        ("3..9", "", ""),
        ("3.9.x", "", ""),
        ("3.9.2\n", "", ""),
        ("3.9.2.1", "", ""),
        ("0.10.2.2.1", "", ""),
    ],
)
def test_a_release_without_a_table_has_a_stand_in(asked: str, release: str, sentence: str) -> None:
    assert stand_in(asked) == (release, sentence)


@pytest.mark.parametrize(
    ("target", "level"),
    [
        ("apache-kafka-4.4.0", ""),
        ("apache-kafka-4.4.0-at-3.9", "3.9"),
        ("reference-at-3.9+the-second-node-keeps-old-levels", "3.9"),
        ("reference+features-are-finalized-at-no-epoch", ""),
    ],
)
def test_the_id_of_a_target_has_its_level(target: str, level: str) -> None:
    assert level_in(target) == level


NEEDS_KRAFT = "X cannot run at an older level: that needs a release with KRaft since 3.4"


@pytest.mark.parametrize(
    ("release", "quorum", "level", "refusal"),
    [
        ("4.4.0", KRAFT, "3.9", ""),
        ("3.9.2", ZOOKEEPER, "3.5", NEEDS_KRAFT),
        ("2.4.1", None, "2.3", NEEDS_KRAFT),
        (
            "3.5.2",
            KRAFT,
            "9.9",
            "X cannot run at level '9.9'; it can at 3.3, 3.4, and at its own without -at-9.9",
        ),
    ],
)
def test_a_release_runs_at_the_levels_of_older_lines(
    release: str, quorum: str | None, level: str, refusal: str
) -> None:
    assert level_refusal("X", release, quorum, level) == refusal


def test_release_with_a_given_table_has_its_name_and_what_it_leaves() -> None:
    """What is listed and refused stays so."""
    release = recorded_release("4.4.0")
    cut = replace(release, table_name="JoinGroup 5+", left=((0, Range(0, 13)), (11, Range(5, 9))))
    assert (cut.short, cut.target, cut.title) == ("JoinGroup 5+", "JoinGroup 5+", "4.4.0 with JoinGroup 5+")
    assert {key: str(each) for key, each in cut.table().items()} == {0: "0-13 (0-2 listed, refused)", 11: "5-9"}
