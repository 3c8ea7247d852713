"""Tests of profiles: order of releases, behaviour, tables, profile of a target."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fixtures.registry.targets import Target, load_targets
from reference_model.profiles import profile
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    FOLDER,
    KAFKA_CLUSTER,
    KIP_TEXT,
    KRAFT,
    NEWEST_RELEASE,
    REFERENCE,
    ZOOKEEPER,
    Profile,
    ProfileError,
    Traits,
    levels_of,
    line_of,
    profile_of,
    profile_of_target,
    release_order,
    traits_of,
    usual_quorum,
    with_own_table,
)
from tests.reference_model.broker.release_lines import KRAFT_LINES, LINES, QUORUMS, profile_at
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsResponse
from wire.error_codes import ErrorCode


def ranges(*each: tuple[int, int, int]) -> tuple[ApiVersion, ...]:
    """Return ranges of versions as table entries."""
    return tuple(
        ApiVersion(api_key=api_key, min_version=lowest, max_version=highest) for api_key, lowest, highest in each
    )


CHOKES_ON = r'[\n"*,:=?]'


NEWEST = {
    "api_versions_max": 5,
    "unsupported_names_range": True,
    "ids_checked": True,
    "ids_checked_before_authentication": False,
    "epoch_sent": True,
    "epoch_sent_before_authentication": True,
    "short_frame_ignored": False,
    "unanswered_client_ids": "",
    "body_tags_ascending": False,
    "negative_tag_count_accepted": False,
    "max_tags": 10000,
    "early_end_loses_answers": False,
    "early_end_may_hang": False,
    "tls_hides_requests": False,
    "requests_throttled": True,
    "answer_precedes_pause": True,
    "unused_metrics_removed": False,
    "deprecated_requests_counted": True,
    "sasl_frame_bytes_max": 524288,
    "sasl_versions_once": True,
    "sasl_handshake_max": 1,
    "sasl_authenticate_max": 2,
    "accepted_unlisted": ranges((71, 0, 0), (72, 0, 0)),
    "refused_listed": ranges((0, 0, 2)),
    "mechanisms_with_illegal_state": False,
}
"""The traits of 4.4 on a broker's listener."""

TRAITS_OF_LINES: tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...] = (
    (("4.4.0", "4.4", "4.4.0-rc1", "4.4.1", "5.0.0"), {}),
    (
        ("4.0.0", "4.3.1", "4.3.9"),
        {
            "api_versions_max": 4,
            "ids_checked": False,
            "negative_tag_count_accepted": True,
            "max_tags": -1,
        },
    ),
    (("3.9.0", "3.9", "3.9.2"), {"refused_listed": ()}),
    (("3.7.0", "3.8.1"), {"api_versions_max": 3}),
    (("3.3.0", "3.6.2"), {"accepted_unlisted": (), "deprecated_requests_counted": False}),
    (("3.0.0", "3.2.3"), {"accepted_unlisted": ranges((55, 0, 0))}),
    (("2.8.0", "2.8", "2.8.2"), {"accepted_unlisted": ()}),
    (
        ("2.7.0", "2.7.2"),
        {"epoch_sent_before_authentication": False, "body_tags_ascending": True},
    ),
    (("2.5.1", "2.6.3"), {"epoch_sent": False}),
    (("2.4.0", "2.4", "2.4.1"), {"early_end_loses_answers": True, "sasl_authenticate_max": 1}),
    (("2.2.0", "2.2.2", "2.3.1"), {"api_versions_max": 2, "unsupported_names_range": False}),
    (("2.0.0", "2.0", "2.0.1", "2.1.1"), {"sasl_authenticate_max": 0}),
    (("1.1.0", "1.1.1"), {"api_versions_max": 1, "answer_precedes_pause": False}),
    (("1.0.0", "1.0", "1.0.2"), {"mechanisms_with_illegal_state": True}),
    (
        ("0.11.0.0", "0.11.0", "0.11.0.3"),
        {
            "early_end_may_hang": True,
            "tls_hides_requests": True,
            "short_frame_ignored": True,
            "unanswered_client_ids": CHOKES_ON,
            "sasl_versions_once": False,
            "sasl_handshake_max": 0,
            "sasl_authenticate_max": -1,
            "accepted_unlisted": ranges((7, -32768, 32767)),
        },
    ),
    (
        ("0.10.2.0", "0.10.2.2"),
        {"api_versions_max": 0, "unanswered_client_ids": "", "sasl_frame_bytes_max": 104857600},
    ),
    (
        ("0.10.0.0", "0.10.0.1", "0.10", "0.10.1.1"),
        {
            "early_end_may_hang": False,
            "accepted_unlisted": ranges((1, -32768, 32767), (7, -32768, 32767)),
        },
    ),
)
"""Releases of a line, newest first, and in what their traits differ from those of the next newer line."""


def test_release_has_the_traits_of_its_line() -> None:
    """A release has the traits of the latest change at or before it; future releases have the newest."""
    traits = Traits(**NEWEST)  # type: ignore[arg-type]
    for releases, changes in TRAITS_OF_LINES:
        traits = replace(traits, **changes)
        for release in releases:
            assert traits_of(release, quorum=KRAFT) == traits, release


@pytest.mark.parametrize(
    ("release", "changes"),
    [
        pytest.param("4.4.0", {"ids_checked": False}, id="4.4"),
        pytest.param("3.9.2", {}, id="3.9"),
        pytest.param("3.5.2", {"epoch_sent": False}, id="3.5"),
        pytest.param("3.4.1", {"epoch_sent": False, "requests_throttled": False}, id="3.4"),
    ],
)
def test_controller_differs_where_it_says(release: str, changes: dict[str, bool]) -> None:
    """A controller has its release's traits, except ids, the early epoch and quotas, and the broker's keys."""
    broker = traits_of(release)
    expected = asdict(broker) | changes | {"accepted_unlisted": (), "refused_listed": ()}
    assert asdict(traits_of(release, listener="controller")) == expected


def test_zookeeper_brokers_list_an_api_that_they_refuse() -> None:
    """From 3.4 on Envelope is listed and refused; telemetry only exists with KRaft."""
    expected = replace(traits_of("3.9.2"), accepted_unlisted=(), refused_listed=ranges((58, 0, 0)))
    assert traits_of("3.9.2", quorum="zookeeper") == expected


def test_kip_text_differs_where_its_file_says() -> None:
    """By the text, ids are checked everywhere, what is listed is served, nothing else is, and unused metrics are
    removed."""
    text = {
        "accepted_unlisted": (),
        "ids_checked": True,
        "ids_checked_before_authentication": True,
        "refused_listed": (),
        "unused_metrics_removed": True,
    }
    for listener in ("plaintext", "controller"):
        expected = asdict(traits_of("4.4.0", listener=listener)) | text
        assert asdict(traits_of("4.4.0", listener=listener, follows=KIP_TEXT)) == expected


@pytest.mark.parametrize(
    ("release", "quorum", "listener", "request_", "accepted"),
    [
        pytest.param("4.4.0", "kraft", "ssl", (0, 2), False, id="listed-and-refused"),
        pytest.param("4.4.0", "kraft", "ssl", (0, 3), True, id="listed"),
        pytest.param("4.4.0", "kraft", "ssl", (71, 0), True, id="unlisted-and-accepted"),
        pytest.param("4.4.0", "kraft", "controller", (71, 0), False, id="controller"),
        pytest.param("4.4.0", "kraft", "controller", (0, 3), False, id="broker-key"),
        pytest.param("3.9.2", "zookeeper", "plaintext", (58, 0), False, id="envelope"),
        pytest.param("0.11.0.3", "zookeeper", "plaintext", (7, 99), True, id="shutdown"),
    ],
)
def test_listed_and_accepted_are_two_relations(
    release: str, quorum: str, listener: str, request_: tuple[int, int], accepted: bool
) -> None:
    """The accepted APIs are those listed, without the refused ones and with some unlisted ones."""
    assert profile_of(release, quorum=quorum, listener=listener).accepts(*request_) is accepted


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
    """Only the numbers count, without trailing zeros and without any suffix."""
    assert release_order(release) == order


def test_releases_sort_as_they_were_published() -> None:
    """The recorded releases are in the order of their publication."""
    assert sorted(sorted(LINES), key=release_order) == list(LINES)
    assert release_order("3.9.2") < release_order("3.10.0")
    assert release_order("0.10.2.2") < release_order("0.11") < release_order("1.0")


@pytest.mark.parametrize("text", ["", "trunk", "v4.4.0", ".4", "-1"])
def test_text_that_is_no_release_is_refused(text: str) -> None:
    """A text that does not begin with a number has no place in the order."""
    with pytest.raises(ValueError, match="is not a dotted release number"):
        release_order(text)


def test_release_before_the_first_entry_is_refused() -> None:
    """Releases without ApiVersions have no traits."""
    with pytest.raises(ProfileError) as caught:
        traits_of("0.9.0.1")
    assert str(caught.value) == "trait api_versions_max has no value for release 0.9.0.1"


CONTENT = (FOLDER / "apache_kafka.toml").read_text()


@pytest.mark.parametrize(
    ("content", "difference"),
    [
        pytest.param(CONTENT.replace("[max_tags]", "[tags_max]"), "['max_tags', 'tags_max']", id="misspelt"),
        pytest.param(f"[more]\nchanges = []\n{CONTENT}", "['more']", id="unknown"),
        pytest.param(CONTENT.partition("[refused_listed]")[0], "['refused_listed']", id="missing"),
    ],
)
def test_file_with_other_traits_is_refused(
    content: str, difference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has exactly the traits that the model reads."""
    (tmp_path / "apache_kafka.toml").write_text(content)
    monkeypatch.setattr(profile, "FOLDER", tmp_path)
    with pytest.raises(ProfileError) as caught:
        traits_of.__wrapped__("4.4.0")
    assert str(caught.value) == f"apache_kafka.toml: traits {difference} do not match"


KEYS_OF_BROKERS = (
    *(19, 21, 21, 34, 38, 43, 43, 43, 44, 45, 48, 48, 50, 54, 56, 59, 59, 59),
    *(49, 49, 51, 55, 57, 59, 61, 61, 61, 73, 75, 75, 77),
)
"""How many keys the sources of each recorded release have for brokers; KRaft begins in the second row."""
KEYS_OF_CONTROLLERS = (29, 29, 31, 35, 39, 39, 42, 41, 41, 41, 41, 41, 42)
"""The same for controllers, from 3.3 on."""


def test_recorded_table_has_as_many_keys_as_the_release() -> None:
    """No row was lost when the tables were recorded."""
    assert tuple(len(profile_at(release).api_keys) for release in LINES) == KEYS_OF_BROKERS
    controllers = (profile_of(release, listener="controller") for release in KRAFT_LINES)
    assert tuple(len(each.api_keys) for each in controllers) == KEYS_OF_CONTROLLERS


def test_tables_are_recorded_of_every_line() -> None:
    """Each line has a table, each KRaft line also one of its controller, and 3.9 one with ZooKeeper."""
    with (FOLDER / "advertised.csv").open() as lines:
        found = {(row["release"], row["quorum"], row["listener"]) for row in csv.DictReader(lines)}
    expected = {(release, quorum, "plaintext") for release, quorum in QUORUMS.items()}
    expected |= {(release, "kraft", "controller") for release in KRAFT_LINES}
    assert found == expected | {("3.9.2", "zookeeper", "plaintext")}


@pytest.mark.parametrize(
    ("release", "api_key", "api_version", "reads"),
    [
        pytest.param("0.11.0.3", 3, 0, False, id="no-handshake-v1"),
        pytest.param("2.3.1", 2, 4, True, id="listed"),
        pytest.param("2.3.1", 2, 5, False, id="listed-and-not-refused-in-its-layout"),
        pytest.param("2.8.2", 52, 0, True, id="of-controllers"),
        pytest.param("3.4.1", 4, 7, True, id="of-zookeeper"),
        pytest.param("4.1.2", 88, 0, True, id="unstable"),
        pytest.param("4.4.0", 0, 2, False, id="listed-and-refused"),
        pytest.param("4.4.0", 3, 99, False, id="unknown-version"),
        pytest.param("4.4.9", 3, 0, True, id="as-the-recorded-release-of-its-line"),
    ],
)
def test_release_reads_what_was_recorded(release: str, api_key: int, api_version: int, reads: bool) -> None:
    """What a release can read is not quite what its listeners list."""
    assert profile_of(release, listener="sasl_plaintext").reads(api_key, api_version) is reads


@pytest.mark.parametrize("listener", ["plaintext", "controller"])
@pytest.mark.parametrize("release", LINES)
def test_recorded_table_is_sound(release: str, listener: str) -> None:
    """Keys ascend without repetition, ranges are valid, and ApiVersions has the release's own range."""
    recorded = profile_of(release, quorum=QUORUMS[release], listener=listener)
    if listener == "controller" and release not in KRAFT_LINES:
        assert recorded.api_keys == ()
        return
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
def test_recorded_features_are_those_of_the_release(release: str, supported: dict[str, tuple[int, int]]) -> None:
    """A release has the given supported features; finalized ones are supported, at a level above 0."""
    recorded = profile_at(release)
    found = {each.name: (each.min_version, each.max_version) for each in recorded.supported_features}
    assert found == supported
    for each in recorded.finalized_features:
        assert each.min_version_level == each.max_version_level
        assert 0 < each.max_version_level <= supported[each.name][1]
    assert "kraft.version" not in {each.name for each in recorded.finalized_features}


@pytest.mark.parametrize(
    ("release", "quorum", "listener"),
    [
        pytest.param("3.8.0", "kraft", "plaintext", id="release"),
        pytest.param("4.4.0", "zookeeper", "plaintext", id="quorum"),
        pytest.param("2.8.2", "zookeeper", "controller", id="listener"),
    ],
)
def test_what_is_not_recorded_has_traits_alone(release: str, quorum: str, listener: str) -> None:
    """Without a record there are no tables and no features, only the release's traits."""
    found = profile_of(release, quorum=quorum, listener=listener)
    assert found.traits == traits_of(release, quorum=quorum, listener=listener)
    assert (found.api_keys, found.supported_features, found.finalized_features) == ((), (), ())


def test_newest_release_serves_the_newest_version() -> None:
    """The newest release supports every version that the codec knows."""
    assert LINES[-1] == NEWEST_RELEASE
    assert profile_of(NEWEST_RELEASE).own_range.max_version == NEWEST_VERSION


def test_patch_release_without_a_record_serves_what_its_line_does() -> None:
    unrecorded, recorded = profile_of("4.3.77"), profile_of("4.3.1")
    assert unrecorded.api_keys == ()
    assert unrecorded.served_keys == recorded.served_keys == recorded.api_keys
    assert unrecorded.accepts(17, 0)


def test_first_release_of_a_line_belongs_to_it() -> None:
    """Releases "4.0.0" and "4.0" are of the same line as "4.0.2", although trailing zeros do not order releases."""
    assert line_of("4.0.0") == line_of("4.0") == line_of("4.0.2") == (4, 0)
    assert line_of("0.10.2.2") == line_of("0.10.2") == (0, 10, 2)
    assert profile_of("4.0.9").served_keys == profile_of("4.0").served_keys == profile_of("4.0.2").served_keys


def test_the_first_release_of_4_0_has_a_table_of_its_own() -> None:
    """KAFKA-19444: 4.0.1 put JoinGroup v0 and v1 back."""
    first, later = (profile_of(release) for release in ("4.0.0", "4.0.2"))
    assert {*first.api_keys} ^ {*later.api_keys} == {
        ApiVersion(api_key=11, min_version=2, max_version=9),
        ApiVersion(api_key=11, min_version=0, max_version=9),
    }
    assert [each.reads(11, 1) for each in (first, later)] == [False, True]


def test_line_without_a_record_serves_nothing_that_is_known() -> None:
    """For a line without any record, the model knows no other API."""
    assert profile_of("99.0").served_keys == ()


@pytest.mark.parametrize(("listed", "newest"), [(None, 5), (3, 3), (9, NEWEST_VERSION)])
def test_own_table_replaces_that_of_the_release(listed: int | None, newest: int) -> None:
    """The table of a target that is no known release is its own, and so are its versions of ApiVersions and its
    epoch."""
    metadata = ApiVersion(api_key=3, min_version=1, max_version=2)
    own = ApiVersion(api_key=18, min_version=0, max_version=listed or 0)
    table = (metadata, own) if listed is not None else (metadata,)
    known = profile_of(NEWEST_RELEASE)
    found = with_own_table(known, ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=table))
    assert (found.api_keys, found.served_keys) == (table, table)
    assert found.traits.api_versions_max == newest
    assert not found.traits.epoch_sent
    # It can parse what it lists, also what no release knows.
    assert found.readable_keys == (*known.readable_keys, *table)
    unrecorded = replace(known, readable_keys=())
    response = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=table)
    assert with_own_table(unrecorded, response).readable_keys == ()
    assert (found.supported_features, found.finalized_features) == ((), ())
    assert found.traits.ids_checked is known.traits.ids_checked


RELEASES = [each for each in load_targets() if each.implementation == APACHE_KAFKA and each.handshake]


@pytest.mark.parametrize(
    ("release", "quorum"),
    [
        pytest.param("0.8.2.2", ZOOKEEPER, id="before-the-records"),
        pytest.param("2.8.0", ZOOKEEPER, id="unrecorded-with-an-old-line"),
        pytest.param("3.2.3", ZOOKEEPER, id="last-without-kraft"),
        pytest.param("3.3.0", KRAFT, id="first-with-kraft"),
        pytest.param("3.9.2", KRAFT, id="with-both"),
        pytest.param("99.0", KRAFT, id="after-the-records"),
    ],
)
def test_quorum_is_kraft_since_the_first_line_with_it(release: str, quorum: str) -> None:
    """A release that was recorded with both is older than those with KRaft alone."""
    assert usual_quorum(release) == quorum


@pytest.mark.parametrize("release", ["0.10.0.1", "3.2.3", "3.9.2", "4.4.0"])
def test_profile_is_that_of_the_usual_quorum(release: str) -> None:
    """Unless another one is asked for: that default is never the profile without a table of a release with
    ZooKeeper."""
    usual = usual_quorum(release)
    assert traits_of(release) == traits_of(release, quorum=usual)
    assert profile_of(release) == profile_of(release, quorum=usual)
    assert profile_of(release).api_keys


@pytest.mark.parametrize("target", RELEASES, ids=[each.id for each in RELEASES])
def test_record_of_a_release_has_the_quorum_of_the_registry(target: Target) -> None:
    """A run does not record it, but the release or its id says it."""
    named = (target.id, target.implementation, target.release)
    recorded = profile_of_target(*named, listener=PLAINTEXT)
    assert recorded == profile_of_target(*named, quorum=target.quorum, listener=PLAINTEXT)
    assert recorded.api_keys


@pytest.mark.parametrize(
    ("target", "implementation"),
    [
        pytest.param("redpanda-26.2.3", "redpanda", id="product"),
        pytest.param("a-proxy-to-apache-kafka-3.9.2-zookeeper", "a-proxy", id="proxy"),
    ],
)
def test_another_implementation_is_judged_by_the_newest_release(target: str, implementation: str) -> None:
    found = profile_of_target(target, implementation, "1.0", listener=PLAINTEXT)
    assert found == profile_of(NEWEST_RELEASE)


def test_cluster_can_do_what_its_first_broker_can() -> None:
    """One in the middle of an upgrade is not judged by metrics that only the newer release has."""
    found = profile_of_target("kafka-cluster-2.8.2-3.9.2", KAFKA_CLUSTER, "2.8.2", quorum=ZOOKEEPER, listener=PLAINTEXT)
    assert found == profile_of("2.8.2", quorum=ZOOKEEPER)
    assert not found.traits.deprecated_requests_counted


def test_reference_broker_follows_the_text() -> None:
    """Any other target follows it only where that is asked for."""
    reference = (REFERENCE, REFERENCE, NEWEST_RELEASE)
    kafka = (f"{APACHE_KAFKA}-{NEWEST_RELEASE}", APACHE_KAFKA, NEWEST_RELEASE)
    by_text = profile_of(NEWEST_RELEASE, follows=KIP_TEXT)
    assert profile_of_target(*reference, listener=PLAINTEXT) == by_text
    assert profile_of_target(*kafka, listener=PLAINTEXT) == profile_of(NEWEST_RELEASE)
    assert profile_of_target(*kafka, listener=PLAINTEXT, follows=KIP_TEXT) == by_text


def test_each_release_is_recorded_at_each_older_level() -> None:
    """The newer the level, the higher the version of metadata; supported features are those of the release."""
    assert levels_of("3.3.2") == levels_of("2.8.2") == ()
    assert levels_of("3.9.2") == ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8")
    for release in KRAFT_LINES:
        own = profile_of(release)
        at_levels = [profile_of(release, level=level) for level in levels_of(release)]
        metadata = [_metadata_level(each) for each in (*at_levels, own)]
        assert metadata == sorted(set(metadata)), release
        assert all(each.supported_features == own.supported_features for each in at_levels), release
        assert all(each.api_keys == own.api_keys for each in at_levels), release


def _metadata_level(profile: Profile) -> int:
    return next(each.max_version_level for each in profile.finalized_features if each.name == "metadata.version")


def test_a_target_has_the_level_in_its_id() -> None:
    """Records name targets by ids alone; a dash and "at" in the name of another implementation mean nothing."""
    (only,) = profile_of_target(
        "apache-kafka-4.4.0-at-3.9", APACHE_KAFKA, "4.4.0", listener="plaintext"
    ).finalized_features
    assert (only.name, only.max_version_level) == ("metadata.version", 21)
    planted = profile_of_target("reference-at-3.9+some-defect", "reference", "4.4.0", listener="plaintext")
    assert planted.finalized_features == (only,)
    other = profile_of_target("kafka-build-4.4.0-at-work", "kafka-build", "4.4.0", listener="plaintext")
    assert other.finalized_features == profile_of("4.4.0").finalized_features
