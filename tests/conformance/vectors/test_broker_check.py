"""Tests of judging a broker by vectors alone.

It is the reference broker in memory, with and without a defect.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from clauses.catalogue import Level
from conformance.mutation.subjects import broker_with
from conformance.vectors.broker_check import BrokerCheck, OwnTable
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.expected_outcomes import CLUSTER_ID, SentStep, with_expectations
from conformance.vectors.own_identity import with_ids
from conformance.vectors.vector_score import broker_in_memory
from conformance.vectors.vector_set import load_vectors
from fixtures.registry.targets import select_targets
from fixtures.under_test.in_memory import InMemoryTarget, InMemoryTransport
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT
from reference_model.profiles.profile import RECORDED_RELEASES, profile_of
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.described_messages import METADATA
from wire.error_codes import ErrorCode
from wire.exchange import Outcome, probe_request
from wire.sentinel import sentinel_for

SENTINEL = sentinel_for(7).data
MOST_NEED_PLAINTEXT = 100
DESCRIBE_LOG_DIRS = 35
UNLISTED_LOG_DIRS = bytes.fromhex("0000000e 0023 0000 00000007 ffff 00000000")
"""DescribeLogDirs v0, which the newest releases no longer list."""


def vector(
    *writes: bytes, clause: str = "KIP-35.v0-always-served", listener: str = PLAINTEXT, ends: bool = False
) -> BrokerVector:
    sent = [SentStep(connection=0, listener=listener, writes=writes, ends_stream=ends)]
    return BrokerVector(
        id=f"{clause}-000000",
        clauses=(clause,),
        level=Level.MUST,
        sentence="...",
        malformed=False,
        steps=with_expectations(sent),
    )


PLAIN = vector(probe_request(3).data + SENTINEL)
NEGATIVE_SIZE = vector(bytes.fromhex("ffffffff"))
HALF_A_FRAME = vector(probe_request(0).data[:9], ends=True)
BEFORE_SASL = vector(probe_request(5).data, listener=SASL_PLAINTEXT)


@pytest.mark.parametrize("given", [PLAIN, NEGATIVE_SIZE, HALF_A_FRAME, BEFORE_SASL])
def test_the_reference_broker_agrees(given: BrokerVector) -> None:
    assert BrokerCheck(broker_in_memory("")).check(given) is None


def test_every_published_vector_holds_for_the_reference_broker() -> None:
    check = BrokerCheck(broker_in_memory(""))
    wrong = [found for each in load_vectors().of_brokers() if (found := check.check(each)) is not None]
    assert wrong == []


@pytest.mark.parametrize("judged_as", ["itself", "any-broker"])
@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_published_vectors_accuse_no_release_of_apache_kafka(release: str, judged_as: str) -> None:
    """As itself a release differs in nothing, and by the text of the KIPs only in what is pinned; or it is declared.

    One sentence is often about several vectors, of which one has the clause that is declared.
    """
    (target,) = select_targets([f"apache-kafka-{release}"])
    check = BrokerCheck(broker_in_memory("", release=release), release=release if judged_as == "itself" else "")
    vectors = [
        each
        for each in load_vectors().of_brokers()
        if set(each.listeners) <= set(target.listeners) and check.has_the_table_for(each)
    ]
    assert len(vectors) > MOST_NEED_PLAINTEXT
    assert any(SASL_PLAINTEXT in each.listeners for each in vectors) is (SASL_PLAINTEXT in target.listeners)
    accused: dict[str, set[str]] = {}
    for found in map(check.check, vectors):
        if found is not None and (judged_as == "itself" or found.level is not Level.PIN):
            accused.setdefault(found.sentence, set()).add(found.clause)
    declared = {known.clause for known in target.known_violations}
    assert {sentence: clauses for sentence, clauses in accused.items() if not clauses & declared} == {}


@pytest.mark.parametrize(
    ("defect", "given", "clause"),
    [
        ("v0-as-first-request-gets-an-error", vector(probe_request(0).data + SENTINEL), "KIP-35.v0-always-served"),
        ("the-first-range-is-reversed", PLAIN, "KIP-35.ranges-ordered"),
    ],
)
def test_a_defect_is_caught_with_its_clause(defect: str, given: BrokerVector, clause: str) -> None:
    found = BrokerCheck(broker_in_memory(defect)).check(given)
    assert found is not None
    assert found.clause == clause


def named(digits: str) -> BrokerVector:
    return next(each for each in load_vectors().of_brokers() if each.id.endswith(digits))


@pytest.mark.parametrize(
    ("defect", "digits", "clause", "level"),
    [
        pytest.param(
            "metadata-is-served-before-authentication",
            "f34996",
            "PROTOCOL.nothing-served-before-authentication",
            Level.MUST,
            id="only-frame",
        ),
        pytest.param(
            "small-negative-sizes-are-skipped", "24b28b", "PROTOCOL.negative-size-refused", Level.PIN, id="next-to-it"
        ),
        pytest.param(
            "v0-after-another-api-has-no-table",
            "c0b8e6",
            "KIP-35.same-table-at-every-version",
            Level.MUST,
            id="next-to-another-must",
        ),
    ],
)
def test_a_frame_next_to_that_of_a_vector_is_judged_by_its_own_clause(
    defect: str, digits: str, clause: str, level: Level
) -> None:
    """A vector whose only frame has an outcome that is pinned is about its own clause all the same."""
    found = BrokerCheck(broker_in_memory(defect)).check(named(digits))
    assert found is not None
    assert (found.clause, found.level) == (clause, level)


@pytest.mark.parametrize(
    ("defect", "digits"),
    [
        pytest.param("tags-in-the-body-of-metadata-close-the-connection", "bcd1a7", id="body"),
        pytest.param("metadata-without-a-client-id-closes", "4fb73b", id="header"),
    ],
)
def test_close_on_an_api_that_the_broker_lists_is_a_violation(defect: str, digits: str) -> None:
    """Releases that do not list it close the connection as well, which says nothing about this broker."""
    found = BrokerCheck(broker_in_memory(defect)).check(named(digits))
    assert found is not None
    assert found.level is Level.MUST


@pytest.mark.parametrize(("release", "digits"), [("2.4.1", "1c9d3a"), ("2.1.1", "0120fb"), ("0.11.0.3", "0120fb")])
def test_close_on_a_login_that_the_broker_lists_is_a_violation(release: str, digits: str) -> None:
    """The release closes because it does not list the versions; here it does, as 2.8.2 lists them."""
    check = BrokerCheck(broker_in_memory("", release=release))
    given = named(digits)
    assert not check.has_the_table_for(given)
    for listener in given.listeners:
        own = check.table_of(listener)
        newer = profile_of("2.8.2", listener=listener).api_keys
        assert own.response is not None
        check.tables[listener] = replace(own, response=replace(own.response, api_keys=newer))
    assert check.has_the_table_for(given)
    found = check.check(given)
    assert found is not None
    assert (found.clause, found.level) == ("PROTOCOL.listed-sasl-versions-log-in", Level.MUST)


def test_what_some_release_does_too_is_no_violation() -> None:
    """3.9 serves a request with a negative number of tags, which other brokers refuse; nothing but a PIN is broken."""
    given = named("05b8a5")
    (step,) = given.steps
    (expected, *_) = step.expected[1:]
    served = next(each for each in expected.apache_kafka if each.has("3.9.2"))
    assert [each.outcome for each in served.outcomes] == [Outcome.ANSWER]
    found = BrokerCheck(broker_in_memory("", release="3.9.2")).check(given)
    assert found is not None
    assert (found.clause, found.level) == ("PROTOCOL.short-frame-refused", Level.PIN)
    assert BrokerCheck(broker_in_memory("", release="3.9.2"), release="3.9.2").check(given) is None


class LosesAnswersAtTheEnd(InMemoryTransport):
    """A stream to a broker that closes at the end of ours, and sends nothing any more; up to 2.4 Kafka may do so."""

    def recv(self, size: int, /) -> bytes:
        return b"" if self._connection.state is ConnectionState.CLOSED else super().recv(size)


def test_answer_that_old_releases_may_lose_is_no_violation() -> None:
    served = broker_with("", release="2.3.1").running
    assert isinstance(served, InMemoryTarget)
    check = BrokerCheck(lambda listener: LosesAnswersAtTheEnd(served.served[listener].connect()))
    found = check.check(named("120eef"))
    assert found is not None
    assert (found.clause, found.level) == ("PROTOCOL.half-close-answers-complete", Level.PIN)


def test_the_outcome_follows_from_the_newest_version_that_the_broker_has() -> None:
    (expected, _) = vector(probe_request(4).data + SENTINEL).steps[0].expected
    codes = [[int(each.error_code) for each in expected.outcomes(newest)] for newest in range(6)]
    assert codes == [[35, 35], [35, 35], [35, 35], [35], [0], [0]]


def test_a_vector_about_an_api_that_the_broker_does_not_list_is_left_out() -> None:
    check = BrokerCheck(broker_in_memory(""))
    about_metadata = vector(METADATA.plain_request(13).data + SENTINEL)
    assert check.has_the_table_for(about_metadata)
    older = ApiVersionsResponse(
        error_code=ErrorCode.NONE, api_keys=(ApiVersion(api_key=3, min_version=0, max_version=12),)
    )
    check.tables[PLAINTEXT] = OwnTable(response=older, version=5, newest_version=5)
    assert not check.has_the_table_for(about_metadata)
    assert check.has_the_table_for(PLAIN)


@pytest.mark.parametrize("digits", ["0120fb", "d12b66"])
def test_a_version_in_the_middle_of_a_range_is_listed(digits: str) -> None:
    """SaslAuthenticate v1 and Metadata v12, which newer and older versions surround."""
    assert BrokerCheck(broker_in_memory("")).has_the_table_for(named(digits))


def test_a_vector_that_expects_a_refusal_of_what_the_broker_lists_is_left_out() -> None:
    check = BrokerCheck(broker_in_memory(""))
    is_refused = vector(UNLISTED_LOG_DIRS)
    assert check.has_the_table_for(is_refused)
    older = ApiVersionsResponse(
        error_code=ErrorCode.NONE, api_keys=(ApiVersion(api_key=DESCRIBE_LOG_DIRS, min_version=0, max_version=4),)
    )
    check.tables[PLAINTEXT] = OwnTable(response=older, version=5, newest_version=5)
    assert not check.has_the_table_for(is_refused)


def test_what_is_refused_before_authentication_may_be_listed() -> None:
    check = BrokerCheck(broker_in_memory(""))
    assert check.has_the_table_for(vector(METADATA.plain_request(0).data, listener=SASL_PLAINTEXT))


def test_a_release_that_differs_has_outcomes_of_its_own() -> None:
    (expected, *_) = vector(bytes.fromhex("00000001ff") + SENTINEL).steps[0].expected
    assert {each.outcome for each in expected.outcomes(5)} == {Outcome.CLOSED}
    assert {each.outcome for each in expected.outcomes(0, "0.11.0.3")} == {Outcome.IGNORED}


def test_the_ids_of_a_real_broker_replace_those_of_the_vectors() -> None:
    named = next(each for each in load_vectors().of_brokers() if CLUSTER_ID.encode() in each.steps[0].writes[0])
    own = with_ids(named, "a" * len(CLUSTER_ID), 3)
    assert own is not None
    assert CLUSTER_ID.encode() not in own.steps[0].writes[0]
    assert len(own.steps[0].writes[0]) == len(named.steps[0].writes[0])
    assert with_ids(named, None, 3) is None
    assert with_ids(PLAIN, None, None) is PLAIN


@pytest.mark.parametrize(
    ("defect", "clause"),
    [
        ("ids-are-checked-before-names", "KIP-1242.order-of-checks"),
        ("bytes-after-a-flexible-body-are-refused", "KIP-35.trailing-bytes"),
        ("bits-above-the-32nd-close-the-connection", "KIP-482.varint-limits"),
        ("names-of-more-than-32767-bytes-are-taken", "KIP-511.null-name-refused"),
    ],
)
def test_a_plaintext_listener_is_enough_for_a_defect(defect: str, clause: str) -> None:
    check = BrokerCheck(broker_in_memory(defect))
    on_plaintext = [
        each for each in load_vectors().of_brokers() if clause in each.clauses and each.listeners == (PLAINTEXT,)
    ]
    assert clause in {found.clause for each in on_plaintext if (found := check.check(each)) is not None}
