"""Which profile a target has: by what the registry says of it, or by what a record says."""

from __future__ import annotations

import pytest

from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    KIP_TEXT,
    KRAFT,
    NEWEST_RELEASE,
    REFERENCE,
    ZOOKEEPER,
    profile_of,
    profile_of_target,
    traits_of,
    usual_quorum,
)

RELEASES = [
    each for each in load_targets() if each.implementation == APACHE_KAFKA and each.handshake
]


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
    """Unless another one is asked for: that default is never the profile without a table of a release with ZooKeeper."""
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
def test_another_implementation_is_judged_by_the_newest_release(
    target: str, implementation: str
) -> None:
    """Its id says nothing about a quorum, even if it names a release."""
    found = profile_of_target(target, implementation, "1.0", listener=PLAINTEXT)
    assert found == profile_of(NEWEST_RELEASE)


def test_reference_broker_follows_the_text() -> None:
    """Any other target follows it only where that is asked for."""
    reference = (REFERENCE, REFERENCE, NEWEST_RELEASE)
    kafka = (f"{APACHE_KAFKA}-{NEWEST_RELEASE}", APACHE_KAFKA, NEWEST_RELEASE)
    by_text = profile_of(NEWEST_RELEASE, follows=KIP_TEXT)
    assert profile_of_target(*reference, listener=PLAINTEXT) == by_text
    assert profile_of_target(*kafka, listener=PLAINTEXT) == profile_of(NEWEST_RELEASE)
    assert profile_of_target(*kafka, listener=PLAINTEXT, follows=KIP_TEXT) == by_text
