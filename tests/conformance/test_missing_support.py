"""What a broker lacks for an operation, and which errors say it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clauses.operations import OPERATIONS
from conformance.assertions.client_success import assert_works_or_says_why
from conformance.assertions.missing_support import (
    missing_for,
    missing_in,
    names_what_is_missing,
    version_needed,
)
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.script import Answer, Script
from reference_model.profiles.listeners import SASL_PLAINTEXT
from reference_model.profiles.profile import RECORDED_RELEASES
from strategies.cluster_scripts import answer_of, broker_of
from tests.conformance.client_plays import WELL, FakeClient, entry, worked
from tests.reference_model.clients.recordings import asked, listing, recorded, sent
from wire.api_keys import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    FETCH_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
)


@pytest.mark.parametrize(
    "detail",
    [
        "org.apache.kafka.common.errors.UnsupportedVersionException: The broker does not support X",
        'KafkaException: KafkaError{code=_UNSUPPORTED_FEATURE,str="requires broker version >= 0.11"}',
        "IncompatibleBrokerVersion: Kafka broker does not support the 'X' Kafka protocol.",
        "UnsupportedVersionError: offsets_for_times",
        "UNSUPPORTED_VERSION",
        "broker is too old; the broker has already indicated it will not know how to handle the request",
        "kafka server: The version of API is not supported.",
        "AssertionError: Headers not supported in v0/v1",
        "Request error: Cannot find matching version for: DeleteRecords",
        "the node does not support DESCRIBE_CONFIGS",
        "the broker does not support API 10000",
        "share groups need share.version 1, which is not supported",
        "an idempotent producer requires Kafka 0.11 or newer",
        "the broker is too old",
        "broker 0.10.2.1 does not support it",
        "not supported by Kafka 2.4",
    ],
)
def test_type_or_name_says_what_is_missing(detail: str) -> None:
    """An application can tell why it fails: of an API, a feature or a version."""
    assert names_what_is_missing(detail)


@pytest.mark.parametrize(
    "detail",
    [
        "SASL mechanism GSSAPI is not supported",
        "unsupported compression type zstd",
        "UnsupportedCodecError: zstd",
        "IPv6 is not supported on this host",
        "IP v6 is not supported on this host",
        "TLS v1 is not supported",
        "unsupported protocol TLSv1.3",
        "java.lang.UnsupportedOperationException",
        "SASL mechanism GSSAPI is not supported by broker 127.0.0.1:9092",
        "Kafka at 10.0.0.7:9092: unsupported compression type zstd",
        "broker 0.0.0.0: unsupported security protocol",
        "TimeoutException: no answer to InitProducerId v0",
        "Fetched nothing: not supported",
        "",
    ],
)
def test_words_alone_do_not(detail: str) -> None:
    """Errors that have nothing to do with the broker's age have the same words, and slow brokers the same names."""
    assert not names_what_is_missing(detail)


REMOVED_KEY = 4
"""LeaderAndIsr, of which the newest release has no version any more."""
SINCE = {
    "metadata": "0.10.0.1",
    "describe-configs": "1.1.1",
    "alter-configs": "1.1.1",
    "incremental-alter-configs": "2.3.1",
    "consumer-group-protocol": "4.0.0",
    "share-group": "4.2.1",
}
"""The first release that has all that an operation takes; the others are those of clients of today, since 0.11."""


def _missing(release: str, operation: str) -> list[str]:
    answer = answer_of(release)
    return missing_for(OPERATIONS[operation], recorded(asked(3, answer)), "") or []


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if OPERATIONS[name].needs])
def test_operation_can_be_done_since_a_release(operation: str) -> None:
    """The recorded tables of all releases say it: those of KIP-896 take more than the first versions of an API."""
    able = [release for release in RECORDED_RELEASES if not _missing(release, operation)]
    assert able[0] == SINCE.get(operation, "0.11.0.3")
    assert able == list(RECORDED_RELEASES)[-len(able) :]


def test_client_may_need_what_the_newest_release_still_has() -> None:
    assert version_needed(PRODUCE_KEY, 0) == 3
    assert version_needed(FETCH_KEY, 5) == 5
    assert version_needed(REMOVED_KEY, 2) == 2
    assert version_needed(10_000, 1) == 1


@pytest.mark.parametrize(
    ("ranges", "missing"),
    [
        pytest.param({METADATA_KEY: ((0, 1),)}, [], id="listed"),
        pytest.param({METADATA_KEY: ((0, 0),)}, ["Metadata v1"], id="too-old"),
        pytest.param({}, ["Metadata v1"], id="not-listed"),
        pytest.param({METADATA_KEY: ((7, 2), (-3, -1))}, ["Metadata v1"], id="no-range"),
        pytest.param({METADATA_KEY: ((0, 0), (3, 9))}, [], id="one-of-two-entries"),
    ],
)
def test_table_lacks_what_no_entry_has(ranges: dict[int, tuple[tuple[int, int], ...]], missing: list[str]) -> None:
    """A later version can do the same."""
    assert missing_in(ranges, {METADATA_KEY: 1}) == missing


GROUPS = OPERATIONS["consumer-group-protocol"]
ALL_LISTED = tuple((key, 0, 20) for key in GROUPS.needs)


def with_features(epoch: int) -> Answer:
    """Return a table that has all that a group of KIP-848 takes, and an epoch of its features."""
    answer = listing(*ALL_LISTED)
    return replace(answer, finalized_features=(("group.version", 1, 1),), finalized_features_epoch=epoch)


def test_feature_has_to_be_finalized() -> None:
    """A table without an epoch, or in a version that has no features, says nothing of them."""
    assert missing_for(GROUPS, recorded(asked(3, with_features(0))), "") == []
    for lacking in (
        recorded(asked(3, with_features(-1))),
        recorded(asked(2, with_features(0))),
        recorded(asked(3, listing(*ALL_LISTED))),
    ):
        assert missing_for(GROUPS, lacking, "") == ["group.version 1"]


def test_one_of_several_brokers_may_lack_something() -> None:
    """A cluster of two releases can do what both can."""
    old = listing((CONSUMER_GROUP_HEARTBEAT_KEY, 0, 0), *ALL_LISTED[:-1])
    both = recorded(asked(3, with_features(0)), asked(3, old, connection=1))
    found = missing_for(GROUPS, both, "")
    assert found == ["ConsumerGroupHeartbeat v1", "group.version 1"]


def test_without_a_table_nothing_is_known() -> None:
    """The client never asked, or was refused."""
    assert missing_for(GROUPS, recorded(sent(12)), "") is None


LATER = listing((METADATA_KEY, 0, 13), (PRODUCE_KEY, 3, 13), (LIST_OFFSETS_KEY, 1, 11))
TIMES = OPERATIONS["offsets-for-times"]


def test_client_may_be_too_old_for_what_the_broker_dropped() -> None:
    """If its error names that API, and it was seen to send nothing of it."""
    never_sent = recorded(asked(3, LATER), sent(12))
    detail = "no common version of ListOffsets"
    assert missing_for(TIMES, never_sent, detail) == ["ListOffsets v0 to v0"]
    assert missing_for(TIMES, never_sent, "no common version of Fetch") == []
    used = recorded(asked(3, LATER), sent(12), sent(5, api_key=LIST_OFFSETS_KEY))
    assert missing_for(TIMES, used, detail) == []


def ending(script: Script, detail: str, outcome: str | None = "error") -> Play:
    """Return a play of a script whose client ends with an error."""
    result = replace(WELL, outcome=outcome, exit_status=1, detail=detail)
    return Play(recording=recorded(asked(3), script=script), result=result)


OLD = broker_of("1.1.1")
OLD_WITH_SASL = broker_of("0.10.2.2", listener=SASL_PLAINTEXT)
NAMED = "UnsupportedVersionException: the broker is too old"
READER = FakeClient(healthy=worked(asked(4), sent(12), sent(17, api_key=FETCH_KEY)))
COMMAND = FakeClient(
    healthy=worked(asked(4), sent(12), sent(1, api_key=CONSUMER_GROUP_HEARTBEAT_KEY)),
    client=entry(can_ask_again=False),
)
"""A foreign command, which uses an API that no old broker has."""


@pytest.mark.parametrize(
    ("client", "play"),
    [
        pytest.param(READER, worked(asked(4), script=OLD), id="works"),
        pytest.param(READER, ending(OLD_WITH_SASL, NAMED), id="too-old-to-authenticate"),
        pytest.param(READER, ending(OLD_WITH_SASL, f"{NAMED}, deadlineMs=30000"), id="deadline-is-named-too"),
        pytest.param(COMMAND, ending(OLD, NAMED), id="too-old-for-a-command"),
        pytest.param(COMMAND, ending(OLD, "", None), id="command-prints-nothing"),
    ],
)
def test_client_works_or_says_what_is_missing(client: FakeClient, play: Play) -> None:
    """With a broker of an old release that lacks something an error is right."""
    assert_works_or_says_why(client, play)


@pytest.mark.parametrize(
    ("client", "play", "message"),
    [
        pytest.param(READER, ending(OLD, NAMED), "fails with a broker that lists all", id="polite"),
        pytest.param(READER, ending(OLD, "cannot continue"), "fails with a broker that lists", id="unclear"),
        pytest.param(
            READER,
            ending(OLD_WITH_SASL, "SASL mechanism PLAIN is not supported"),
            "does not say what the broker lacks",
            id="wrong-reason",
        ),
        pytest.param(
            FakeClient(client=entry(can_ask_again=False)),
            ending(OLD, "", None),
            "fails with a broker that lists all",
            id="command-that-needs-nothing",
        ),
    ],
)
def test_broker_that_has_everything_is_no_reason(client: FakeClient, play: Play, message: str) -> None:
    """However politely the client refuses it."""
    with pytest.raises(AssertionError, match=message):
        assert_works_or_says_why(client, play)


def test_client_that_never_ends_has_no_excuse() -> None:
    hung = replace(WELL, outcome="error", detail="no result after 3 s")
    with pytest.raises(AssertionError, match="its operation never ends"):
        assert_works_or_says_why(READER, Play(recording=recorded(asked(3), script=OLD, duration_ms=9000), result=hung))
