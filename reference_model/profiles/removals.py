"""Removals of versions or APIs, which make tables that no release has.

A removal is one entry of a list such as "JoinGroup 5+, Fetch 4-12, no DescribeCluster". It may only take versions away:
what a broker does not serve, no table in front of it can add.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reference_model.profiles.known_apis import Range, known_apis, label_of
from reference_model.profiles.version_tables import Ranges
from wire.api_keys import API_VERSIONS_KEY

_VERSION = r"\d{1,5}"
"""A version is an INT16."""
_ENTRY = re.compile(rf"(?P<name>\w+)\s+v?(?P<lowest>{_VERSION})(?:(?P<open>\+)|\s*-\s*v?(?P<highest>{_VERSION}))?")
_GONE = re.compile(r"no\s+(?P<name>\w+)")
_FORMS = "write for example 'JoinGroup 5+, Fetch 4-12, no DescribeCluster'"


class InvalidTable(Exception):
    """A list of removals or a table that cannot be used; the message says why and what to write."""


@dataclass(frozen=True, slots=True, order=True)
class Removal:
    """What is taken away of one API.

    Attributes:
        api_key: the API.
        lowest: the lowest version that is left.
        highest: the highest version that is left; None if no version is taken away at the end.
        is_complete: whether no version is left.
    """

    api_key: int
    lowest: int = 0
    highest: int | None = None
    is_complete: bool = False

    def __str__(self) -> str:
        name = label_of(self.api_key)
        if self.is_complete:
            return f"no {name}"
        if self.highest is None:
            return f"{name} {self.lowest}+"
        return f"{name} {Range(self.lowest, self.highest)}"

    def left_of(self, served: Range) -> Range | None:
        """Return what is left of the versions that a broker serves; None for nothing."""
        if self.is_complete:
            return None
        return served.common_with(Range(self.lowest, served.highest if self.highest is None else self.highest))


def removals_in(text: str) -> tuple[Removal, ...]:
    """Return the removals of a list, in its order; entries are separated by commas or line ends.

    Raises:
        InvalidTable: an entry cannot be read, names no API of Kafka, has a reversed range, or comes twice.
    """
    removals: dict[int, Removal] = {}
    for entry in filter(None, map(str.strip, re.split(r"[,\n]", text))):
        removal = _removal(entry)
        if removal.api_key in removals:
            raise InvalidTable(f"{label_of(removal.api_key)} is in the list twice: {entry!r}")
        removals[removal.api_key] = removal
    if not removals:
        raise InvalidTable(f"the list of removals is empty; {_FORMS}")
    return tuple(removals.values())


def _removal(entry: str) -> Removal:
    if gone := _GONE.fullmatch(entry):
        return Removal(_key_of(gone["name"]), is_complete=True)
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise InvalidTable(f"{entry!r} is no removal; {_FORMS}")
    lowest = int(found["lowest"])
    highest = None if found["open"] else int(found["highest"] or lowest)
    if highest is not None and highest < lowest:
        raise InvalidTable(f"{entry!r} has a reversed range: write {found['name']} {highest}-{lowest}")
    return Removal(_key_of(found["name"]), lowest, highest)


def _key_of(name: str) -> int:
    for key, known in known_apis().items():
        if known.name.lower() == name.lower():
            if key == API_VERSIONS_KEY:
                raise InvalidTable("ApiVersions itself cannot be removed: without it no client gets a table")
            return key
    raise InvalidTable(f"{name!r} is no API of Kafka; `kafka-conformance api-versions` lists the names")


def without(served: Ranges, removals: Iterable[Removal]) -> Ranges:
    """Return what is left of a table after some removals.

    Raises:
        InvalidTable: nothing is left of an API of which something should be, the table does not have it, or it does
            not have the versions that should be left.
    """
    left = dict(served)
    for removal in removals:
        range_ = served.get(removal.api_key)
        name = label_of(removal.api_key)
        if range_ is None:
            raise InvalidTable(f"{removal} cannot be tried: the table does not have {name}")
        if removal.highest is not None and not range_.lowest <= removal.lowest <= removal.highest <= range_.highest:
            raise InvalidTable(f"{removal} lists what is not served: write versions of {name} {range_}")
        rest = removal.left_of(range_)
        if rest is None and not removal.is_complete:
            raise InvalidTable(f"{removal} leaves nothing of {name} {range_}; write 'no {name}' to remove it")
        if rest is None:
            del left[removal.api_key]
        else:
            left[removal.api_key] = rest
    return left


def check_ranges(ranges: Ranges) -> None:
    """Raise `InvalidTable` if a table has an API that Kafka does not know, or a negative or reversed range."""
    for key, (lowest, highest) in ranges.items():
        if key not in known_apis():
            raise InvalidTable(f"the table has an API with the key {key}, which Kafka does not have")
        if not 0 <= lowest <= highest:
            raise InvalidTable(
                f"the table has the versions {lowest} to {highest} of {label_of(key)}: no such range exists"
            )
    if API_VERSIONS_KEY not in ranges:
        raise InvalidTable("the table does not have ApiVersions, without which no client gets it")


def check_served(ranges: Ranges, served: Ranges, by: str) -> None:
    """Raise `InvalidTable` if a table has versions that a broker does not serve, which no table can add.

    Args:
        ranges: the table.
        served: what the broker serves.
        by: how the sentence names the broker.
    """
    more = [
        f"{label_of(key)} {range_}"
        for key, range_ in ranges.items()
        if key != API_VERSIONS_KEY and (key not in served or served[key].common_with(range_) != range_)
    ]
    if more:
        raise InvalidTable(f"the table lists what {by} does not serve: {', '.join(more)}")
