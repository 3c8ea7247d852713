"""Responses of a scripted broker in a transaction.

Every step succeeds, whatever came before. A client that has to be a member of a group to commit offsets can join one,
which assigns it no partition.

So a client goes on after a request that it must not send, and the recording shows all that it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from wire.api_keys import (
    ADD_PARTITIONS_TO_TXN_KEY,
    END_TXN_KEY,
    INIT_PRODUCER_ID_KEY,
    JOIN_GROUP_KEY,
    PRODUCE_KEY,
    SYNC_GROUP_KEY,
    TXN_OFFSET_COMMIT_KEY,
)
from wire.group_messages import GROUP_APIS
from wire.message_schemas import Api, message_from
from wire.primitives import INT16_MAX
from wire.transaction_messages import TRANSACTION_APIS

TRANSACTION_STEPS: Mapping[int, Api] = MappingProxyType({**TRANSACTION_APIS, **GROUP_APIS})
"""The APIs that a broker serves to a client that does transactions, by key, besides those that name brokers."""
PRODUCER_ID = 1000
LEADER, MEMBER = "member-1", "member-2"
"""The members of every group. The client is the second one, so it need not assign partitions."""
NO_PARTITION = bytes.fromhex("0000 00000000 ffffffff")
"""An assignment of the consumer protocol in version 0: no topic, and no user data."""


def transaction_response(api: Api, request: Any) -> Any:
    """Return the response to a request of `TRANSACTION_STEPS`."""
    make = _RESPONSES.get(api.api_key)
    return message_from(api.response, {} if make is None else make(request))


def _produce(request: Any) -> dict[str, Any]:
    return {
        "responses": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partition_responses": [{"index": each.index} for each in topic.partition_data],
            }
            for topic in request.topic_data
        ]
    }


def _init_producer_id(request: Any) -> dict[str, Any]:
    """An epoch that the client names is followed by the next one."""
    return _after(PRODUCER_ID, request.producer_epoch)


def _after(producer_id: int, epoch: int) -> dict[str, int]:
    """Return the epoch after another one; after the last one a new producer id begins at 0, as Kafka does."""
    if epoch == INT16_MAX:
        return {"producer_id": PRODUCER_ID + 1, "producer_epoch": 0}
    return {"producer_id": producer_id, "producer_epoch": epoch + 1}


def _add_partitions(request: Any) -> dict[str, Any]:
    return {
        "results_by_topic_v3_and_below": _results(request.v3_and_below_topics),
        "results_by_transaction": [
            {"transactional_id": each.transactional_id, "topic_results": _results(each.topics)}
            for each in request.transactions
        ],
    }


def _results(topics: Any) -> list[dict[str, Any]]:
    return [
        {"name": topic.name, "results_by_partition": [{"partition_index": each} for each in topic.partitions]}
        for topic in topics
    ]


def _commit_offsets(request: Any) -> dict[str, Any]:
    return {
        "topics": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partitions": [{"partition_index": each.partition_index} for each in topic.partitions],
            }
            for topic in request.topics
        ]
    }


def _end(request: Any) -> dict[str, Any]:
    """From version 5 on the epoch rises with each transaction (KIP-890, Part 2)."""
    return _after(request.producer_id, request.producer_epoch)


def _join(request: Any) -> dict[str, Any]:
    """The group takes the protocol that the client prefers."""
    protocol = request.protocols[0].name if request.protocols else ""
    return {
        "generation_id": 1,
        "protocol_type": request.protocol_type,
        "protocol_name": protocol,
        "leader": LEADER,
        "member_id": MEMBER,
    }


def _assign(request: Any) -> dict[str, Any]:
    return {
        "protocol_type": request.protocol_type,
        "protocol_name": request.protocol_name,
        "assignment": NO_PARTITION,
    }


_RESPONSES = {
    PRODUCE_KEY: _produce,
    INIT_PRODUCER_ID_KEY: _init_producer_id,
    ADD_PARTITIONS_TO_TXN_KEY: _add_partitions,
    TXN_OFFSET_COMMIT_KEY: _commit_offsets,
    END_TXN_KEY: _end,
    JOIN_GROUP_KEY: _join,
    SYNC_GROUP_KEY: _assign,
}
"""Makes the values of a response from the request, by API key; a response without is the schema's default."""
