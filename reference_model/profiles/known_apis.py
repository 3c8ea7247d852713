"""APIs that Kafka 4.4.0 knows.

They come with their names, the versions that its clients can speak, and the smallest responses of its brokers.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from reference_model.profiles.profile import FOLDER

_FILE = FOLDER / "kafka_4_4_0.csv"


class Range(NamedTuple):
    """The lowest and highest version of an API, both inclusive."""

    lowest: int
    highest: int

    def __str__(self) -> str:
        # A hyphen next to a minus sign cannot be read
        return self.in_words() if min(self) < 0 else self.in_words(between="-")

    def in_words(self, *, between: str = " to ") -> str:
        """Return the range as Kafka's own tool writes it, or with something else between its ends."""
        return between.join(map(str, dict.fromkeys(self)))

    def without(self, refused: Range | None) -> Range | None:
        """Return what is left without a range at the beginning or the end; None if that is nothing."""
        if refused is None:
            return self
        if refused.lowest <= self.lowest:
            left = Range(max(self.lowest, refused.highest + 1), self.highest)
        else:
            left = Range(self.lowest, min(self.highest, refused.lowest - 1))
        return left if left.lowest <= left.highest else None

    def common_with(self, other: Range) -> Range | None:
        """Return the versions that two ranges share; None if there is none."""
        shared = Range(max(self.lowest, other.lowest), min(self.highest, other.highest))
        return shared if shared.lowest <= shared.highest else None


class KnownApi(NamedTuple):
    """One API of Kafka 4.4.0.

    Attributes:
        name: its name.
        range: the versions that a client of that release can speak; None if the API was removed.
        for_brokers: whether brokers serve it, and not controllers alone.
    """

    name: str
    range: Range | None
    for_brokers: bool


@cache
def known_apis() -> Mapping[int, KnownApi]:
    """Return the APIs by their keys, ascending."""
    with _FILE.open(encoding="utf-8") as file:
        return {
            int(row["api_key"]): KnownApi(
                name=row["name"],
                range=Range(int(row["min_version"]), int(row["max_version"])) if row["min_version"] else None,
                for_brokers=row["for_brokers"] == "1",
            )
            for row in csv.DictReader(file)
        }


def name_of(api_key: int) -> str:
    """Return the name of an API; "UNKNOWN" if Kafka 4.4.0 has none with this key, as Kafka's own tool says."""
    known = known_apis().get(api_key)
    return "UNKNOWN" if known is None else known.name


def label_of(api_key: int) -> str:
    """Return how reports name an API: its name, or "API 999" if Kafka 4.4.0 has none with this key."""
    known = known_apis().get(api_key)
    return f"API {api_key}" if known is None else known.name


class DefaultAnswer(NamedTuple):
    """The smallest response of one version of an API: every field has its default value.

    Attributes:
        payload: its bytes after the correlation id.
        error_at: where its error code begins in them; None if it has none at the top level.
    """

    payload: bytes
    error_at: int | None


@cache
def default_answers() -> Mapping[tuple[int, int], DefaultAnswer]:
    """Return the newest release's smallest responses by API key and version.

    They come from `default_answers.csv`.
    """
    with (FOLDER / "default_answers.csv").open(encoding="utf-8") as lines:
        return {
            (int(row["api_key"]), int(row["api_version"])): DefaultAnswer(
                payload=bytes.fromhex(row["answer"]),
                error_at=int(row["error_at"]) if row["error_at"] else None,
            )
            for row in csv.DictReader(lines)
        }
