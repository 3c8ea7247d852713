"""Comparison of a response's table with another table.

It distinguishes other entries from entries of another size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.assertions.asserting import assert_same_table
from conformance.assertions.decoding import bytes_after_body, decode_answer
from conformance.assertions.errors import MalformedAnswer, ResponseFault
from wire.api_versions import ApiVersionsResponse
from wire.exchange import Exchange


@contextmanager
def read_in_layout(exchange: Exchange, *, api_version: int) -> Iterator[None]:
    """Name the bytes that follow a table if an assertion about it fails: they show that its entries have another size.

    Raises:
        MalformedAnswer: an assertion fails, and bytes are left.
    """
    try:
        yield
    except AssertionError as error:
        after = bytes_after_body(exchange, api_version=api_version)
        if not after:
            raise
        raise MalformedAnswer(
            exchange,
            f"read in the layout of v{api_version}, {str(error).partition(chr(10))[0]}, and bytes are left: {len(after)}",
            fault=ResponseFault.SURPLUS,
            layout=api_version,
        ) from error


def assert_table(exchange: Exchange, expected: ApiVersionsResponse, where: str, *, api_version: int) -> None:
    """Fail as `assert_same_table` does; bytes after a table that differs show that its entries have another size."""
    answer = decode_answer(exchange, api_version=api_version)
    with read_in_layout(exchange, api_version=api_version):
        assert_same_table(answer, expected, where)
