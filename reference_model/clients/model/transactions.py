"""Transactions of the model client, each of a record and an offset.

They follow KIP-98 or, where the cluster has finalized it, KIP-890, Part 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reference_model.clients.model.authentication import Authentication
from reference_model.clients.model.client_connections import KnownBroker
from reference_model.clients.model.client_errors import BrokerError, ClientError, Nonsense
from reference_model.clients.model.network import HostPort
from reference_model.clients.rules.transaction_versions import NEWEST_FOR_CLIENTS, USABLE_BEFORE_V2
from wire.codec import encode
from wire.described_messages import FIND_COORDINATOR, METADATA
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.message_schemas import Api, error_codes_in, message_from
from wire.transaction_messages import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)

TRANSACTIONAL_ID = "model-transactions"
GROUP_ID = "model-offsets"
TOPIC = "model-topic"
TIMEOUT_MS = 60_000
ALL_REPLICAS = -1
_TRANSACTION = 1
"""The key type of FindCoordinator that stands for a transactional id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """What the client knows of its own producer.

    Attributes:
        coordinator: the coordinator of its transactions, and of its group.
        id: its producer id.
        epoch: its epoch.
    """

    coordinator: KnownBroker
    id: int
    epoch: int

    @property
    def fields(self) -> dict[str, Any]:
        """The fields by which a request names it."""
        return {"transactional_id": TRANSACTIONAL_ID, "producer_id": self.id, "producer_epoch": self.epoch}


class Transactions(Authentication):
    """Writes a record and commits an offset in a transaction, with a producer that it keeps until something fails.

    Attributes:
        producer: the producer; None before it has an id.
        is_v2: whether the current transaction is one of KIP-890, Part 2, which is decided when it begins.
    """

    producer: Producer | None = None
    is_v2 = False

    def transact(self) -> str:
        """Do one transaction; return what was done, in words.

        Raises:
            ClientError: it did not succeed; the next transaction begins with a new producer id.
        """
        try:
            return self.transaction_of(self.producer or self.new_producer())
        except ClientError:
            self.producer = None
            raise

    def new_producer(self) -> Producer:
        """Find the coordinator, and get a producer id from it."""
        coordinator = self.coordinator()
        fields = {"transactional_id": TRANSACTIONAL_ID, "transaction_timeout_ms": TIMEOUT_MS}
        made = self.ask(coordinator, INIT_PRODUCER_ID, fields)
        return Producer(coordinator=coordinator, id=made.producer_id, epoch=made.producer_epoch)

    def transaction_of(self, producer: Producer) -> str:
        """Do one transaction of a producer."""
        leader, topic = self.leader_of_topic()
        self.is_v2 = self.begins_with_v2()
        # KIP-890, Part 2: the requests that use a partition or a group add it to the transaction.
        if not self.is_v2:
            self.add_partition(producer)
        self.produce(producer, leader, topic)
        if not self.is_v2:
            self.ask(producer.coordinator, ADD_OFFSETS_TO_TXN, {**producer.fields, "group_id": GROUP_ID})
        self.commit_offset(producer, topic)
        self.producer = self.end(producer)
        return f"a transaction of producer {producer.id}"

    def begins_with_v2(self) -> bool:
        """Return whether the transaction that begins is one of KIP-890, Part 2."""
        return self.has_transaction_v2()

    def newest_in_transaction(self, api: Api) -> int | None:
        """Return the newest version of an API that the client may use in its transaction; None if any."""
        newest = NEWEST_FOR_CLIENTS if self.is_v2 else USABLE_BEFORE_V2
        return newest.get(api.api_key)

    def coordinator(self) -> KnownBroker:
        """Return the coordinator of the client's transactions."""
        fields = {"key": TRANSACTIONAL_ID, "key_type": _TRANSACTION, "coordinator_keys": (TRANSACTIONAL_ID,)}
        response = self.ask(self.cluster.nodes[0], FIND_COORDINATOR, fields)
        (named,) = response.coordinators or (response,)
        return KnownBroker(named.node_id, HostPort(named.host, named.port))

    def leader_of_topic(self) -> tuple[KnownBroker, Any]:
        """Return the leader of the topic's only partition, and what Metadata says about the topic."""
        response = self.ask(self.cluster.nodes[0], METADATA, {"topics": ({"name": TOPIC},)})
        (topic,) = response.topics
        nodes = {each.node_id: each for each in self.cluster.nodes}
        return nodes[topic.partitions[0].leader_id], topic

    def add_partition(self, producer: Producer) -> None:
        """Add the partition to the transaction."""
        fields = {f"v3_and_below_{name}": value for name, value in producer.fields.items()}
        topics = ({"name": TOPIC, "partitions": (0,)},)
        self.ask(producer.coordinator, ADD_PARTITIONS_TO_TXN, {**fields, "v3_and_below_topics": topics})

    def produce(self, producer: Producer, leader: KnownBroker, topic: Any) -> None:
        """Write to the partition. There are no records, because no scripted broker reads them."""
        partitions = ({"index": 0, "records": b""},)
        fields = {
            "transactional_id": TRANSACTIONAL_ID,
            "acks": ALL_REPLICAS,
            "timeout_ms": TIMEOUT_MS,
            "topic_data": ({"name": TOPIC, "topic_id": topic.topic_id, "partition_data": partitions},),
        }
        self.ask(leader, PRODUCE, fields)

    def commit_offset(self, producer: Producer, topic: Any) -> None:
        """Commit an offset of the topic for the client's group."""
        partitions = ({"partition_index": 0, "committed_offset": 0},)
        topics = ({"name": TOPIC, "topic_id": topic.topic_id, "partitions": partitions},)
        self.ask(producer.coordinator, TXN_OFFSET_COMMIT, {**producer.fields, "group_id": GROUP_ID, "topics": topics})

    def end(self, producer: Producer) -> Producer:
        """Commit the transaction; return the producer for the next one, which may have another id or epoch."""
        ended = self.ask(producer.coordinator, END_TXN, {**producer.fields, "committed": True})
        if ended.producer_id < 0:
            return producer
        return Producer(coordinator=producer.coordinator, id=ended.producer_id, epoch=ended.producer_epoch)

    def ask(self, node: KnownBroker, api: Api, fields: dict[str, Any]) -> Any:
        """Send a request to a node, in the newest common version that may be used; return the response.

        Raises:
            ClientError: there is none, or it has an error; the connection is closed then.
        """
        link = self.link_to(node)
        try:
            link.table = self.authenticated_table(link)
            version = self.version_of(link, api.api_key)
            newest = self.newest_in_transaction(api)
            version = version if newest is None else min(version, newest)
            body = encode(message_from(api.request, fields), version=version)
            header_version = api.request_header_version(version)
            response = self.exchange(link, api.api_key, version, body, header_version)
            answer = api.read_response(response, version)
            refused = [code for code in error_codes_in(answer, version) if code != ErrorCode.NONE]
            if refused:
                raise BrokerError(f"{api.name} v{version}: the broker responded with error {refused[0]}")
        except DecodeError as error:
            self.close(link)
            raise Nonsense(f"{api.name}: {error}") from error
        except ClientError:
            self.close(link)
            raise
        return answer
