"""How versions are judged that write in a transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from conformance.assertions import served_transactions
from conformance.assertions.errors import JudgedElsewhere, Unjudged
from conformance.assertions.items import Item, Problem
from conformance.assertions.served_transactions import (
    begins_transactions,
    check_in_transaction,
    is_sole_node_of_suite,
    transactional_items,
)
from conformance.mutation.subjects import broker_with as planted
from conformance.mutation.subjects import older_broker_with
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from reference_model.faults.broker.transactions import refuse
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER
from tests.conformance.in_memory_runs import broker_with
from wire.api_keys import (
    ADD_PARTITIONS_TO_TXN_KEY,
    CREATE_TOPICS_KEY,
    INIT_PRODUCER_ID_KEY,
    PRODUCE_KEY,
    TXN_OFFSET_COMMIT_KEY,
)
from wire.api_versions import ApiVersion
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import encode_frame
from wire.message_schemas import message_from
from wire.transaction_messages import INIT_PRODUCER_ID

PRODUCE_V11, PRODUCE_V12 = Item("Produce", PRODUCE_KEY, 11), Item("Produce", PRODUCE_KEY, 12)
OFFSET_V4, OFFSET_V5 = (Item("TxnOffsetCommit", TXN_OFFSET_COMMIT_KEY, version) for version in (4, 5))


def at_level_2(act: Callable[[RequestContext], None]) -> InMemoryBroker:
    """Return the reference broker with a change of its responses."""
    return broker_with(Tampering(stage=Stage.ANSWER, act=act), patience=Patience(100))


def below_level_2(act: Callable[[RequestContext], None]) -> InMemoryBroker:
    """Return the reference broker at the levels of 3.9, where transaction.version is 0, with the same."""
    running = older_broker_with(OLDER_REFERENCE, "").running
    for served in running.served.values():  # type: ignore[attr-defined]
        served.tampering = Tampering(stage=Stage.ANSWER, act=act)
    return InMemoryBroker(running, PLAINTEXT, patience=Patience(100))


def refusing(item: Item) -> Callable[[RequestContext], None]:
    """Return what answers one version with UNSUPPORTED_VERSION in transactions."""
    return lambda context: refuse(context, item.api_key, item.api_version, item.api_version)


def producer_error(code: ErrorCode) -> Callable[[RequestContext], None]:
    """Return what answers InitProducerId with an error."""

    def act(context: RequestContext) -> None:
        if context.header is not None and context.header.api_key == INIT_PRODUCER_ID_KEY:
            message = message_from(INIT_PRODUCER_ID.response, {"error_code": code})
            version, correlation_id = context.header.api_version, context.header.correlation_id
            context.answer = encode_frame(INIT_PRODUCER_ID.response_payload(message, version, correlation_id))

    return act


def test_each_listed_version_that_knows_transactions_is_tried() -> None:
    """Produce v0 to v2 are listed, but name no transaction."""
    tried = [(item.name, item.api_version) for item in transactional_items(planted(""))]
    produce, commit = range(3, 14), range(7)
    assert tried == [*(("Produce", v) for v in produce), *(("TxnOffsetCommit", v) for v in commit)]


@pytest.mark.parametrize("item", [PRODUCE_V11, PRODUCE_V12, OFFSET_V4, OFFSET_V5])
def test_a_refusal_is_a_violation_where_the_level_allows_the_version(item: Item) -> None:
    broker = at_level_2(refusing(item))
    with pytest.raises(
        Problem, match=r"UNSUPPORTED_VERSION in a transaction, .*; transaction\.version is finalized at 2"
    ):
        check_in_transaction(broker, item)


@pytest.mark.parametrize("item", [PRODUCE_V11, OFFSET_V4])
def test_an_older_version_is_refused_at_no_level(item: Item) -> None:
    with pytest.raises(Problem, match=r"transaction\.version is finalized at 0"):
        check_in_transaction(below_level_2(refusing(item)), item)


@pytest.mark.parametrize("item", [PRODUCE_V12, OFFSET_V5])
def test_a_version_of_transaction_v2_may_be_refused_below_its_level(item: Item) -> None:
    assert check_in_transaction(below_level_2(refusing(item)), item).outcome is Outcome.ANSWER


def test_a_version_that_the_level_forbids_gets_a_response_all_the_same() -> None:
    broker = older_broker_with(OLDER_REFERENCE, "what-the-level-forbids-closes")
    with pytest.raises(Problem, match="closed the connection"):
        check_in_transaction(broker, PRODUCE_V12)
    assert check_in_transaction(broker, PRODUCE_V11).outcome is Outcome.ANSWER


def test_an_error_that_should_pass_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that lasts leaves open how the version is served."""
    monkeypatch.setattr(served_transactions, "MAX_WAIT_S", 0)
    monkeypatch.setattr(served_transactions, "TRANSIENT", frozenset({ErrorCode.UNSUPPORTED_VERSION}))
    with pytest.raises(Unjudged, match=r"Produce v12 is answered with UNSUPPORTED_VERSION \(35\)"):
        check_in_transaction(at_level_2(refusing(PRODUCE_V12)), PRODUCE_V12)


@pytest.mark.parametrize(
    ("code", "begins"),
    [
        pytest.param(ErrorCode.NONE, True, id="a producer"),
        pytest.param(ErrorCode.INVALID_REQUEST, False, id="an error"),
        pytest.param(ErrorCode.COORDINATOR_NOT_AVAILABLE, False, id="never a coordinator"),
    ],
)
def test_transactions_need_a_producer(monkeypatch: pytest.MonkeyPatch, code: ErrorCode, begins: bool) -> None:
    monkeypatch.setattr(served_transactions, "MAX_WAIT_S", 0)
    assert begins_transactions(at_level_2(producer_error(code))) is begins


def test_transactions_need_the_requests_of_one() -> None:
    """The table of a controller lists none of them."""
    assert not begins_transactions(planted("").sibling("controller"))


def with_table(change: Callable[[tuple[ApiVersion, ...]], tuple[ApiVersion, ...]]) -> InMemoryBroker:
    """Return the reference broker with other entries in its table."""

    def act(context: RequestContext) -> None:
        if context.response is not None:
            context.replace_response(api_keys=change(context.message.api_keys))

    return broker_with(Tampering(stage=Stage.RESPONSE, act=act), patience=Patience(100))


def test_transactions_begin_if_the_table_lists_a_request_twice() -> None:
    """KIP-35.keys-unique judges that."""
    assert begins_transactions(with_table(lambda entries: (*entries, *entries)))


def test_a_version_is_judged_elsewhere_if_no_request_adds_to_the_transaction() -> None:
    broker = with_table(lambda entries: tuple(each for each in entries if each.api_key != ADD_PARTITIONS_TO_TXN_KEY))
    with pytest.raises(JudgedElsewhere, match="the table does not list AddPartitionsToTxn"):
        check_in_transaction(broker, PRODUCE_V11)
    assert check_in_transaction(broker, PRODUCE_V12).outcome is Outcome.ANSWER


def test_no_version_is_sent_that_the_table_does_not_list() -> None:
    """Of AddPartitionsToTxn the newest versions are for brokers alone."""

    def newest_alone(entries: tuple[ApiVersion, ...]) -> tuple[ApiVersion, ...]:
        return tuple(
            replace(each, min_version=each.max_version) if each.api_key == ADD_PARTITIONS_TO_TXN_KEY else each
            for each in entries
        )

    with pytest.raises(JudgedElsewhere, match="AddPartitionsToTxn has no listed version up to v3"):
        check_in_transaction(with_table(newest_alone), PRODUCE_V11)


def test_the_topic_is_made_again_after_a_restart() -> None:
    """A target that was started again has no topics."""
    made: list[None] = []

    def count(context: RequestContext) -> None:
        if context.header is not None and context.header.api_key == CREATE_TOPICS_KEY:
            made.append(None)

    broker = older_broker_with(OLDER_REFERENCE, "")
    for served in broker.running.served.values():  # type: ignore[attr-defined]
        served.tampering = Tampering(stage=Stage.ANSWER, act=count)
    check_in_transaction(broker, PRODUCE_V11)
    before = len(made)
    broker.restart()
    check_in_transaction(broker, PRODUCE_V11)
    assert len(made) > before


def test_only_the_sole_node_of_the_suite_is_written_to() -> None:
    """Others' brokers get no topic, and of several nodes another one may be leader or coordinator."""
    broker = planted("")
    assert is_sole_node_of_suite(broker)
    assert not is_sole_node_of_suite(older_broker_with(OLDER_REFERENCE_CLUSTER, ""))
    theirs = replace(broker.running, launcher="address")
    assert not is_sole_node_of_suite(InMemoryBroker(theirs, PLAINTEXT, patience=Patience(100)))
    assert DEFECTS["what-the-level-forbids-closes"].target == "reference-at-3.9+what-the-level-forbids-closes"
