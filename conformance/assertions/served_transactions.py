"""Writes to a target in transactions, in each version that it lists.

The versions are those of Produce and TxnOffsetCommit. Before those of transaction V2 (KIP-890, Part 2), the partition
or group is added to the transaction first. From these on the request adds it, which a level of `transaction.version`
switches on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any
from uuid import UUID

from conformance.assertions.client_software import fresh_name
from conformance.assertions.errors import JudgedElsewhere, Unjudged
from conformance.assertions.gated_apis import finalized_level
from conformance.assertions.items import Item, Problem, names_of
from conformance.assertions.other_apis import (
    advertised_items,
    advertised_table,
    api_for,
    exchange_and_codes,
    newest_response,
)
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from reference_model.clients.rules.transaction_versions import (
    FIRST_LEVEL_OF_V2,
    NEWEST_BEFORE_V2,
    NEWEST_FOR_CLIENTS,
    TRANSACTION_VERSION,
)
from strategies.minimal_requests import minimal_request
from wire.api_keys import (
    ADD_OFFSETS_TO_TXN_KEY,
    ADD_PARTITIONS_TO_TXN_KEY,
    CREATE_TOPICS_KEY,
    FIND_COORDINATOR_KEY,
    INIT_PRODUCER_ID_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
)
from wire.error_codes import ErrorCode
from wire.exchange import Exchange
from wire.record_batches import transactional_batch

TOPIC = "kafka-conformance-transactions"
FIRST_PRODUCE_IN_TRANSACTIONS = 3
"""The first version of Produce that names a transaction (KIP-98)."""
OF_GROUPS, OF_TRANSACTIONS = 0, 1
"""The kinds of coordinators that FindCoordinator names; a version without kinds knows only that of groups."""
FIRST_FIND_COORDINATOR_OF_TRANSACTIONS = 1
FIRST_METADATA_WITH_TOPIC_IDS = 10
MAX_WAIT_S = 10.0
"""How long a topic or a coordinator may take; a broker makes the internal topics when the first client asks for them.
Measured: 0.3 s, and 2 s on two busy cores."""
TRANSIENT = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)
"""Errors that pass while topics and coordinators get ready."""
_NEEDED = (CREATE_TOPICS_KEY, METADATA_KEY, FIND_COORDINATOR_KEY, INIT_PRODUCER_ID_KEY, *NEWEST_BEFORE_V2)

Fields = Mapping[str, Any]
Ask = Callable[[], Collection[int]]
"""Sends a request and returns the error codes of the response."""


def is_sole_node_of_suite(broker: Broker) -> bool:
    """Return whether the suite started the target, and it is a cluster of one node, which leads and coordinates all."""
    return broker.running.launcher != "address" and broker.is_one_node and not broker.running.clusters


def begins_transactions(broker: Broker) -> bool:
    """Return whether a target has what a transaction takes, and begins one."""
    listed = {entry.api_key for entry in advertised_table(broker)}
    if not listed >= {*_NEEDED}:
        return False
    try:
        _producer(broker, fresh_name())
        _topic_id(broker)
    except (JudgedElsewhere, Unjudged):
        return False
    return True


def transactional_items(broker: Broker) -> Iterator[Item]:
    """Yield the listed versions of the requests that write in a transaction."""
    for item in advertised_items(broker):
        is_older = item.api_key == PRODUCE_KEY and item.api_version < FIRST_PRODUCE_IN_TRANSACTIONS
        if item.api_key in NEWEST_BEFORE_V2 and not is_older:
            yield item


def check_in_transaction(broker: Broker, item: Item) -> Exchange:
    """Write in a new transaction by one version of a request.

    Raises:
        Problem: there is no response in the version's layout, the connection is closed, or the version is refused
            although no level says so.
        Unjudged: the target gets no further than an error that should pass.
        JudgedElsewhere: a request that comes before it is not served.
    """
    name = fresh_name()
    producer = _producer(broker, name)
    needs_level = item.api_version > NEWEST_BEFORE_V2[item.api_key]
    write = _produce if item.api_key == PRODUCE_KEY else _commit_offset
    exchange, codes = write(broker, item, {"transactional_id": name, **producer}, not needs_level)
    level = finalized_level(broker, TRANSACTION_VERSION)
    if ErrorCode.UNSUPPORTED_VERSION in codes and not (needs_level and level < FIRST_LEVEL_OF_V2):
        raise Problem(
            f"answered with UNSUPPORTED_VERSION in a transaction, although the table lists it; {TRANSACTION_VERSION} "
            f"is finalized at {level}"
        )
    return exchange


def _producer(broker: Broker, name: str) -> Fields:
    """Return the fields that name a new producer, once its coordinator is ready.

    Raises:
        Unjudged: the target makes none.
        JudgedElsewhere: a request is not served.
    """
    made: list[Any] = []

    def ask() -> Collection[int]:
        _find_coordinator(broker, name, OF_TRANSACTIONS)
        fields = {"transactional_id": name, "transaction_timeout_ms": 60_000}
        response, codes = newest_response(broker, INIT_PRODUCER_ID_KEY, fields)
        made[:] = [response]
        return codes

    codes = _lasting_codes(ask, "InitProducerId")
    if codes - {ErrorCode.NONE}:
        raise Unjudged(f"no transaction begins: InitProducerId is answered with {_in_words(codes)}")
    (response,) = made
    return {"producer_id": response.producer_id, "producer_epoch": response.producer_epoch}


def _find_coordinator(broker: Broker, name: str, kind: int) -> None:
    """Ask for a coordinator, so that the target makes what it needs; the sole node is it."""
    fields = {"key": name, "key_type": kind, "coordinator_keys": (name,)}
    newest_response(broker, FIND_COORDINATOR_KEY, fields)


def _produce(broker: Broker, item: Item, producer: Fields, is_added: bool) -> tuple[Exchange, Collection[int]]:
    """Write a record; `is_added` says whether the partition is added to the transaction first."""
    topic_id = _topic_id(broker)
    if is_added:
        topics = ({"name": TOPIC, "partitions": (0,)},)
        _add(broker, ADD_PARTITIONS_TO_TXN_KEY, {"v3_and_below_topics": topics, **_for_old_versions(producer)})
    batch = transactional_batch(producer["producer_id"], producer["producer_epoch"])
    partitions = ({"index": 0, "records": batch},)
    topic = {"name": TOPIC, "topic_id": topic_id, "partition_data": partitions}
    fields = {"transactional_id": producer["transactional_id"], "acks": -1, "topic_data": (topic,)}
    return _written(broker, item, fields)


def _commit_offset(broker: Broker, item: Item, producer: Fields, is_added: bool) -> tuple[Exchange, Collection[int]]:
    """Commit an offset of a new group; `is_added` says whether the group is added to the transaction first."""
    topic_id, group_id = _topic_id(broker), fresh_name()
    _find_coordinator(broker, group_id, OF_GROUPS)
    if is_added:
        _add(broker, ADD_OFFSETS_TO_TXN_KEY, {**producer, "group_id": group_id})
    topic = {"name": TOPIC, "topic_id": topic_id, "partitions": ({"partition_index": 0, "committed_offset": 0},)}
    # A member with neither a name nor a generation is a producer's.
    member = {"generation_id_or_member_epoch": -1, "member_id": ""}
    return _written(broker, item, {**producer, **member, "group_id": group_id, "topics": (topic,)})


def _for_old_versions(producer: Fields) -> Fields:
    return {f"v3_and_below_{name}": value for name, value in producer.items()}


def _add(broker: Broker, api_key: int, fields: Fields) -> None:
    def ask() -> Collection[int]:
        _, codes = newest_response(broker, api_key, fields, at_most=NEWEST_FOR_CLIENTS.get(api_key))
        return codes

    _lasting_codes(ask, "the request that adds to the transaction")


def _written(broker: Broker, item: Item, fields: Fields) -> tuple[Exchange, Collection[int]]:
    request = minimal_request(api_for(broker, item), item.api_version, values=fields)
    exchanges: list[Exchange] = []

    def ask() -> Collection[int]:
        exchange, codes = exchange_and_codes(broker, item, request)
        exchanges[:] = [exchange]
        return codes

    codes = _lasting_codes(ask, names_of([item]))
    return exchanges[0], codes


def _lasting_codes(ask: Ask, what: str) -> set[int]:
    """Ask until the response has no error that passes, and return its error codes.

    Raises:
        Unjudged: it still has one.
    """
    codes: set[int] = set()

    def is_lasting() -> bool:
        codes.clear()
        codes.update(ask())
        return not codes & TRANSIENT

    if not poll_until(is_lasting, expected=True, limit_s=MAX_WAIT_S):
        raise Unjudged(f"for {MAX_WAIT_S:g} s {what} is answered with {_in_words(codes)}")
    return codes


def _in_words(codes: Collection[int]) -> str:
    return ", ".join(repr(ErrorCode(code)) for code in sorted(codes))


def _topic_id(broker: Broker) -> str:
    """Return the id of the topic, which is made if it is not there; that of no topic if ids are unknown.

    It is asked for each time: a target that was started again has no topics.
    """
    topic = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1}
    newest_response(broker, CREATE_TOPICS_KEY, {"topics": (topic,), "timeout_ms": 5000})
    ids: list[UUID] = []

    def ask() -> Collection[int]:
        response, codes = newest_response(broker, METADATA_KEY, {"topics": ({"name": TOPIC},)})
        ids[:] = [getattr(each, "topic_id", UUID(int=0)) for each in response.topics]
        return codes

    _lasting_codes(ask, "Metadata")
    return str(next(iter(ids), UUID(int=0)))
