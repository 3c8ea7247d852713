"""The bytes of a batch with one record, as a broker of 4.4.0 accepts them."""

from __future__ import annotations

import pytest

from wire.record_batches import crc32c, transactional_batch


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        pytest.param(b"", 0, id="nothing"),
        # The check value of CRC-32C, and two vectors of RFC 3720, appendix B.4.
        pytest.param(b"123456789", 0xE3069283, id="check-value"),
        pytest.param(bytes(32), 0x8A9136AA, id="zeros"),
        pytest.param(bytes([0xFF] * 32), 0x62A8AB43, id="ones"),
    ],
)
def test_checksums_are_those_of_the_literature(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum


def test_batch_of_a_transaction_has_the_bytes_that_a_broker_accepts() -> None:
    assert (
        transactional_batch(7, 1).hex()
        == "000000000000000000000039ffffffff0204ca707f001000000000000000000000000000000000000000000000000000000007000100000000000000010e00000001027800"
    )


def test_batch_counts_its_own_bytes() -> None:
    """The size after the base offset is that of all bytes after it."""
    batch = transactional_batch(2**40, 3)
    assert int.from_bytes(batch[8:12]) == len(batch) - 12
