"""A command with every operation that librdkafka has, as a user would write it.

It shares no code with the project. It is started as `librdkafka_command.py OPERATION HOST:PORT SECONDS`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

NO_SUCH_OPERATION = 89
RETENTION, HOUR = "retention.ms", "3600000"

operation, bootstrap, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
topic, group, record = (os.environ.get(f"CONFORMANCE_{name}", "") for name in ("TOPIC", "GROUP", "RECORD"))
errors: list[KafkaError] = []


def on_error(error: KafkaError) -> None:
    """Keep what trying again cannot mend."""
    if error.fatal() or error.code() == KafkaError._UNSUPPORTED_FEATURE:
        errors.append(error)


def check() -> None:
    """Raise an error that the library reported apart from calls."""
    if errors:
        raise KafkaException(errors[0])


def settings(**more: Any) -> dict[str, Any]:
    """Return the configuration of a client object."""
    own = {name.replace("_", "."): value for name, value in more.items()}
    return {"bootstrap.servers": bootstrap, "error_cb": on_error, **own}


def until(read: Callable[[], Any], expected: Any) -> Any:
    """Read until a change is seen, as a broker confirms it before its own answers show it."""
    for _ in range(100):
        found = read()
        if found == expected:
            break
        time.sleep(0.05)
    return found


def write(producer: Producer, value: str, partition: int = 0, **more: Any) -> int:
    """Write a record; return its offset."""
    reports: list[Any] = []
    producer.produce(topic, value, partition=partition, on_delivery=lambda *each: reports.append(each), **more)
    producer.flush(seconds)
    check()
    if not reports:
        raise RuntimeError("the record is neither written nor refused")
    error, message = reports[0]
    if error:
        raise KafkaException(error)
    return int(message.offset())


def produce(**more: Any) -> None:
    """Write the record."""
    print("offset", write(Producer(settings(**more)), record))


def next_record(consumer: Any) -> Any:
    """Return the next record of a consumer."""
    message = None
    while message is None:
        message = consumer.poll(0.5)
        check()
    if message.error():
        raise KafkaException(message.error())
    return message


def read(partition: int = 0, count: int = 1, **more: Any) -> list[Any]:
    """Read the first records of a partition without a group, and print them."""
    consumer = Consumer(settings(group_id=group, enable_auto_commit=False, **more))
    consumer.assign([TopicPartition(topic, partition, 0)])
    found = [next_record(consumer) for _ in range(count)]
    for message in found:
        print("record", message.value().decode())
    return found


def only(futures: Any) -> Any:
    """Return the only result of an admin client."""
    (future,) = futures.values()
    return future.result(seconds)


def create(partitions: int = 1) -> AdminClient:
    """Create the topic, and wait until the broker knows it."""
    admin = AdminClient(settings())
    only(admin.create_topics([NewTopic(topic, partitions, 1)], request_timeout=seconds))
    until(lambda: topic in admin.list_topics(timeout=seconds).topics, True)
    return admin


def metadata() -> None:
    """Fetch metadata."""
    AdminClient(settings()).list_topics(timeout=seconds)


def list_topics() -> None:
    """Write the record, and list the topics."""
    write(Producer(settings()), record)
    for name in AdminClient(settings()).list_topics(timeout=seconds).topics:
        print("topic", name)


def create_topic() -> None:
    """Create a topic with two partitions."""
    admin = create(2)
    print("partitions", until(lambda: len(admin.list_topics(topic, timeout=seconds).topics[topic].partitions), 2))


def consume() -> None:
    """Write the record, and read it."""
    write(Producer(settings()), record)
    read()


def consume_partitions() -> None:
    """Write to two partitions in turn, and read one after the other."""
    create(2)
    producer = Producer(settings())
    for number in range(3):
        for partition in range(2):
            write(producer, f"{record}-{partition}-{number}", partition)
    for partition in range(2):
        read(partition, 3)


def offsets_for_times() -> None:
    """Look for the record of each of three times."""
    producer, times = Producer(settings()), []
    for _ in range(3):
        times.append(round(time.time() * 1000))
        write(producer, record, timestamp=times[-1])
        time.sleep(0.02)
    consumer = Consumer(settings(group_id=group))
    for time_ms in times:
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, time_ms)], timeout=seconds)
        if found.error:
            raise KafkaException(found.error)
        print("offset", found.offset)


def headers() -> None:
    """Write a header, and read it."""
    write(Producer(settings()), record, headers=[("key", f"{record}-header".encode())])
    (message,) = read()
    for _, value in message.headers() or []:
        print("header", value.decode())


def transactional_produce() -> None:
    """Abort a transaction, commit another, and read what is committed."""
    producer = Producer(settings(transactional_id=group))
    producer.init_transactions(seconds)
    for value, end in ((f"{record}-aborted", producer.abort_transaction), (record, producer.commit_transaction)):
        producer.begin_transaction()
        write(producer, value)
        end(seconds)
    read(isolation_level="read_committed")


def member(**more: Any) -> Consumer:
    """Read and commit as the member of a group."""
    write(Producer(settings()), record)
    consumer = Consumer(settings(group_id=group, auto_offset_reset="earliest", enable_auto_commit=False, **more))
    consumer.subscribe([topic])
    message = next_record(consumer)
    print("record", message.value().decode())
    consumer.commit(message=message, asynchronous=False)
    (committed,) = consumer.committed([TopicPartition(topic, 0)], timeout=seconds)
    print("committed", committed.offset)
    return consumer


def list_groups() -> None:
    """List the groups, while one has a member."""
    consumer, admin = member(), AdminClient(settings())
    listed = admin.list_consumer_groups(request_timeout=seconds).result(seconds)
    if listed.errors:
        raise KafkaException(listed.errors[0])
    for each in listed.valid:
        print("group", each.group_id)
    consumer.close()


def describe_groups() -> None:
    """Describe a group with one member."""
    consumer, admin = member(), AdminClient(settings())
    print("members", len(only(admin.describe_consumer_groups([group], request_timeout=seconds)).members))
    consumer.close()


def retention(admin: AdminClient) -> str:
    """Return a value of the topic's configuration."""
    found = only(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)], request_timeout=seconds))
    return str(found[RETENTION].value)


def describe_configs() -> None:
    """Describe a configuration."""
    print(RETENTION, retention(create()))


def alter(method: str, resource: ConfigResource) -> None:
    """Change a configuration, and read it."""
    admin = create()
    only(getattr(admin, method)([resource], request_timeout=seconds))
    print(RETENTION, until(lambda: retention(admin), HOUR))


def alter_configs() -> None:
    """Replace a configuration."""
    alter("alter_configs", ConfigResource(ResourceType.TOPIC, topic, set_config={RETENTION: HOUR}))


def incremental_alter_configs() -> None:
    """Change one value."""
    entry = ConfigEntry(RETENTION, HOUR, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    alter("incremental_alter_configs", resource)


def delete_records() -> None:
    """Delete a record."""
    write(Producer(settings()), record)
    admin = AdminClient(settings())
    print("offset", only(admin.delete_records([TopicPartition(topic, 0, 1)], request_timeout=seconds)).low_watermark)


def share_group() -> None:
    """Read as a member of a share group."""
    producer = Producer(settings())
    write(producer, record)
    consumer = confluent_kafka.ShareConsumer(settings(group_id=group))
    consumer.subscribe([topic])
    messages: Any = []
    while not messages:
        write(producer, record)
        messages = consumer.poll(0.5)
        check()
    if messages[0].error():
        raise KafkaException(messages[0].error())
    print("record", messages[0].value().decode())
    consumer.close()


OPERATIONS: dict[str, Callable[[], Any]] = {
    "metadata": metadata,
    "list-topics": list_topics,
    "create-topic": create_topic,
    "produce": produce,
    "compressed-produce": lambda: produce(compression_type="gzip"),
    "consume": consume,
    "consume-partitions": consume_partitions,
    "offsets-for-times": offsets_for_times,
    "headers": headers,
    "idempotent-produce": lambda: produce(enable_idempotence=True),
    "transactional-produce": transactional_produce,
    "consume-in-group": lambda: member().close(),
    "list-groups": list_groups,
    "describe-groups": describe_groups,
    "describe-configs": describe_configs,
    "alter-configs": alter_configs,
    "incremental-alter-configs": incremental_alter_configs,
    "delete-records": delete_records,
    "consumer-group-protocol": lambda: member(group_protocol="consumer").close(),
    "share-group": share_group,
}

if operation not in OPERATIONS:
    sys.exit(NO_SUCH_OPERATION)
try:
    OPERATIONS[operation]()
    status = 0
except Exception as error:  # noqa: BLE001 - whatever the library raises is its result
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    status = 1
sys.stdout.flush()
# A library that waits for its threads or for the broker would keep the process.
os._exit(status)
