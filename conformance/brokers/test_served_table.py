"""The table of served APIs: that it is present, valid, and always the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

LONG_CONNECTION = 50
"""The number of requests on a long connection."""
MAX_TRAILING = 65536
MAX_SHOWN_BYTES = 200
SERVED_REQUESTS = api_versions_requests()


@pytest.mark.clause("KIP-35.v0-always-served")
@given(sent=api_versions_requests(max_version=0, client_ids=named_client_ids()), history=histories())
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=0), history=in_one_write_with(Earlier.NEWEST, Earlier.OTHER_API))
def test_v0_is_served(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker answers v0 without an error, and its table is not empty."""
    exchange = exchange_after(broker, history, sent)
    answer = decode_answer(exchange, api_version=0)
    assert_error(exchange, ErrorCode.NONE)
    assert answer.api_keys, "the table is empty"


@pytest.mark.clause("KIP-35.table-lists-itself")
@given(sent=SERVED_REQUESTS, history=histories())
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=build_request(version=3), history=after(Earlier.OTHER_SOFTWARE))
def test_table_lists_api_versions_from_v0(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """The table has an entry for ApiVersions, and its minimum is 0."""
    assume_served(broker, sent)
    exchange, answer = success_after(broker, history, sent)
    with read_in_layout(exchange, api_version=sent.api_version):
        assert_rule(unlisted_api_versions, answer, sent.api_version)


@pytest.mark.clause("KIP-35.ranges-ordered")
@given(sent=SERVED_REQUESTS, history=histories())
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=build_request(version=3), history=after(Earlier.UNSERVED))
def test_ranges_are_ordered(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """No entry of the table has a negative minimum or a maximum below its minimum."""
    assume_served(broker, sent)
    exchange, answer = success_after(broker, history, sent)
    with read_in_layout(exchange, api_version=sent.api_version):
        assert_rule(unordered_ranges, answer, sent.api_version)


@pytest.mark.clause("KIP-35.keys-unique")
@given(sent=SERVED_REQUESTS, history=histories())
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=build_request(version=0), history=after(Earlier.NEWEST))
def test_no_key_stands_twice(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """No API key appears twice in the table."""
    assume_served(broker, sent)
    exchange, answer = success_after(broker, history, sent)
    with read_in_layout(exchange, api_version=sent.api_version):
        assert_rule(repeated_keys, answer, sent.api_version)


@pytest.mark.clause("KIP-35.same-table-at-every-version")
@given(
    versions=st.lists(st.integers(0, NEWEST_VERSION), min_size=2, max_size=LONG_CONNECTION),
    software=known_clients(),
    history=histories(),
)
@example(versions=[0, 1, 2, 3, 4, 5], software=PLAIN_SOFTWARE, history=ALONE)
@example(versions=[3, 4, 3, 0, 5] * (LONG_CONNECTION // 5), software=PLAIN_SOFTWARE, history=ALONE)
@example(versions=[3, 4, 5], software=Software("librdkafka", "2.16.0"), history=ALONE)
@example(versions=[3, 4, 5], software=Software("apache-kafka-java", "4.3.0"), history=ALONE)
@example(versions=[3], software=PLAIN_SOFTWARE, history=after(Earlier.ILLEGAL_NAME))
@example(versions=[3], software=PLAIN_SOFTWARE, history=after(Earlier.UNSERVED))
def test_table_is_the_same_at_every_version(
    broker: Broker, versions: list[int], software: Software, history: ConnectionHistory
) -> None:
    """The ranges are the same at every version, on every connection, and for any client software.

    That includes a long connection, another connection, and a connection after a refusal.
    """
    served = [version for version in versions if version <= broker.max_version]
    assume(served)
    first = decode_answer(broker.exchange(build_request(version=0)), api_version=0)
    with broker.connect() as connection:
        for version in served:
            (exchange,) = connection.converse([build_request(version=version, software=software)])
            with violation_context(f"{software.name} asks", software.version):
                assert_table(exchange, first, "in v0", api_version=version)
    if history.earlier:
        sent = build_request(version=served[0], software=software)
        exchange = exchange_after(broker, history, sent)
        assert_table(exchange, first, "in v0", api_version=served[0])


@pytest.mark.clause("KIP-35.per-connection")
@given(
    unsettling=unserved_requests()
    | api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=software_with_one(illegal_software_texts())),
    version=st.integers(0, NEWEST_VERSION),
)
@example(unsettling=UnservedRequest(), version=0)
@example(unsettling=build_request(version=3, software=Software("a_b", "1")), version=0)
@example(unsettling=build_request(version=3, software=Software("a_b", "1")), version=3)
def test_one_connection_does_not_change_another(
    broker: Broker, unsettling: Request | UnservedRequest, version: int
) -> None:
    """A refusal on one connection, for a version or for a name, does not change the responses on another."""
    assume(version <= broker.max_version)
    if isinstance(unsettling, UnservedRequest):
        unsettling = request_above(broker, unsettling)
    sent = build_request(version=version)
    (undisturbed,) = broker.converse([sent])
    with broker.connect() as refused:
        refused.converse([build_request(version=0)])
        refused.converse([unsettling])
        (answered,) = broker.converse([sent])
    expected = decode_answer(undisturbed, api_version=version)
    assert stable_part(decode_answer(answered, api_version=version)) == stable_part(expected), (
        "the response is not that of an undisturbed connection"
    )


@pytest.mark.malformed
@pytest.mark.clause("KIP-35.trailing-bytes")
@given(
    sent=api_versions_requests(
        trailing=st.binary(min_size=1, max_size=40) | lengths_at_buffer_sizes(MAX_TRAILING).map(bytes)
    ),
    history=histories(),
)
@example(sent=build_request(version=0, trailing=b"\0"), history=ALONE)
@example(sent=build_request(version=0, trailing=bytes(MAX_TRAILING)), history=ALONE)
@example(sent=build_request(version=3, trailing=b"\0"), history=ALONE)
@example(sent=build_request(version=0, trailing=b"\0"), history=after(Earlier.V0))
def test_trailing_bytes_are_ignored(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker answers a request with bytes after its body in the same way as one without."""
    assume_served(broker, sent)
    version = sent.api_version
    _, plain = success_after(broker, history, build_request(version=version))
    assert sent.body is not None
    trailing = sent.data[len(encode_request(sent.header, sent.body).data) :]
    with violation_context("bytes after the body", trailing[:MAX_SHOWN_BYTES].hex()):
        answer = decode_answer(exchange_after(broker, history, sent), api_version=version)
        assert stable_part(answer) == stable_part(plain), "the response differs from that without them"


@pytest.mark.malformed
@pytest.mark.clause("KIP-511.older-versions-unchanged")
@given(
    refused=software_with_one(illegal_software_texts()),
    versions=st.lists(st.integers(0, 2), min_size=1, max_size=3),
)
@example(refused=Software("", ""), versions=[0])
def test_versions_without_a_name_are_never_refused_for_one(
    broker: Broker, refused: Software, versions: list[int]
) -> None:
    """v0 to v2 are served after a refused name, and whatever name follows their body."""
    served = [version for version in versions if version <= broker.max_version]
    assume(served)
    nameless = [build_request(version=version) for version in served]
    with broker.connect() as connection:
        connection.converse([build_request(version=3, software=refused)])
        exchanges = connection.converse_in_turn(nameless)
    if exchanges[0].outcome is not Outcome.ANSWER:
        # Whether a refusal keeps the connection is judged by a separate clause.
        exchanges = broker.converse_in_turn(nameless)
    for exchange in exchanges:
        assert_error(exchange, ErrorCode.NONE)
    # Whether bytes after a body are ignored is judged by a separate clause.
    legal, illegal = (
        [
            error_code_of(each) if each.outcome is Outcome.ANSWER else each.outcome
            for each in broker.converse_in_turn(requests_with_body_after(name, served))
        ]
        for name in (PLAIN_SOFTWARE, refused)
    )
    assert illegal == legal, "the target reads a software name after the body"


def requests_with_body_after(name: Software, versions: Sequence[int]) -> list[Request]:
    """Return requests that carry, after their own body, the body of the first version with a software name."""
    message = ApiVersionsRequest(client_software_name=name.name, client_software_version=name.version)
    trailing = encode(message, version=FIRST_FLEXIBLE_VERSION)
    return [build_request(version=version, trailing=trailing) for version in versions]
