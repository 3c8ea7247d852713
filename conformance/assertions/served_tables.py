"""Compares the table of a response with another one, and distinguishes other entries from entries of another size."""

from __future__ import annotations

from conformance.assertions.judging import (
    MalformedAnswer,
    ResponseFault,
    assert_same_table,
    bytes_after_body,
    decode_answer,
)
from wire.api_versions import ApiVersionsResponse
from wire.exchange import Exchange


def assert_table(
    exchange: Exchange, expected: ApiVersionsResponse, where: str, *, api_version: int
) -> None:
    """Fail as `assert_same_table` does; bytes after a table that differs show that its entries have another size."""
    after = bytes_after_body(exchange, api_version=api_version)
    try:
        assert_same_table(decode_answer(exchange, api_version=api_version), expected, where)
    except AssertionError as error:
        if not after:
            raise
        raise MalformedAnswer(
            exchange,
            f"read in the layout of v{api_version}, the table is not the one {where}, and bytes are left: {len(after)}",
            fault=ResponseFault.SURPLUS,
            layout=api_version,
        ) from error
