"""Dumps of a request and a response of another API, as lines without offset and bytes."""

from __future__ import annotations

from tests.described_apis import described_api

LIST_GROUPS = described_api(16, 3)


def notes_of(lines: list[str]) -> list[str]:
    """Return the text after offset and bytes; empty for a line that continues the bytes of another."""
    return [line[59:] for line in lines]
