"""Profiles: how releases are ordered, what each does, and the tables that its brokers gave."""

from __future__ import annotations

import csv
import itertools
import tomllib
from pathlib import Path

import pytest

from reference_model import profile
from reference_model.profile import (
    FOLDER,
    NEWEST_RELEASE,
    ProfileError,
    Traits,
    profile_of,
    release_order,
    traits_of,
)
from tests.reference_model.release_lines import LINES, QUORUMS, RECORDED, profile_at
from wire.api_versions import NEWEST_VERSION

CHOKES_ON = r'[\n"*,:=?]'


def _traits(
    api_versions_max: int,
    *,
    names_range: bool = True,
    short_ignored: bool = False,
    unanswered: str = "",
    ascending: bool = False,
    negative_accepted: bool = True,
    max_tags: int = -1,
) -> Traits:
    return Traits(
        api_versions_max=api_versions_max,
        unsupported_names_range=names_range,
        short_frame_ignored=short_ignored,
        unanswered_client_ids=unanswered,
        body_tags_ascending=ascending,
        negative_tag_count_accepted=negative_accepted,
        max_tags=max_tags,
    )


TRAITS_0_10 = _traits(0, names_range=False, short_ignored=True, ascending=True)
TRAITS_0_11 = _traits(
    1, names_range=False, short_ignored=True, unanswered=CHOKES_ON, ascending=True
)
TRAITS_1_0 = _traits(1, names_range=False, ascending=True)
TRAITS_2_0 = _traits(2, names_range=False, ascending=True)
TRAITS_2_4 = _traits(3, ascending=True)
TRAITS_2_8 = _traits(3)
TRAITS_3_9 = _traits(4)
TRAITS_4_4 = _traits(5, negative_accepted=False, max_tags=10000)


@pytest.mark.parametrize(
    ("traits", "releases"),
    [
        pytest.param(
            TRAITS_0_10, ["0.10.0.0", "0.10.0.1", "0.10.0", "0.10", "0.10.2.2"], id="0.10"
        ),
        pytest.param(TRAITS_0_11, ["0.11.0.0", "0.11.0", "0.11.0.3"], id="0.11"),
        pytest.param(TRAITS_1_0, ["1.0.0", "1.0", "1.1.1"], id="1.0"),
        pytest.param(TRAITS_2_0, ["2.0.0", "2.0", "2.0.1", "2.3.1"], id="2.0"),
        pytest.param(TRAITS_2_4, ["2.4.0", "2.4", "2.4.1", "2.7.2"], id="2.4"),
        pytest.param(TRAITS_2_8, ["2.8.0", "2.8", "2.8.2", "3.0.0", "3.8.1"], id="2.8"),
        pytest.param(TRAITS_3_9, ["3.9.0", "3.9", "3.9.2", "4.0.0", "4.3.1", "4.3.9"], id="3.9"),
        pytest.param(TRAITS_4_4, ["4.4.0", "4.4", "4.4.0-rc1", "4.4.1", "5.0.0"], id="4.4"),
    ],
)
def test_release_has_the_traits_of_its_line(traits: Traits, releases: list[str]) -> None:
    """A release has what the last change at or before it says, and a future one what is newest."""
    for release in releases:
        assert traits_of(release) == traits, release


@pytest.mark.parametrize(
    ("release", "order"),
    [
        ("0.10.2.2", (0, 10, 2, 2)),
        ("0.10.0.0", (0, 10)),
        ("2.4.1", (2, 4, 1)),
        ("2.4.0", (2, 4)),
        ("2.4", (2, 4)),
        ("3.10.0", (3, 10)),
        ("10.0.0", (10,)),
        ("4.4.0-rc1", (4, 4)),
        ("4.4.0-SNAPSHOT", (4, 4)),
        ("0.0", (0,)),
    ],
)
def test_release_is_ordered_by_its_numbers(release: str, order: tuple[int, ...]) -> None:
    """Numbers count, not letters; zeros at the end and what stands behind the numbers do not."""
    assert release_order(release) == order


def test_releases_sort_as_they_were_published() -> None:
    """The recorded releases are in the order in which they came out."""
    assert sorted(sorted(LINES), key=release_order) == list(LINES)
    assert release_order("3.9.2") < release_order("3.10.0")
    assert release_order("0.10.2.2") < release_order("0.11") < release_order("1.0")


@pytest.mark.parametrize("text", ["", "trunk", "v4.4.0", ".4", "-1"])
def test_text_that_is_no_release_is_refused(text: str) -> None:
    """What does not begin with a number has no place in the order."""
    with pytest.raises(ValueError, match="is not a dotted release number"):
        release_order(text)


def test_release_before_the_first_entry_is_refused() -> None:
    """Nothing is known of releases without ApiVersions."""
    with pytest.raises(ProfileError) as caught:
        traits_of("0.9.0.1")
    assert str(caught.value) == "trait api_versions_max has no value for release 0.9.0.1"


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        pytest.param("[max_tags]", "[tags_max]", "['max_tags', 'tags_max']", id="misspelt"),
        pytest.param("", "[more]\nchanges = []\n", "['more']", id="unknown"),
    ],
)
def test_file_with_other_traits_is_refused(
    old: str, new: str, difference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file holds the traits that the model reads, all of them and no others."""
    content = (FOLDER / "apache_kafka.toml").read_text()
    (tmp_path / "apache_kafka.toml").write_text(content.replace(old, new, 1))
    monkeypatch.setattr(profile, "FOLDER", tmp_path)
    with pytest.raises(ProfileError) as caught:
        traits_of.__wrapped__("4.4.0")
    assert str(caught.value) == f"apache_kafka.toml: traits {difference} do not match"


def test_file_without_a_trait_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trait that is missing from the file is named."""
    content = (FOLDER / "apache_kafka.toml").read_text()
    (tmp_path / "apache_kafka.toml").write_text(content.partition("[max_tags]")[0])
    monkeypatch.setattr(profile, "FOLDER", tmp_path)
    with pytest.raises(ProfileError, match=r"traits \['max_tags'\] do not match$"):
        traits_of.__wrapped__("4.4.0")


def test_changes_of_a_trait_ascend_from_the_first_release() -> None:
    """Every trait begins with 0.10.0.0, and each change comes after the one before and changes the value."""
    for name, table in tomllib.loads((FOLDER / "apache_kafka.toml").read_text()).items():
        assert set(table) == {"changes"}, name
        changes = table["changes"]
        assert changes[0]["since"] == "0.10.0.0", name
        for before, after in itertools.pairwise(changes):
            assert release_order(before["since"]) < release_order(after["since"]), name
            assert before["value"] != after["value"], name


@pytest.mark.parametrize(
    ("release", "count"),
    [
        ("0.10.0.1", 19),
        ("0.11.0.3", 34),
        ("1.1.1", 43),
        ("2.0.1", 43),
        ("2.4.1", 48),
        ("2.8.2", 56),
        ("3.3.2", 49),
        ("3.7.2", 57),
        ("3.9.2", 61),
        ("4.0.2", 61),
        ("4.3.1", 75),
        ("4.4.0", 77),
    ],
)
def test_recorded_table_has_as_many_keys_as_the_release(release: str, count: int) -> None:
    """A recorded table has the number of keys that the release's sources give for that listener."""
    assert len(profile_at(release).api_keys) == count


def test_every_recorded_release_is_one_of_the_lines() -> None:
    """No table is recorded that these tests do not look at."""
    for file in ("advertised.csv", "features.csv"):
        with (FOLDER / file).open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert {row["release"] for row in rows} <= set(RECORDED)
        for row in rows:
            assert row["quorum"] == QUORUMS[row["release"]]
            assert row["listener"] == "plaintext"


@pytest.mark.parametrize("release", RECORDED)
def test_recorded_table_is_sound(release: str) -> None:
    """Keys ascend, each once; ranges are ranges; ApiVersions is listed with the release's own range."""
    recorded = profile_at(release)
    keys = [entry.api_key for entry in recorded.api_keys]
    assert keys == sorted(set(keys))
    assert all(0 <= entry.min_version <= entry.max_version for entry in recorded.api_keys)
    assert recorded.own_range in recorded.api_keys
    assert recorded.release == release


FEATURES_4_0 = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 25),
    "transaction.version": (0, 2),
}
FEATURES_4_3 = {
    **FEATURES_4_0,
    "metadata.version": (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
}


@pytest.mark.parametrize(
    ("release", "supported"),
    [
        *((release, {}) for release, quorum in QUORUMS.items() if quorum == "zookeeper"),
        ("3.3.2", {"metadata.version": (1, 7)}),
        ("3.7.2", {"metadata.version": (1, 19)}),
        ("3.9.2", {"kraft.version": (0, 1), "metadata.version": (1, 21)}),
        ("4.0.2", FEATURES_4_0),
        ("4.3.1", FEATURES_4_3),
        ("4.4.0", {**FEATURES_4_3, "metadata.version": (7, 33), "share.version": (0, 2)}),
    ],
)
def test_recorded_features_are_those_of_the_release(
    release: str, supported: dict[str, tuple[int, int]]
) -> None:
    """A release supports these features; a finalized one is supported, at a level above 0."""
    recorded = profile_at(release)
    found = {
        each.name: (each.min_version, each.max_version) for each in recorded.supported_features
    }
    assert found == supported
    for each in recorded.finalized_features:
        assert each.min_version_level == each.max_version_level
        assert 0 < each.max_version_level <= supported[each.name][1]
    assert "kraft.version" not in {each.name for each in recorded.finalized_features}


@pytest.mark.parametrize(
    ("release", "quorum", "listener"),
    [
        pytest.param("3.8.1", "kraft", "plaintext", id="release"),
        pytest.param("4.4.0", "zookeeper", "plaintext", id="quorum"),
        pytest.param("4.4.0", "kraft", "controller", id="listener"),
    ],
)
def test_what_is_not_recorded_has_traits_alone(release: str, quorum: str, listener: str) -> None:
    """Without a record there is no table and no feature, but the release's traits are known."""
    found = profile_of(release, quorum=quorum, listener=listener)
    assert found.traits == traits_of(release)
    assert (found.api_keys, found.supported_features, found.finalized_features) == ((), (), ())


def test_profiles_are_read_once() -> None:
    """The same question gives the same object."""
    assert profile_of("4.4.0") is profile_of("4.4.0")
    assert traits_of("4.4.0") is traits_of("4.4.0")


def test_newest_release_serves_the_newest_version() -> None:
    """The release that stands for the newest knows every version that the codec knows."""
    assert LINES[-1] == NEWEST_RELEASE
    assert profile_of(NEWEST_RELEASE).own_range.max_version == NEWEST_VERSION
