"""Transactions of the model client and of others with scripted brokers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from fixtures.scripted_broker.playing import Play
from fixtures.under_test import in_memory_client
from fixtures.under_test.in_memory_client import play_in_memory
from reference_model.clients.model.client_connections import Link
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.scripts.script import TRANSACTIONS, Answer, ConnectionScript, Script, Table, one_node
from reference_model.clients.scripts.transaction_steps import PRODUCER_ID, TRANSACTION_STEPS, transaction_response
from reference_model.profiles.known_apis import label_of
from strategies.transaction_scripts import AT_LEVEL_1, AT_LEVEL_2, CONTROL, transacting
from wire.api_keys import (
    ADD_OFFSETS_TO_TXN_KEY,
    ADD_PARTITIONS_TO_TXN_KEY,
    END_TXN_KEY,
    FIND_COORDINATOR_KEY,
    INIT_PRODUCER_ID_KEY,
)
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.group_messages import JOIN_GROUP, SYNC_GROUP
from wire.message_schemas import message_from
from wire.primitives import INT16_MAX
from wire.transaction_messages import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)

WITH_V2 = "FindCoordinator6 InitProducerId5 Metadata13 Produce13 TxnOffsetCommit6 EndTxn5"
WITHOUT_V2 = "FindCoordinator6 InitProducerId5 Metadata13 AddPartitionsToTxn3 Produce11 AddOffsetsToTxn4 TxnOffsetCommit4 EndTxn4"


def requests_of(play: Play) -> str:
    """Return the requests of a play after those for versions and the first ones for metadata."""
    names = [
        f"{label_of(each.api_key)}{each.api_version}" for each in play.recording.requests if not each.is_about_versions
    ]
    return " ".join(names[2:])


def one_transaction(answer: Answer) -> Play:
    """Play the model client with a broker and let it do one transaction."""
    return play_in_memory(one_node(answer, options=(TRANSACTIONS,)))


@pytest.mark.parametrize(
    ("answer", "requests"),
    [pytest.param(AT_LEVEL_1, WITHOUT_V2, id="level-1"), pytest.param(AT_LEVEL_2, WITH_V2, id="level-2")],
)
def test_model_client_does_a_transaction(answer: Answer, requests: str) -> None:
    """The level decides its versions, and whether it adds the partition and the group to the transaction itself."""
    play = one_transaction(answer)
    assert (play.result.outcome, play.result.detail) == ("ok", f"a transaction of producer {PRODUCER_ID}")
    assert requests_of(play) == requests


def test_old_coordinator_is_found() -> None:
    """Old versions of FindCoordinator name one coordinator."""
    old = Answer(table=Table(changed=((FIND_COORDINATOR_KEY, 0, 2),)))
    assert requests_of(one_transaction(old)).startswith("FindCoordinator2 InitProducerId5")


def test_producer_is_kept_until_something_fails() -> None:
    """The client asks for one producer id, and for another one after a connection was closed in a transaction."""
    assert requests_of(play_in_memory(CONTROL)).count("InitProducerId") == 1
    first = ConnectionScript(answers=(AT_LEVEL_2,))
    closing = replace(first, closes_after=6)
    assert requests_of(play_in_memory(transacting((first, closing, first)))).count("InitProducerId") == 2


@pytest.mark.parametrize(
    ("api_key", "detail"),
    [
        pytest.param(END_TXN_KEY, "NoCommonVersion: the broker does not support API 26", id="no-common-version"),
        pytest.param(ADD_PARTITIONS_TO_TXN_KEY, "NoCommonVersion: the broker does not support API 24", id="first-step"),
        pytest.param(ADD_OFFSETS_TO_TXN_KEY, "NoCommonVersion: the broker does not support API 25", id="later-step"),
    ],
)
def test_transaction_fails_without_one_of_its_apis(api_key: int, detail: str) -> None:
    """An error names the API that the broker lacks."""
    lacking = Answer(table=Table(removed=(api_key,)))
    assert one_transaction(lacking).result.detail == detail


REFUSED = "0000000b 00 00000000 0035 ffffffffffffffff ffff 00"
"""A response to InitProducerId v5 with TRANSACTIONAL_ID_AUTHORIZATION_FAILED."""


@pytest.mark.parametrize(
    ("response", "detail"),
    [
        pytest.param(REFUSED, "BrokerError: InitProducerId v5: the broker responded with error 53", id="error"),
        pytest.param("0000000b 00 00", "Nonsense: InitProducerId: ", id="malformed"),
    ],
)
def test_transaction_fails_with_one_of_its_responses(
    response: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class AnsweredSo(ModelClient):
        def exchange(self, link: Link, api_key: int, version: int, body: bytes, header_version: int) -> bytes:
            received = super().exchange(link, api_key, version, body, header_version)
            return bytes.fromhex(response) if api_key == INIT_PRODUCER_ID_KEY else received

    monkeypatch.setattr(in_memory_client, "client_class", lambda: AnsweredSo)
    assert one_transaction(AT_LEVEL_2).result.detail.startswith(detail)


def test_scripted_broker_serves_no_transaction_otherwise() -> None:
    """Without the option it has no topics, and no client is led to write to it."""
    assert play_in_memory(Script()).result.detail.startswith("1 nodes of cluster")


def answered(api: Any, version: int, **fields: Any) -> Any:
    """Return the response of a scripted broker as a client reads it."""
    request = decode(api.request, encode(message_from(api.request, fields), version=version), version=version)
    return decode(api.response, encode(transaction_response(api, request), version=version), version=version)


@pytest.mark.parametrize("api", TRANSACTION_STEPS.values(), ids=lambda api: api.name)
def test_every_step_succeeds_in_every_version(api: Any) -> None:
    """A response can be encoded in each version, and has no error."""
    assert api.valid_versions.last is not None
    for version in range(api.valid_versions.first, api.valid_versions.last + 1):
        assert getattr(answered(api, version), "error_code", ErrorCode.NONE) == ErrorCode.NONE


TOPIC_ID = UUID(int=5)


def test_responses_repeat_what_they_are_about() -> None:
    """Topics come back by their name or id, with their partitions."""
    written = {"name": "a", "topic_id": TOPIC_ID, "partition_data": [{"index": 3, "records": b""}]}
    (by_name,) = answered(PRODUCE, 12, topic_data=[written]).responses
    (by_id,) = answered(PRODUCE, 13, topic_data=[written]).responses
    assert (by_name.name, by_id.topic_id, by_id.partition_responses[0].index) == ("a", TOPIC_ID, 3)
    committed = {"name": "a", "topic_id": TOPIC_ID, "partitions": [{"partition_index": 4, "committed_offset": 1}]}
    (topic,) = answered(TXN_OFFSET_COMMIT, 5, topics=[committed]).topics
    assert (topic.name, topic.partitions[0].partition_index) == ("a", 4)
    added = [{"name": "a", "partitions": (5,)}]
    (of_client,) = answered(ADD_PARTITIONS_TO_TXN, 3, v3_and_below_topics=added).results_by_topic_v3_and_below
    transactions = [{"transactional_id": "t", "topics": added}]
    (of_broker,) = answered(ADD_PARTITIONS_TO_TXN, 4, transactions=transactions).results_by_transaction
    assert of_broker.transactional_id == "t"
    for each in (of_client, *of_broker.topic_results):
        assert (each.name, each.results_by_partition[0].partition_index) == ("a", 5)


def test_client_may_join_a_group_that_assigns_nothing() -> None:
    protocols = [{"name": "range", "metadata": b"x"}, {"name": "sticky", "metadata": b"y"}]
    joined = answered(JOIN_GROUP, 9, group_id="g", protocol_type="consumer", protocols=protocols)
    assert (joined.protocol_type, joined.protocol_name, joined.generation_id) == ("consumer", "range", 1)
    assert joined.member_id != joined.leader
    assigned = answered(SYNC_GROUP, 5, protocol_type="consumer", protocol_name="range")
    assert assigned.assignment == bytes.fromhex("0000 00000000 ffffffff")
    assert (assigned.protocol_type, assigned.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(("version", "epoch"), [(4, -1), (5, 3)])
def test_epoch_rises_with_a_transaction_since_v5(version: int, epoch: int) -> None:
    """A transaction of KIP-890, Part 2, ends with the epoch of the next one."""
    assert answered(END_TXN, version, producer_id=9, producer_epoch=2).producer_epoch == epoch


def test_producer_gets_the_next_epoch() -> None:
    """A producer that names its epoch gets the next one."""
    assert answered(INIT_PRODUCER_ID, 0).producer_epoch == 0
    assert answered(INIT_PRODUCER_ID, 3, producer_id=9, producer_epoch=2).producer_epoch == 3


@pytest.mark.parametrize(("api", "version"), [(INIT_PRODUCER_ID, 3), (END_TXN, 5)], ids=["InitProducerId", "EndTxn"])
def test_new_producer_id_follows_the_last_epoch(api: Any, version: int) -> None:
    """No epoch follows 32767, so a producer goes on with another id."""
    answer = answered(api, version, producer_id=PRODUCER_ID, producer_epoch=INT16_MAX)
    assert (answer.producer_id, answer.producer_epoch) == (PRODUCER_ID + 1, 0)
