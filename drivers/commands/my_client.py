"""An example of a command for `--client-cmd`, with confluent-kafka.

python my_client.py OPERATION HOST:PORT SECONDS
"""

from __future__ import annotations

import os
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

NO_SUCH_OPERATION = 89
operation, bootstrap, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
topic, group, record = (os.environ.get(f"CONFORMANCE_{name}", "") for name in ("TOPIC", "GROUP", "RECORD"))


def metadata() -> None:
    """Fetch metadata."""
    Producer({"bootstrap.servers": bootstrap}).list_topics(timeout=seconds)


def produce(**settings: str) -> None:
    """Write the record, and print its offset."""
    reports = []
    # A record that no broker takes is given up, with a reason, before the time is over.
    own = {"bootstrap.servers": bootstrap, "message.timeout.ms": str(round(seconds * 750))}
    producer = Producer({**own, **settings})
    producer.produce(topic, record, partition=0, on_delivery=lambda *report: reports.append(report))
    producer.flush(seconds)
    error, message = reports[0]
    if error:
        raise KafkaException(error)
    print("offset", message.offset())


def consume() -> None:
    """Write the record, read it, and print what was read."""
    produce()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.assign([TopicPartition(topic, 0, 0)])
    for message in consumer.consume(1, seconds):
        if message.error():
            raise KafkaException(message.error())
        print("record", (message.value() or b"").decode())


operations = {
    "metadata": metadata,
    "produce": produce,
    "compressed-produce": lambda: produce(**{"compression.type": "gzip"}),
    "consume": consume,
}
if operation not in operations:
    sys.exit(NO_SUCH_OPERATION)
try:
    operations[operation]()
except KafkaException as error:
    # The last line on standard error is what the suite quotes, and looks at to find what the broker lacks.
    sys.exit(str(error))
