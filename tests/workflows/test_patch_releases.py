"""Patch releases are compared by what the classes of their jars list."""

from __future__ import annotations

import pytest

from fixtures.artefacts.schema_jars import clients_jar
from reference_model.profiles.profile import RECORDED_RELEASES, line_of, profile_of
from reference_model.profiles.release_tables import patch_releases, stand_in
from workflows.patch_releases.__main__ import listed_versions
from workflows.patch_releases.comparison import difference, recorded_equals

ONE, OTHER = {("broker", 11): (2, 9)}, {("broker", 11): (0, 9), ("broker", 0): (3, 12)}
PRODUCE, TELEMETRY = 0, (71, 72)


def test_a_patch_release_with_a_recorded_table_needs_no_target() -> None:
    """The newest recorded one of its line stands for it; one that differs from all of them stands alone."""
    listed = {"4.0.0": ONE, "4.0.1": OTHER, "4.0.2": OTHER, "4.0.3": OTHER, "4.1.0": OTHER}
    assert recorded_equals(listed, ["4.0.2", "4.0.3"]) == {"4.0.0": "", "4.0.1": "4.0.3", "4.1.0": ""}


def test_recorded_releases_of_a_line_are_compared() -> None:
    """Each API that differs is one line, in the words of the schemas."""
    listed = {"4.0.0": ONE, "4.0.2": OTHER}
    assert [*difference("4.0.0", listed, ["4.0.0", "4.0.2"])] == [
        "Produce on the broker listener: not listed in 4.0.0, 3-12 in 4.0.2",
        "JoinGroup on the broker listener: 2-9 in 4.0.0, 0-9 in 4.0.2",
    ]
    assert [*difference("4.0.2", listed, ["4.0.0", "4.0.2"])] == []


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


@pytest.mark.slow
def test_classes_of_a_jar_list_what_a_broker_was_seen_to_list() -> None:
    """They do but for Produce, which brokers list from v0 on, and telemetry, which needs a plugin."""
    (listed,) = listed_versions([clients_jar("4.4.0")])
    recorded = {each.api_key: (each.min_version, each.max_version) for each in profile_of("4.4.0").api_keys}
    of_brokers = {key: range_ for (listener, key), range_ in listed.items() if listener == "broker"}
    assert of_brokers == {**recorded, PRODUCE: (3, 13), **dict.fromkeys(TELEMETRY, (0, 0))}
