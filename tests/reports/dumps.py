"""Dumps of a request and a response of another API, as lines without offset and bytes."""

from __future__ import annotations

from tests.described_apis import described_api

LIST_GROUPS = described_api(16, 3)
LIST_GROUPS_V3_PAYLOAD = "00000007 00 00000000 000f 01 00"
LIST_GROUPS_V3_NOTES = [
    "size = 13",
    "correlation_id = 7",
    "header.tagged_fields = 0",
    "throttle_time_ms = 0",
    "error_code = COORDINATOR_NOT_AVAILABLE (15)",
    "groups = 0",
    "tagged_fields = 0",
]
"""The notes in the dump of `LIST_GROUPS_V3_PAYLOAD`."""


def notes_of(lines: list[str]) -> list[str]:
    """Return the text after offset and bytes; empty for a line that continues the bytes of another."""
    return [line[59:] for line in lines]
