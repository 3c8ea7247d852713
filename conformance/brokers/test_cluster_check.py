"""Tests of the cluster id and node id that a client expects of a broker.

They check which ids are checked, in which order, and how.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

EXPECTED = {
    Given.NEITHER: ErrorCode.NONE,
    Given.BOTH: ErrorCode.NONE,
    **dict.fromkeys(HALF_GIVEN, ErrorCode.INVALID_REQUEST),
    **dict.fromkeys(MISROUTED, ErrorCode.REBOOTSTRAP_REQUIRED),
}
"""The error code for each kind of ids, if the broker checks them."""
REFUSALS_OF_IDS = (ErrorCode.INVALID_REQUEST, ErrorCode.REBOOTSTRAP_REQUIRED)


@pytest.mark.needs("cluster_id")
@pytest.mark.clause("KIP-1242.neither-given")
@given(history=histories())
@example(history=ALONE)
@example(history=after(Earlier.RIGHT_IDS))
@example(history=after(Earlier.WRONG_NODE))
@example(history=after(Earlier.NODE_ALONE))
def test_request_without_ids_is_served(broker: Broker, history: ConnectionHistory) -> None:
    """A broker serves a request without ids, whatever ids came before it on the connection."""
    exchange = exchange_after(broker, history, build_request_with(Ids()), authenticate=True)
    assert_error(exchange, ErrorCode.NONE)


@pytest.mark.malformed
@pytest.mark.clause("KIP-1242.only-one-given")
@given(ids=half_given_ids(), history=histories())
@example(ids=Ids(""), history=ALONE)
@example(ids=Ids("nobody"), history=ALONE)
@example(ids=Ids(None, 0), history=ALONE)
@example(ids=Ids(None, -2), history=ALONE)
@example(ids=Ids("nobody"), history=in_one_write_with(Earlier.NEWEST))
def test_half_an_identity_is_refused(broker: Broker, ids: Ids, history: ConnectionHistory) -> None:
    """A broker answers a request with only one of the two ids with INVALID_REQUEST."""
    exchange = exchange_after(broker, history, build_request_with(ids), authenticate=True)
    assert_error(exchange, ErrorCode.INVALID_REQUEST)


@pytest.mark.malformed
@pytest.mark.needs("cluster_id")
@pytest.mark.clause("KIP-1242.only-one-given")
@given(half=st.sampled_from(HALF_GIVEN), history=histories())
@example(half=Given.CLUSTER_ALONE, history=ALONE)
@example(half=Given.NODE_ALONE, history=ALONE)
@example(half=Given.NODE_ALONE, history=after(Earlier.RIGHT_IDS))
def test_the_right_half_of_an_identity_is_refused(broker: Broker, half: Given, history: ConnectionHistory) -> None:
    """A broker refuses a single id even if it is the right one, whatever ids came before it on the connection."""
    sent = build_request_with(ids_given(half, right_ids(broker)))
    exchange = exchange_after(broker, history, sent, authenticate=True)
    assert_error(exchange, ErrorCode.INVALID_REQUEST)


@pytest.mark.needs("cluster_id")
@pytest.mark.clause("KIP-1242.both-match")
@given(history=histories())
@example(history=ALONE)
@example(history=after(Earlier.RIGHT_IDS))
@example(history=after(Earlier.NEWEST))
@example(history=after(Earlier.WRONG_CLUSTER))
def test_right_ids_are_served(broker: Broker, history: ConnectionHistory) -> None:
    """A broker serves a request with its own ids, whatever ids came before it on the connection."""
    exchange = exchange_after(broker, history, build_request_with(right_ids(broker)), authenticate=True)
    assert_error(exchange, ErrorCode.NONE)


@pytest.mark.malformed
@pytest.mark.needs("cluster_id")
@pytest.mark.listeners(*BROKER_LISTENERS)
@pytest.mark.clause("KIP-1242.wrong-cluster")
@given(variant=cluster_id_variants(), offset=st.just(0) | node_offsets(), history=histories())
@example(variant="another", offset=0, history=ALONE)
@example(variant="another", offset=1, history=ALONE)
@example(variant="empty", offset=0, history=ALONE)
@example(variant="in the other case", offset=0, history=ALONE)
@example(variant="without its last character", offset=0, history=ALONE)
@example(variant="another", offset=0, history=after(Earlier.RIGHT_IDS))
def test_wrong_cluster_id_is_refused(broker: Broker, variant: str, offset: int, history: ConnectionHistory) -> None:
    """A broker answers a cluster id other than its own with REBOOTSTRAP_REQUIRED, with any node id."""
    right = right_ids(broker)
    assert right.cluster_id is not None
    wrong = Ids(CLUSTER_ID_VARIANTS[variant](right.cluster_id), node_id_at(right.node_id, offset))
    assume(wrong.cluster_id != right.cluster_id and wrong.node_id != NO_NODE)
    exchange = exchange_after(broker, history, build_request_with(wrong), authenticate=True)
    assert_error(exchange, ErrorCode.REBOOTSTRAP_REQUIRED)


@pytest.mark.malformed
@pytest.mark.needs("cluster_id")
@pytest.mark.listeners(*BROKER_LISTENERS)
@pytest.mark.clause("KIP-1242.wrong-node")
@given(offset=node_offsets(), history=histories())
@example(offset=1, history=ALONE)
@example(offset=-1, history=ALONE)
@example(offset=-3, history=ALONE)
@example(offset=256, history=ALONE)
@example(offset=65536, history=ALONE)
@example(offset=1, history=after(Earlier.RIGHT_IDS))
@example(offset=1, history=in_one_write_with(Earlier.V0))
def test_wrong_node_id_is_refused(broker: Broker, offset: int, history: ConnectionHistory) -> None:
    """A broker answers its own cluster id with REBOOTSTRAP_REQUIRED if the node id is not its own."""
    right = right_ids(broker)
    wrong = right._replace(node_id=node_id_at(right.node_id, offset))
    assume(wrong.node_id != NO_NODE)
    exchange = exchange_after(broker, history, build_request_with(wrong), authenticate=True)
    assert_error(exchange, ErrorCode.REBOOTSTRAP_REQUIRED)


@pytest.mark.malformed
@pytest.mark.needs("cluster_id")
@pytest.mark.clause("KIP-1242.order-of-checks")
@given(
    ids=st.sampled_from((*MISROUTED, *HALF_GIVEN)),
    refused=PLAINLY_ILLEGAL,
    version=st.just(FIRST_VERSION_WITH_CLUSTER_CHECK) | unknown_versions(),
    history=histories(),
)
@example(ids=Given.WRONG_CLUSTER, refused=Software("a b", "1"), version=5, history=ALONE)
@example(ids=Given.WRONG_NODE, refused=Software("", "1"), version=6, history=ALONE)
@example(
    ids=Given.WRONG_CLUSTER,
    refused=Software("a b", "1"),
    version=5,
    history=after(Earlier.RIGHT_IDS),
)
def test_version_then_name_then_ids_are_checked(
    broker: Broker, ids: Given, refused: Software, version: int, history: ConnectionHistory
) -> None:
    """Of several faults, a broker reports an unsupported version first, then a software name, then the ids."""
    assume(version == FIRST_VERSION_WITH_CLUSTER_CHECK or version > broker.max_version)
    wrong = ids_given(ids, right_ids(broker))
    sent = build_request(version=version, software=refused, cluster_id=wrong.cluster_id, node_id=wrong.node_id)
    served = version <= broker.max_version
    expected = ErrorCode.INVALID_REQUEST if served else ErrorCode.UNSUPPORTED_VERSION
    control = illegal_like(sent) if served else plain_like(sent)
    exchange = exchange_after(broker, history, sent, authenticate=True)
    with unless_explained_by_earlier(broker, exchange, control, expected):
        assert_error(exchange, expected)


@pytest.mark.malformed
@pytest.mark.needs("cluster_id")
@pytest.mark.clause("KIP-1242.refusal-shape")
@given(ids=st.sampled_from((*MISROUTED, *HALF_GIVEN)), history=histories())
@example(ids=Given.WRONG_CLUSTER, history=ALONE)
@example(ids=Given.CLUSTER_ALONE, history=ALONE)
@example(ids=Given.WRONG_CLUSTER, history=after(Earlier.WRONG_CLUSTER))
def test_refusal_of_ids_is_written_in_the_request_version(
    broker: Broker, ids: Given, history: ConnectionHistory
) -> None:
    """Refused ids are answered in the request's version with an empty table, on a usable connection."""
    sent = build_request_with(ids_given(ids, right_ids(broker)))
    if history.earlier:
        # Whether the connection is kept is judged by the examples without earlier requests.
        refusal = answer_after(broker, history, sent, *REFUSALS_OF_IDS)
        next_one = refusal
    else:
        following = build_request(version=0, correlation_id=8)
        refusal, next_one = broker.converse([sent, following])
    answer = decode_answer(refusal, api_version=sent.api_version, exactly=True)
    # Whether it is refused is judged by other clauses.
    assume(answer.error_code is not ErrorCode.NONE)
    assert answer.api_keys == (), "the refusal lists API keys"
    assert_answered(next_one, "the connection serves no request after the refusal")


@pytest.mark.malformed
@pytest.mark.needs("cluster_id")
@pytest.mark.clause("KIP-1242.older-versions-unchecked")
@given(
    history=histories(),
    version=st.integers(0, FIRST_VERSION_WITH_CLUSTER_CHECK - 1),
)
@example(history=after(Earlier.WRONG_CLUSTER), version=0)
@example(history=after(Earlier.WRONG_NODE), version=4)
@example(history=after(Earlier.CLUSTER_ALONE), version=3)
@example(history=after(Earlier.RIGHT_IDS), version=4)
def test_versions_without_ids_are_never_refused_for_them(
    broker: Broker, history: ConnectionHistory, version: int
) -> None:
    """v0 to v4 are served on a connection on which ids were sent before, right or wrong."""
    exchange = exchange_after(broker, history, build_request(version=version), authenticate=True)
    assert_error(exchange, ErrorCode.NONE)


def assert_checked_as_on_plaintext(broker: Broker, ids: Given, history: ConnectionHistory = ALONE) -> None:
    """Fail unless a listener answers ids as the plaintext listener does and as KIP-1242 says.

    Both listeners get the same earlier requests. If there are any, only the two listeners are compared.
    """
    sent = build_request_with(ids_given(ids, right_ids(broker)))
    codes = set(EXPECTED.values())
    elsewhere = error_code_of(answer_after(broker.sibling("plaintext"), history, sent, *codes))
    exchange = answer_after(broker, history, sent, *codes)
    seen = error_code_of(exchange)
    if seen is not elsewhere:
        raise MalformedAnswer(
            exchange,
            f"{seen!r} for {ids.value}, but {elsewhere!r} on plaintext",
            fault=ResponseFault.OTHER_ERROR,
        )
    if not history.earlier:
        # After others, clauses of their own judge it on plaintext.
        assert seen is EXPECTED[ids], f"{seen!r} for {ids.value}, here and on plaintext"


@pytest.mark.malformed
@pytest.mark.needs("cluster_id", "plaintext")
@pytest.mark.listeners(*(name for name in SASL_LISTENERS if name in BROKER_LISTENERS))
@pytest.mark.clause("KIP-1242.on-every-listener")
@given(ids=st.sampled_from(Given))
@example(ids=Given.NEITHER)
@example(ids=Given.BOTH)
@example(ids=Given.CLUSTER_ALONE)
@example(ids=Given.NODE_ALONE)
@example(ids=Given.WRONG_CLUSTER)
@example(ids=Given.WRONG_NODE)
def test_ids_are_checked_before_authentication(broker: Broker, ids: Given) -> None:
    """A broker answers ids before SASL authentication as on its plaintext listener."""
    assert_checked_as_on_plaintext(broker, ids)


@pytest.mark.malformed
@pytest.mark.needs("cluster_id", "plaintext")
@pytest.mark.listeners(*CONTROLLER_LISTENERS)
@pytest.mark.clause("KIP-1242.on-the-controller")
@given(ids=st.sampled_from(Given), history=histories())
@example(ids=Given.NEITHER, history=ALONE)
@example(ids=Given.BOTH, history=ALONE)
@example(ids=Given.CLUSTER_ALONE, history=ALONE)
@example(ids=Given.NODE_ALONE, history=ALONE)
@example(ids=Given.WRONG_CLUSTER, history=ALONE)
@example(ids=Given.WRONG_NODE, history=ALONE)
@example(ids=Given.WRONG_CLUSTER, history=after(Earlier.NEWEST))
def test_ids_are_checked_on_the_controller(broker: Broker, ids: Given, history: ConnectionHistory) -> None:
    """A controller answers ids as the broker's plaintext listener does, also after others on the connection."""
    assert_checked_as_on_plaintext(broker, ids, history)
