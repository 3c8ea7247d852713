"""Produce requests whose records have a codec."""

from __future__ import annotations

from dataclasses import replace

from reference_model.clients.scripts.recording import SeenRequest
from tests.described_apis import described_api
from tests.reference_model.clients.recordings import sent
from wire.api_keys import PRODUCE_KEY

BATCH = bytes(16) + b"\x02" + bytes(5)
"""A batch up to the codec: offset, length, leader epoch, magic 2, checksum, and the first byte of its attributes."""
NONE, GZIP = 0, 1


def written_with(codec: int, version: int = 10) -> SeenRequest:
    """Return a Produce request that writes one batch with the codec of this number."""
    partition = {"index": 0, "records": BATCH + bytes([codec])}
    request = described_api(PRODUCE_KEY, version).plain_request(
        version, acks=-1, timeout_ms=1000, topic_data=[{"name": "a-topic", "partition_data": [partition]}]
    )
    return replace(sent(version, api_key=PRODUCE_KEY), data=request.data)
