"""Tests of what the reference broker responds to the requests of a failure."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    KRAFT,
    NEWEST_RELEASE,
    ZOOKEEPER,
    profile_of,
)
from reports.site.expected_answers import ExpectedAnswer, expected_answers
from reports.tables.target_rows import GridTarget
from strategies.api_versions import build_request
from wire.frames import encode_frame

LIST_GROUPS_V5 = "0010 0005 00000007 0000 00 01 01 00"
PRODUCE_V99 = "0000 0063 00000007 0000 00"
RELEASES = [each for each in load_targets() if each.implementation == APACHE_KAFKA and each.handshake]


def _target(
    target: str,
    *,
    implementation: str = APACHE_KAFKA,
    release: str = NEWEST_RELEASE,
    listener: str = "plaintext",
    like: str | None = None,
) -> GridTarget:
    return GridTarget(
        target=target,
        listener=listener,
        implementation=implementation,
        release=release,
        release_order=(),
        launcher="process",
        artefacts={},
        run_id="run",
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        like=like,
    )


def _expected(target: GridTarget, version: int) -> list[ExpectedAnswer]:
    sent = [{"connection": 0, "data": build_request(version=version).data.hex()}]
    return expected_answers({"sent": sent}, target)


def _keys(answer: ExpectedAnswer) -> list[str]:
    return [row.value for row in answer.rows if row.path.endswith(".api_key")]


def _recorded_keys(release: str, quorum: str | None) -> list[str]:
    return [str(entry.api_key) for entry in profile_of(release, quorum=quorum).api_keys]


@pytest.mark.parametrize("target", RELEASES, ids=[each.id for each in RELEASES])
def test_release_is_compared_with_itself(target: Target) -> None:
    """What is expected of a release is its own table, with its own quorum, and its refusal of a version that it
    lacks."""
    recorded = _target(target.id, release=target.release)
    (served,) = _expected(recorded, 0)
    assert sorted(_keys(served)) == sorted(_recorded_keys(target.release, target.quorum))
    newest = profile_of(target.release, quorum=target.quorum).traits.api_versions_max
    # Version 5 may name a cluster and is not compared.
    (refused,) = _expected(recorded, newest + 1 if newest < 4 else 6)
    codes = [row.value for row in refused.rows if row.path == "error_code"]
    assert codes == ["UNSUPPORTED_VERSION (35)"]


@pytest.mark.parametrize(
    ("like", "release", "quorum"),
    [
        pytest.param("apache-kafka-3.9.2", "3.9.2", KRAFT, id="kraft"),
        pytest.param("apache-kafka-3.9.2-zookeeper", "3.9.2", ZOOKEEPER, id="zookeeper"),
        pytest.param("apache-kafka-2.4.1", "2.4.1", ZOOKEEPER, id="only-zookeeper"),
        pytest.param("reference", NEWEST_RELEASE, KRAFT, id="reference"),
    ],
)
def test_build_is_compared_with_what_it_is_judged_like(like: str, release: str, quorum: str) -> None:
    build = _target("build", implementation="kafka-build", release="4.5.0-SNAPSHOT", like=like)
    (served,) = _expected(build, 0)
    assert sorted(_keys(served)) == sorted(_recorded_keys(release, quorum))


def test_another_product_is_compared_with_the_newest_release() -> None:
    product = _target("redpanda-26.2.3", implementation="redpanda", release="26.2.3")
    (served,) = _expected(product, 0)
    assert sorted(_keys(served)) == sorted(_recorded_keys(NEWEST_RELEASE, KRAFT))


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(_target("apache-kafka-4.3.77", release="4.3.77"), id="not-recorded"),
        pytest.param(_target("apache-kafka-0.9.0.1", release="0.9.0.1"), id="no-traits"),
        pytest.param(_target("apache-kafka-trunk", release="trunk"), id="no-number"),
        pytest.param(_target("build", like="no-release-at-all"), id="like-what"),
        pytest.param(
            _target("apache-kafka-3.2.3", release="3.2.3", listener="controller"),
            id="no-controller",
        ),
    ],
)
def test_nothing_is_expected_of_what_is_not_known(target: GridTarget) -> None:
    assert _expected(target, 0) == []


@pytest.mark.parametrize(
    ("version", "answers"),
    [
        pytest.param(0, 1, id="v0"),
        pytest.param(4, 1, id="v4"),
        pytest.param(5, 0, id="v5-names-a-cluster"),
        pytest.param(6, 1, id="v6-is-unknown"),
        pytest.param(99, 1, id="v99-is-unknown"),
    ],
)
def test_request_has_a_reference_answer_unless_it_names_a_cluster(version: int, answers: int) -> None:
    """The reference broker has its own cluster id, and reads no cluster id in versions that it does not know."""
    found = _expected(_target("apache-kafka-4.4.0"), version)
    assert [each.what for each in found] == ["answer"] * answers


@pytest.mark.parametrize(
    ("payload", "what", "by_own_table"),
    [
        pytest.param(LIST_GROUPS_V5, "answer", True, id="served"),
        pytest.param(PRODUCE_V99, "closed", True, id="not-served"),
        pytest.param("0012 0000 00000007 0000", "answer", False, id="api-versions"),
        pytest.param("0010", "closed", False, id="names-no-api"),
    ],
)
def test_reaction_to_another_api_follows_from_the_table(payload: str, what: str, by_own_table: bool) -> None:
    """The target may advertise other versions of the API than the reference broker, so the page notes that."""
    frame = encode_frame(bytes.fromhex(payload))
    facts = {"sent": [{"connection": 0, "data": frame.hex()}]}
    (found,) = expected_answers(facts, _target("apache-kafka-4.4.0"))
    assert (found.what, found.by_own_table) == (what, by_own_table)
