"""One record in a batch, as a producer writes it in a transaction.

Source: Kafka's record batches of magic 2 (KIP-98, Message Format). Their checksum is CRC-32C, as in RFC 3720.
"""

from __future__ import annotations

import struct

_REVERSED_POLYNOMIAL = 0x82F63B78
_MAGIC = 2
_IS_TRANSACTIONAL = 0x10
"""The attribute of a batch that belongs to a transaction; it has no compression and the time at which it was made."""
_RECORD = bytes.fromhex("0e 00 00 00 01 02 78 00")
"""A record without a key and headers: its length 7, no attributes, no offsets, the null key, and the value "x"."""


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_REVERSED_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_table_entry, range(256)))


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of some bytes, 0 to 2**32 - 1."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def transactional_batch(producer_id: int, producer_epoch: int) -> bytes:
    """Return a batch with the first record that a producer writes to a partition in its transaction.

    Args:
        producer_id: what InitProducerId returned.
        producer_epoch: likewise.
    """
    # Attributes, the offset of the last record, the times of the first and the last one, the producer with its first
    # sequence number, and the number of records.
    checked = struct.pack(">hiqqqhii", _IS_TRANSACTIONAL, 0, 0, 0, producer_id, producer_epoch, 0, 1) + _RECORD
    body = struct.pack(">ibI", -1, _MAGIC, crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(body)) + body
