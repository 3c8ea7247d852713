"""The codec of records, from bytes of Kafka's formats."""

from __future__ import annotations

import pytest

from wire.record_codecs import codec_of

BATCH = bytes(16) + b"\x02" + bytes(4)
"""A batch up to its attributes: offset, length, leader epoch, magic 2, checksum (KIP-98)."""
MESSAGE = bytes(16) + b"\x01"
"""A message up to its attributes: offset, size, checksum, magic 1 (KIP-32)."""


@pytest.mark.parametrize(
    ("records", "codec"),
    [
        (BATCH + b"\x00\x00", "none"),
        (BATCH + b"\x00\x01", "gzip"),
        (BATCH + b"\x00\x14", "zstd"),
        (BATCH + b"\x00\x07", ""),
        (MESSAGE + b"\x02" + bytes(8), "snappy"),
        (MESSAGE + b"\x0b" + bytes(8), "lz4"),
        (BATCH, ""),
        (b"", ""),
    ],
)
def test_codec_is_in_the_lowest_bits_of_the_attributes(records: bytes, codec: str) -> None:
    assert codec_of(records) == codec
