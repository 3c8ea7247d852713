"""Every request has the newest version that client and broker share.

The rule applies as far as plays show which version that is.
"""

from __future__ import annotations

import pytest

from conformance.assertions.newest_versions import assert_newest_common_versions, newest_versions
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import SeenRequest
from tests.conformance.client_plays import worked
from tests.reference_model.clients.recordings import asked, listing, sent
from wire.api_keys import (
    ADD_PARTITIONS_TO_TXN_KEY,
    DESCRIBE_CLUSTER_KEY,
    END_TXN_KEY,
    FETCH_KEY,
    METADATA_KEY,
    OFFSET_COMMIT_KEY,
    OFFSET_FETCH_KEY,
    PRODUCE_KEY,
    SASL_HANDSHAKE_KEY,
    TXN_OFFSET_COMMIT_KEY,
)

KNOWN = {METADATA_KEY: 12, DESCRIBE_CLUSTER_KEY: 2}
TABLE = listing((METADATA_KEY, 2, 6), (DESCRIBE_CLUSTER_KEY, 0, 1), (10, 0, 9))
NEWER = {
    PRODUCE_KEY: 13,
    FETCH_KEY: 18,
    OFFSET_COMMIT_KEY: 10,
    OFFSET_FETCH_KEY: 10,
    ADD_PARTITIONS_TO_TXN_KEY: 5,
    END_TXN_KEY: 5,
    TXN_OFFSET_COMMIT_KEY: 6,
}
"""What a client of today knows of the APIs whose newest versions not every client can always use."""
NEWER_TABLE = listing(*((api_key, 0, newest) for api_key, newest in NEWER.items()))


def on(*requests: SeenRequest) -> Play:
    """Return a play of a broker with the table; each request comes after it."""
    return worked(asked(4, TABLE), *requests)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(on(sent(6), sent(1, api_key=DESCRIBE_CLUSTER_KEY)), id="newest-of-the-broker"),
        pytest.param(worked(asked(4), sent(12)), id="newest-of-the-client"),
        pytest.param(on(sent(1)), id="below-the-range"),
        pytest.param(on(sent(7)), id="above-the-range"),
        pytest.param(worked(sent(0)), id="before-the-table"),
        pytest.param(on(sent(0, api_key=10)), id="nothing-shows-what-the-client-knows"),
        pytest.param(on(sent(0, api_key=SASL_HANDSHAKE_KEY)), id="sasl"),
    ],
)
def test_nothing_newer_could_be_sent(play: Play) -> None:
    assert_newest_common_versions(play, KNOWN)


@pytest.mark.parametrize(
    ("play", "message"),
    [
        pytest.param(
            on(sent(6), sent(0, api_key=DESCRIBE_CLUSTER_KEY)),
            "DescribeCluster v0 on connection 0 was sent, although both sides know DescribeCluster v1",
            id="another-api",
        ),
        pytest.param(
            on(sent(2)),
            "Metadata v2 on connection 0 was sent, although both sides know Metadata v6",
            id="lowest-of-a-later-range",
        ),
        pytest.param(
            on(sent(6), sent(5, at_ms=2)),
            "Metadata v5 on connection 0 was sent, although both sides know Metadata v6",
            id="second-request",
        ),
        pytest.param(
            worked(asked(4), sent(12), asked(4, TABLE, connection=1), sent(5, connection=1)),
            "Metadata v5 on connection 1 was sent, although both sides know Metadata v6",
            id="second-connection",
        ),
    ],
)
def test_each_request_counts(play: Play, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_newest_common_versions(play, KNOWN)
    assert str(caught.value).split("\nassert")[0] == message


@pytest.mark.parametrize(
    ("api_key", "newest_for_all"),
    [
        pytest.param(ADD_PARTITIONS_TO_TXN_KEY, 3, id="newer-ones-are-for-brokers"),
        pytest.param(PRODUCE_KEY, 11, id="produce-needs-a-feature"),
        pytest.param(END_TXN_KEY, 4, id="end-needs-a-feature"),
        pytest.param(TXN_OFFSET_COMMIT_KEY, 4, id="offsets-need-a-feature"),
        pytest.param(FETCH_KEY, 12, id="fetch-needs-ids-of-topics"),
        pytest.param(OFFSET_COMMIT_KEY, 9, id="commit-needs-ids-of-topics"),
        pytest.param(OFFSET_FETCH_KEY, 9, id="offsets-need-ids-of-topics"),
    ],
)
def test_version_that_a_client_need_not_use_is_none_of_both(api_key: int, newest_for_all: int) -> None:
    right = worked(asked(4, NEWER_TABLE), sent(newest_for_all, api_key=api_key))
    assert_newest_common_versions(right, NEWER)
    assert_newest_common_versions(worked(asked(4, NEWER_TABLE), sent(NEWER[api_key], api_key=api_key)), NEWER)
    wrong = worked(asked(4, NEWER_TABLE), sent(newest_for_all - 1, api_key=api_key))
    with pytest.raises(AssertionError, match=f"although both sides know .* v{newest_for_all}"):
        assert_newest_common_versions(wrong, NEWER)


def test_newest_versions_are_those_of_all_plays() -> None:
    """ApiVersions and SASL are judged by clauses of their own."""
    first = worked(asked(4), sent(5), sent(1, api_key=SASL_HANDSHAKE_KEY))
    second = worked(asked(4), sent(7), sent(6), sent(0, api_key=PRODUCE_KEY))
    assert newest_versions([first, second]) == {METADATA_KEY: 7, PRODUCE_KEY: 0}
